"""What a reader of each page is supposed to have."""

import torch
from tests.docs.pages import code
from torch import nn

import mutiny
import toys
from verbs.assess.found import subject as separated


class Named(nn.Module):
    """A classifier with layers that have names."""

    def __init__(self, classes, width):
        super().__init__()
        self.fc1, self.fc2 = nn.Linear(2, width), nn.Linear(width, classes)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


def readme(folder):
    (folder / "my_project.py").write_text(
        "import toys\n\nx_train, y_train = toys.blobs(240, 10)\n"
        "x_val, y_val = toys.blobs(240, 10, seed=2)\nx_test, y_test = toys.blobs(120, 10, seed=1)\n\n\n"
        "def load_net(path):\n    return toys.classifier(ord(path[0]), 10)\n"
    )
    (folder / "my_subject.py").write_text(code("README.md")[0].text)
    return {}


def select(folder):
    return {"net": toys.classifier(), "unlabeled": toys.blobs(600)[0], "subject": toys.blob_subject()}


def locate(folder):
    torch.manual_seed(0)
    model = toys.trained(Named(6, 40), nn.functional.cross_entropy, *toys.blobs(classes=6))
    return {"subject": toys.blob_subject(models=[model], classes=6)}


def repair(folder):
    """A network in which the way into one neuron was spoilt, so that 3s are taken for 5s."""
    torch.manual_seed(0)
    x, y = toys.blobs(1500, 6, seed=5, spread=0.3)
    y = torch.tensor([0, 1, 2, 3, 5, 4])[y]  # neighbors are confused
    model = toys.trained(Named(6, 12), nn.functional.cross_entropy, x, y)
    faults = [(neuron, factor) for neuron in range(12) for factor in (-3, 0, 3, 6)]
    neuron, factor = max(faults, key=lambda fault: confused(model, *fault, x, y))
    with torch.no_grad():
        model.fc1.weight[neuron] *= factor
    return {"subject": mutiny.Subject(model, task=mutiny.Classification(6), train=(x, y), test=(x, y)), "model": model}


def confused(model, neuron, factor, x, y):
    """How many 3s are taken for 5s, less other mistakes, with a neuron's weights multiplied."""
    with torch.no_grad():
        before = model.fc1.weight[neuron].clone()
        model.fc1.weight[neuron] *= factor
        said = model(x).argmax(1)
        model.fc1.weight[neuron] = before
    wanted = (y == 3) & (said == 5)
    return int(wanted.sum()) - int((said != y).sum() - wanted.sum())


def ci(folder):
    x = torch.randn(600, 4)
    y = (x.sum(1) > 0).long()
    model = nn.Linear(4, 2).eval()
    with torch.no_grad():
        model.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4]))
        model.bias.zero_()
    sets = {"validation": (x[:300], y[:300]), "test": (x[300:], y[300:])}
    return {"subject": mutiny.Subject(model, task=mutiny.Classification(2), **sets)}


def adding(folder):
    torch.manual_seed(0)
    inputs, labels = toys.blobs(60)
    model, subject = toys.classifier(), toys.blob_subject(1)
    return {"net": model, "model": model, "inputs": inputs, "labels": labels, "subject": subject}


class Answers(nn.Module):
    """A classifier whose answer is wrapped."""

    def __init__(self, wrap):
        super().__init__()
        self.net, self.wrap = toys.classifier(), wrap

    def forward(self, x):
        return self.wrap(self.net(x))


def faq(folder):
    (x_val, y_val), (x_test, y_test) = toys.blobs(), toys.blobs(seed=1)
    return {
        "subject": toys.blob_subject(1), "x_val": x_val, "y_val": y_val, "x_test": x_test, "y_test": y_test,
        "model_with_scores": Answers(lambda said: {"scores": said, "hidden": said + 1}).eval(),
        "with_softmax": Answers(lambda said: said.softmax(1)).eval(),
    }  # fmt: skip


HAS = {
    "README.md": readme,
    "docs/faq.md": faq,
    "docs/select.md": select,
    "docs/locate.md": locate,
    "docs/repair.md": repair,
    "docs/ci.md": ci,
    "docs/notebooks.md": lambda folder: {"subject": toys.blob_subject()},
    "docs/adding-an-operator.md": adding,
    "docs/adding-a-selector.md": adding,
    "docs/adding-a-measure.md": adding,
    "docs/adding-an-attack.md": adding,
    "docs/adding-a-judge.md": adding,
    "docs/gates.md": lambda folder: {"subject": separated()},
}
"""What a reader of each page is supposed to have."""
