"""`select` from end to end: what users hand over, what they get, what they are told."""

import json

import numpy as np
import pytest
import torch
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from mutiny.verbs.select.budget import as_count
from mutiny.verbs.select.diverse import farthest_first

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).astype(np.float32)
Y = (X.sum(1) > 0).astype(int)


@pytest.fixture
def net():
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        return nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2)).eval()


@pytest.fixture
def subject(net):
    return mutiny.Subject(net, task=mutiny.Classification(2), train=(X, Y), test=(X[:30], Y[:30]), pool=X, name="toy")


class Bare(Dataset):
    def __len__(self):
        return len(X)

    def __getitem__(self, index):
        return torch.from_numpy(X[index])


def test_every_kind_of_pool_gives_the_same_order(net):
    inputs, labels = torch.from_numpy(X), torch.from_numpy(Y)
    pools = [X, inputs, (X, Y), (X, None), Bare(), TensorDataset(inputs), TensorDataset(inputs, labels)]
    pools.append(DataLoader(Bare(), batch_size=7))
    pools.append(DataLoader(TensorDataset(inputs, labels), batch_size=9, shuffle=True))
    orders = [mutiny.select(net, "deepgini", 5, pool=pool, batch_size=60).order for pool in pools]
    assert all(np.array_equal(order, orders[0]) for order in orders)
    with torch.no_grad():
        unsure = 1 - net(torch.from_numpy(X)).softmax(1).square().sum(1)
    assert orders[0].tolist() == unsure.argsort(descending=True).tolist()


def test_labels_never_change_the_order(net):
    plain = mutiny.select(net, "nss,dsa,nac", 5, pool=X, train=(X, Y))
    told = mutiny.select(net, "nss,dsa,nac", 5, pool=(X, 1 - Y), train=(X, Y))
    for one, other in zip(plain.rankings, told.rankings, strict=True):
        assert np.array_equal(one.order, other.order)
        assert one.quality is None
        assert other.quality is not None


def test_a_selection_has_order_scores_and_quality(subject):
    before = ModelState.of(subject.models[0])
    result = mutiny.select(subject, "deepgini,random", "10%")
    assert before == ModelState.of(subject.models[0])
    assert result.budget == 6
    assert result.chosen.tolist() == result.order[:6].tolist()
    assert "deepgini" in repr(result)
    plain = json.loads(json.dumps(result.to_json(), allow_nan=False))
    assert plain["verb"] == "select"
    assert plain["order"] == result.order.tolist()
    assert plain["metrics"] is None
    again = mutiny.select(subject, "deepgini,random", "10%").to_json()
    assert again | {"timing": 0} == plain | {"timing": 0}


def test_json_with_quality_but_without_references_is_refused(net):
    value = mutiny.select(net, "deepgini", 5, pool=(X, Y)).to_json()
    assert mutiny.Selection.from_json(value).budget == 5
    with pytest.raises(BadInput, match="references"):
        mutiny.Selection.from_json(value | {"references": {}})


def test_the_test_set_is_the_pool_if_there_is_none(net):
    subject = mutiny.Subject(net, task=mutiny.Classification(2), train=(X, Y), test=(X[:30], Y[:30]))
    result = mutiny.select(subject, "random", 0.5, repeats=4)
    assert any("the test set" in note for note in result.notes)
    with torch.no_grad():
        wrong = net(torch.from_numpy(X[:30])).argmax(1).numpy() != Y[:30]
    assert result.subject.pool.wrong == wrong.sum()
    ranking = result.rankings[0]
    assert ranking.quality.fdr == pytest.approx(wrong[ranking.order[:15]].mean())
    assert result.references["random"]["fdr"] == pytest.approx(wrong.mean())
    assert ranking.repeated["fdr"].n == 4
    assert ranking.repeated["fdr"].interval.low <= ranking.repeated["fdr"].mean <= ranking.repeated["fdr"].interval.high


def test_regression_pools(net):
    head = nn.Sequential(net, nn.Linear(2, 1)).eval()
    data = (X, X[:, 0])
    subject = mutiny.Subject(head, task=mutiny.Regression(0.5), train=data, test=data, name="numbers")
    result = mutiny.select(subject, budget=10)
    assert result.rankings[0].method == "kill-rate"
    assert result.rankings[0].quality.rauc is None
    assert mutiny.select(subject, "mdsa,lsa,nss", 10).rankings[2].method == "nss"


@pytest.mark.parametrize(("originals", "usual"), [(None, "disagreement"), (1, "kill-rate"), (2, "disagreement")])
def test_the_usual_method_of_a_regression_follows_the_originals_that_take_part(originals, usual):
    assert mutiny.select(toys.line_subject(3), budget=5, originals=originals).rankings[0].method == usual


def test_diverse_budgets_spread(net):
    crowd = np.concatenate([np.repeat(X[:1], 40, axis=0), X])
    plain = mutiny.select(net, "deepgini", 10, pool=crowd)
    spread = mutiny.select(net, "deepgini", 10, pool=crowd, diverse=True)
    assert sorted(spread.order.tolist()) == list(range(100))
    assert spread.order[0] == plain.order[0]
    assert (spread.chosen < 41).sum() <= 1 + (plain.chosen < 41).sum()
    points = torch.from_numpy(X).double()
    taken = [0]
    while len(taken) < 8:  # the slow, obvious way
        distances = torch.stack([(points - points[one]).norm(dim=1) for one in taken]).amin(0)
        taken.append(int(distances.argmax()))
    assert farthest_first(points, 8).tolist() == taken


@pytest.mark.parametrize(
    ("budget", "count"), [(3, 3), (0.5, 50), ("5%", 5), ("0.5%", 1), (1.0, 100), ("100%", 100), (100, 100), ("7", 7)]
)
def test_budgets(budget, count):
    assert as_count(budget, 100) == count


@pytest.mark.parametrize("budget", [0, 101, -1, 1.5, "101%", "0%", "much", "", None, True, "5 %%", -0.1, "-5%"])
def test_invalid_budgets_are_refused(budget):
    with pytest.raises(BadInput, match="budget"):
        as_count(budget, 100)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "mc-dropout"}, "no dropout"),
        ({"method": "deepginy"}, "Did you mean deepgini"),
        ({"method": "nss", "layers": "1x"}, "Did you mean"),
        ({"method": "nss", "layers": "zzzz"}, "It has: "),
        ({"method": "deepgini", "budget": "150%"}, "at most 100%"),
        ({"method": "disagreement"}, "originals"),
        ({"method": "deepgini", "pool": np.full((3, 4), np.nan)}, "pool inputs=NaN"),
        ({"method": "deepgini", "pool": np.zeros((0, 4))}, "empty"),
        ({"method": "deepgini", "repeats": 0}, "repeats"),
        ({"method": "deepgini", "train": (X, Y)}, "because a Subject has its own"),
        ({"method": "nss(variant=authors-code)"}, "clean originals"),
        ({"method": "nss(share=2)"}, "between 0 and 1"),
        ({"method": "nss(neurons=2)"}, "a name among share"),
    ],
)
def test_bad_arguments_are_refused(subject, settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.select(subject, **settings)


def test_a_model_alone_needs_a_pool_and_some_methods_more(net):
    with pytest.raises(BadInput, match="Give pool=inputs"):
        mutiny.select(net)
    with pytest.raises(BadInput, match="give train="):
        mutiny.select(net, "dsa", pool=X)
    with pytest.raises(BadInput, match="training mode"):
        mutiny.select(nn.Linear(4, 2), pool=X)
    with pytest.raises(BadInput, match="expected a task for outputs of shape"):
        mutiny.select(nn.Linear(4, 1).eval(), pool=X)
    with pytest.raises(BadInput, match="or a model with pool"):
        mutiny.select("deepgini", pool=X)


def test_one_class_only(net):
    with torch.no_grad():
        net[2].bias.copy_(torch.tensor([50.0, 0.0]))  # the network always says 0
    result = mutiny.select(net, "all", 5, pool=(X, np.zeros(60, int)), train=(X, Y))
    assert any("label 0" in note for note in result.notes)
    assert any("correctly" in note for note in result.notes)
    assert "dsa" in result.skipped


class Sometimes(nn.Module):
    """A layer that only some batches reach."""

    def __init__(self):
        super().__init__()
        self.a, self.b, self.out = nn.Linear(4, 5), nn.Linear(5, 5), nn.Linear(5, 2)

    def forward(self, x):
        h = self.a(x).relu()
        return self.out(self.b(h).relu() if x[0, 0] > 0 else h)


class Einsum(nn.Module):
    """Weights that no layer owns."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(4, 2))

    def forward(self, x):
        return torch.einsum("ni,ij->nj", x, self.weight)


class Padded(Dataset):
    """Sequences of different lengths."""

    def __len__(self):
        return 30

    def __getitem__(self, index):
        return torch.ones(3 + index % 5, 4) * index / 30, index % 2


class Steps(nn.Module):
    def __init__(self):
        super().__init__()
        self.each, self.out = nn.Linear(4, 5), nn.Linear(5, 2)

    def forward(self, x):
        return self.out(self.each(x).relu().mean(1))


def padded(items):
    return nn.utils.rnn.pad_sequence([x for x, _ in items], batch_first=True), torch.tensor([y for _, y in items])


@pytest.mark.parametrize("kind", [Sometimes, Einsum, Steps])
def test_methods_that_do_not_apply_are_left_out_of_a_comparison(kind):
    torch.manual_seed(0)
    loader = DataLoader(Padded(), batch_size=4, collate_fn=padded)
    data = {"pool": loader, "train": loader} if kind is Steps else {"pool": X, "train": (X, Y)}
    result = mutiny.select(kind().eval(), "all", 5, batch_size=4, **data)
    assert {"deepgini", "softmax", "random"} <= {ranking.method for ranking in result.rankings}
    assert all(reason for reason in result.skipped.values())
    if kind is Steps:
        assert "units for some inputs" in result.skipped["nac"]
    if kind is Sometimes:
        assert "takes no part" in result.skipped["nac"]


def test_a_single_method_that_does_not_apply_raises_its_reason():
    with pytest.raises(BadInput, match="takes no part"):
        mutiny.select(Sometimes().eval(), "nac", 5, pool=X, train=(X, Y), batch_size=1)


def test_one_logit_between_0_and_1():
    """What it is cannot be seen, so it is noted, and a statement wins."""
    net = nn.Linear(1, 1).eval()
    with torch.no_grad():
        net.weight.fill_(1), net.bias.zero_()
    pool = np.array([[0.1], [0.2], [0.3], [0.6], [0.9]], np.float32), np.ones(5, int)
    guessed = mutiny.select(net, "deepgini", 1, pool=pool, task=mutiny.Classification(2))
    assert any("If they are logits" in note for note in guessed.notes)
    stated = mutiny.select(net, "deepgini", 1, pool=pool, task=mutiny.Classification(2, outputs="logits"))
    assert stated.order.tolist() == [0, 1, 2, 3, 4]
    assert stated.subject.pool.wrong == 0
    assert not any("logits" in note for note in stated.notes)


def test_logits_that_only_look_like_probabilities_at_first():
    net = nn.Linear(1, 1).eval()
    with torch.no_grad():
        net.weight.fill_(1), net.bias.zero_()
    far = np.array([[0.5]] * 600 + [[7.0]], np.float32)
    with pytest.raises(BadInput, match='outputs="logits"'):
        mutiny.select(
            net, "deepgini", 1, pool=far, train=(far[:600], np.arange(600) % 2), task=mutiny.Classification(2)
        )


@pytest.mark.parametrize("labels", [np.where(Y > 0, Y, -1), np.where(Y > 0, Y, np.nan)])
def test_labels_that_are_partly_unknown_are_not_used(net, labels):
    result = mutiny.select(net, "deepgini", 5, pool=(X, labels))
    assert result.rankings[0].quality is None
    assert any("labels are known, so they are not used" in note for note in result.notes)


def test_a_nondeterministic_model_is_noted(net):
    class Noisy(nn.Module):
        def __init__(self):
            super().__init__()
            self.net = net

        def forward(self, x):
            return nn.functional.dropout(self.net(x), 0.5, training=True)

    result = mutiny.select(Noisy().eval(), "deepgini", 5, pool=X)
    assert any("dropout or noise in its forward pass" in note for note in result.notes)


def test_a_model_that_changes_in_a_forward_pass_is_refused_at_once(net):
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.net, self.calls = net, 0
            self.register_buffer("seen", torch.zeros(()))

        def forward(self, x):
            self.seen += 1
            self.calls += 1
            return self.net(x)

    model = Counting().eval()
    with pytest.raises(BadInput, match="writes to seen"):
        mutiny.select(model, "kill-rate", 5, pool=X)
    assert model.calls < 10


def test_a_device_is_checked_and_the_model_stays_where_it_is(net):
    with pytest.raises(BadInput, match="a device of this machine"):
        mutiny.select(net, "deepgini", 5, pool=X, device="nonsense")
    assert mutiny.select(net, "deepgini", 5, pool=X, device="cpu").settings["device"] == "cpu"


@pytest.mark.parametrize("method", ["deepgini", "npc", "nss", "prima-kill"])
def test_inside_inference_mode(net, method):
    with torch.inference_mode():
        result = mutiny.select(net, method, 5, pool=X, train=(X, Y))
    assert np.array_equal(result.order, mutiny.select(net, method, 5, pool=X, train=(X, Y)).order)


def test_a_wrong_layer_is_an_error_whatever_the_method(subject):
    with pytest.raises(BadInput, match="a layer or module"):
        mutiny.select(subject, "deepgini", 5, layers="conv9")


def test_training_data_that_does_not_fit(net):
    with pytest.raises(BadInput, match="a model that takes inputs such as"):
        mutiny.select(net, "dsa", 5, pool=X, train=(np.ones((9, 3), np.float32), np.arange(9) % 2))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mutate": "noise"}, "a mutiny.Mutation"),
        ({"mutate": lambda x: x}, "a mutiny.Mutation"),
        ({"task": "classification"}, "mutiny.Classification"),
        ({"method": 5}, "method=5"),
        ({"layers": 5}, "layers"),
        ({"seed": "a"}, "seed"),
        ({"repeats": 1.5}, "repeats"),
    ],
)
def test_arguments_of_wrong_types_are_refused(net, settings, message):
    with pytest.raises(BadInput, match=message):
        mutiny.select(net, **{"pool": X, **settings})


def test_numpy_integers_are_accepted(net):
    result = mutiny.select(net, budget=np.int64(3), pool=X, repeats=np.int64(2), batch_size=np.int64(7))
    assert len(result.chosen) == 3


@pytest.mark.parametrize(
    ("folders", "known", "labels"),
    [
        (("1", "0"), None, [0, 0, 1, 1]),
        (("1",), None, [1, 1]),
        (("cat", "dog"), None, [0, 0, 1, 1]),
        (("dog",), ("cat", "dog"), [1, 1]),
        (("bird", "dog"), ("cat", "dog"), None),
        (("cat",), None, None),
    ],
)
def test_class_folders_of_a_pool_are_matched_with_classes(tmp_path, folders, known, labels):
    def fill(root, names):
        for name in names:
            (root / name).mkdir(parents=True)
            for number in range(2):
                Image.new("L", (2, 2), 40 * number + 50 * len(name)).save(root / name / f"{number}.png")
        return root

    net = nn.Sequential(nn.Flatten(), nn.Linear(4, 2)).eval()
    train = fill(tmp_path / "train", known) if known else None
    result = mutiny.select(net, "deepgini", 1, pool=fill(tmp_path / "pool", folders), train=train)
    if labels is None:
        assert result.subject.pool.wrong is None
        assert any("not known as classes" in note for note in result.notes)
    else:
        images = mutiny.image_folder(tmp_path / "pool").read(slice(0, 9))
        with torch.no_grad():
            assert result.subject.pool.wrong == int((net(images).argmax(1).numpy() != np.array(labels)).sum())
