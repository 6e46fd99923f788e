"""``mutiny locate`` and ``mutiny measures`` as a user sees them."""

import json
import re

import numpy as np
import pytest

from toys import blobs

SUBJECT = "subject = blob_subject(1)"


def test_suspects(run, write, tmp_path):
    out = tmp_path / "suspects.json"
    ran = run("locate", write(SUBJECT), "--k", 3, "--json", out, "--by-class")
    assert ran.code == 0, ran.err
    assert "Silencing" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert len(told["suspects"]) == 3
    assert told["suspects"][0]["layer"] in ran.out


def test_synthesized_inputs(run, write, tmp_path):
    path = tmp_path / "new.npz"
    ran = run("locate", write(SUBJECT), "--k", 2, "--synthesize", 20, "--save", path)
    assert ran.code == 0, ran.err
    assert "Synthesized" in ran.out
    assert path.exists()


def test_normalized_gradients_move_more(run, write, tmp_path):
    far = {}
    for option in ("--seed", "--rms"):
        path = tmp_path / "new.npz"
        run(
            "locate",
            write(SUBJECT),
            "-q",
            "--synthesize",
            20,
            option,
            *([0] if option == "--seed" else []),
            "--save",
            path,
        )
        far[option] = np.load(path)["l2"].mean()
    assert far["--rms"] != far["--seed"]


def test_quiet(run, write):
    ran = run(
        "locate", write(SUBJECT), "-q", "--measure", "dstar(power=2)", "--active", "quantile(share=0.5)", "--silent"
    )
    assert (ran.code, ran.out) == (0, "")


def test_measures(run):
    ran = run("measures")
    assert ran.code == 0
    assert "ochiai" in ran.out
    ran = run("measures", "dstar")
    assert "power" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--measure", "tarantela"], "Did you mean tarantula"),
        (["--active", "often"], "one of above"),
        (["--layers", "conv9"], "a layer or module"),
        (["--label", "7"], "label=7"),
        (["--k", "0"], "k=0"),
        (["--inputs", "nowhere.npz"], "mutiny: --inputs=nowhere.npz: expected an existing file"),
        (["--json", "no/such/folder.json"], "--json"),
        (["--save", "new.npz"], "Add --synthesize"),
        (["--synthesize", "10", "--grid", "grid.gif"], ".png, .svg, .pdf"),
        (["--synthesize", "10", "--save", "new.txt"], "ends in .npz"),
        (["--synthesize", "10", "--save", "a.npz", "--json", "./a.npz"], "another file than that of --json"),
        (["--synthesize", "-5"], "--synthesize=-5"),
        (["--rms"], "Add --synthesize"),
        (["--active", "nan"], "active=nan"),
        (["--json", "/dev/full"], "No space left"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("locate", write(SUBJECT), *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
    assert "Traceback" not in ran.err


NO_FAILURES = (
    "points, net = blobs(60)[0], classifier()\nsubject = blob_subject(1, test=(points, net(points).argmax(1)))"
)
TOKENS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.hidden, self.head = nn.Embedding(9, 4), nn.Linear(4, 12), nn.Linear(12, 3)
    def forward(self, x):
        return self.head(self.hidden(self.words(x).mean(1)).relu())
data = torch.arange(240).reshape(60, 4) % 9, torch.arange(60) % 3
subject = mutiny.Subject(Net().eval(), task=mutiny.Classification(3), train=data, test=data)
"""
LONG = """
inner = nn.ModuleDict({"first_feature_extractor_block": nn.Sequential(nn.Linear(2, 14), nn.ReLU())})
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.the_very_long_backbone_name, self.head = inner, nn.Linear(14, 3)
    def forward(self, x):
        return self.head(self.the_very_long_backbone_name["first_feature_extractor_block"](x))
torch.manual_seed(0)
subject = mutiny.Subject(Net().eval(), task=mutiny.Classification(3), train=blobs(), test=blobs(90))
"""


def test_what_was_located_is_not_lost_if_nothing_can_be_synthesized(run, write, tmp_path):
    out = tmp_path / "location.json"
    ran = run("locate", write(TOKENS), "--synthesize", 5, "--json", out)
    assert ran.code == 2
    assert "real numbers" in ran.err
    assert "hidden[" in ran.out
    told = json.loads(out.read_text())
    assert told["suspects"]
    assert told["synthesis"] is None


def test_nothing_to_write_is_said(run, write, tmp_path):
    ran = run("locate", write(NO_FAILURES), "--synthesize", 5)
    assert ran.code == 0, ran.err
    assert "No inputs were synthesized" in ran.out
    ran = run("locate", write(NO_FAILURES), "--synthesize", 5, "-q", "--save", tmp_path / "new.npz")
    assert ran.code == 2
    assert "no neuron is suspicious" in ran.err


def test_a_picture_of_no_images_is_refused_before_any_work(run, write, tmp_path):
    out = tmp_path / "location.json"
    ran = run("locate", write(SUBJECT), "--synthesize", 5, "--grid", tmp_path / "new.png", "--json", out)
    assert ran.code == 2
    assert "got inputs of shape (2,)" in ran.err
    assert ran.out == ""
    assert not out.exists()


def test_synthesis_reads_neurons_where_they_were_located(run, write, tmp_path):
    out = tmp_path / "location.json"
    for at in ("signal", "output"):
        ran = run("locate", write(SUBJECT), "-q", "--at", at, "--synthesize", 12, "--json", out)
        assert ran.code == 0, ran.err
        told = json.loads(out.read_text())["synthesis"]
        assert (told["settings"]["at"], told["count"], told["settings"]["count"]) == (at, 12, 12)
        assert told["success_rate"] == told["succeeded"] / 12
        assert set(told["distances"]) == {"l1", "l2", "linf"}


def test_synthesized_inputs_are_labeled_inputs(run, write, tmp_path):
    path = tmp_path / "new.npz"
    assert run("locate", write(SUBJECT), "-q", "--synthesize", 40, "--save", path).code == 0
    held, labels = np.load(path), blobs(120, seed=1)[1].numpy()
    assert held["y"].tolist() == labels[held["index"]].tolist()
    out = tmp_path / "again.json"
    assert run("locate", write(SUBJECT), "-q", "--inputs", path, "--json", out).code == 0
    assert json.loads(out.read_text())["failing"] == held["failed"].sum()


def test_long_names_keep_the_number(run, write):
    ran = run("locate", write(LONG), "--by-class", "--validate", 0)
    assert ran.code == 0, ran.err
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    rows = [line for line in lines if "…" in line]
    assert len(rows) >= 20
    assert all(re.search(r"…\S+\[\d+\]", line) for line in rows)
    assert all("%" in line for line in rows[:10])


def test_words(run, write):
    ran = run("locate", write(SUBJECT), "--k", 2, "--validate", 5)
    said = " ".join(ran.out.split())
    assert "Silencing 2 random other neurons of the same layers, 5 times: fixes" in said
    assert "high for neurons active on failures;" in said
    assert "false discovery rate if all neurons up to this q are called suspects" in said
