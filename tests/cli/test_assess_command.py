import json
import re
import sys

import numpy as np
import pytest

from mutiny import __version__
from mutiny.faults import ALL
from mutiny.models import ModelState
from mutiny.verbs.assess.muff.score import missed_bar

SEVERAL = "subject = blob_subject(4)"
ONE = "subject = blob_subject(1)"
OPERATORS = ("--operators", "WI(ratio=0.3),NI(ratio=0.5, direction=incoming),LR")
QUICK = (*OPERATORS, "--precision", "0.1")

OWN_FILE = """
torch.manual_seed(3)
x = torch.randn(300, 4)
y = (x[:, 0] * x[:, 1] > 0).long()
nets = []
for _ in range(COUNT):
    net = nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 2))
    adam = torch.optim.Adam(net.parameters(), 0.05)
    for _ in range(80):
        adam.zero_grad()
        nn.functional.cross_entropy(net(x[:200]), y[:200]).backward()
        adam.step()
    nets.append(net.eval())
subject = mutiny.Subject(
    models=nets, task=mutiny.Classification(2), train=(x[:200], y[:200]), test=(x[200:], y[200:])
)
"""
MUTANT_KEYS = "strength verdict instances rse p_value effect_size metric_mean guiding_set"


def strict(path):
    def refuse(constant):
        raise AssertionError(f"{constant} in {path}")

    return json.loads(path.read_text(), parse_constant=refuse)


@pytest.mark.parametrize("count", [1, 4])
def test_a_users_own_file(run, write, tmp_path, count):
    """The whole path: a file that trains its own networks, a table, a JSON file with every promised key."""
    file = write(OWN_FILE.replace("COUNT", str(count)))
    ran = run(
        "assess",
        "--method",
        "muff",
        file,
        "--operators",
        "WI(ratio=0.3),GF",
        "--precision",
        "0.1",
        "--json",
        tmp_path / "out.json",
    )
    assert (ran.code, ran.err) == (0, "")
    assert "Mutation score" in ran.out
    assert ("One original" in ran.out) == (count == 1)
    result = strict(tmp_path / "out.json")
    assert (result["schema"], result["verb"]) == (1, "assess")
    assert result["subject"]["originals"] == count
    assert result["settings"]["seed"] == 0
    assert result["settings"]["rule"]["test"] == ("mcnemar" if count == 1 else "glm")
    assert {"python", "torch", "numpy", "mutiny"} <= set(result["versions"])
    if count == 1:
        assert 0 <= result["score"]["interval"]["low"] <= result["score"]["interval"]["high"] <= 1
    else:  # four originals are too few to resample
        assert result["score"]["interval"] is None
        assert "No interval: 4 originals" in ran.out
    assert result["score"]["value"] == pytest.approx(np.mean([o["score"] for o in result["operators"]]))
    for operator in result["operators"]:
        assert {"code", "status", "reason", "score", "sensitivity", "mutants"} <= set(operator)
        assert operator["status"] == "scored"
        for mutant in operator["mutants"]:
            assert set(mutant) >= set(MUTANT_KEYS.split())
            assert mutant["verdict"] in ("killed", "survived", "unstable", "invalid")
            assert mutant["guiding_set"] in ("train", "test", "weak")
            assert mutant["instances"] % count == 0


def answers(path):
    result = strict(path)
    assert set(result.pop("timing")) == {"created", "seconds", "trainings"}
    return result


@pytest.mark.parametrize("body", [SEVERAL, ONE])
def test_one_seed_one_answer(run, write, tmp_path, body):
    file = write(body)
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        assert (
            run(
                "assess",
                "--method",
                "muff",
                file,
                *QUICK,
                "--max-probes",
                "2",
                "--seed",
                seed,
                "--quiet",
                "--no-store",
                "--json",
                tmp_path / name,
            ).code
            == 0
        )
    same, again, other = (answers(tmp_path / name) for name in "abc")
    assert same == again
    assert (same["settings"].pop("seed"), other["settings"].pop("seed")) == (5, 6)
    assert same != other


def test_the_bar_decides_between_0_and_1_and_the_result_is_written_either_way(run, write, tmp_path):
    file = write(SEVERAL)
    assert run("assess", "--method", "muff", file, *QUICK, "--json", tmp_path / "a.json").code == 0
    score = strict(tmp_path / "a.json")["score"]["value"]
    assert 0.01 < score < 0.99
    assert run("assess", "--method", "muff", file, *QUICK, "--quiet", "--fail-under", score).code == 0
    below = run(
        "assess",
        "--method",
        "muff",
        file,
        *QUICK,
        "--quiet",
        "--fail-under",
        score + 0.01,
        "--json",
        tmp_path / "b.json",
    )
    assert (below.code, below.out) == (1, "")
    warning, verdict = below.err.splitlines()
    assert warning == "mutiny: the bar applies to 1 of 3 operators; the others have no score"
    assert verdict == f"mutiny: {missed_bar(score, score + 0.01)}"
    assert answers(tmp_path / "b.json") == answers(tmp_path / "a.json")


def test_quiet_says_nothing(run, write):
    ran = run("assess", "--method", "muff", write(ONE), *QUICK, "--quiet")
    assert (ran.code, ran.out, ran.err) == (0, "", "")


def test_kills_are_readable_without_pickle_and_agree_with_the_records(run, write, tmp_path):
    assert (
        run(
            "assess",
            "--method",
            "muff",
            write(SEVERAL),
            *QUICK,
            "-q",
            "--json",
            tmp_path / "a",
            "--kills",
            tmp_path / "k.npz",
        ).code
        == 0
    )
    operators = strict(tmp_path / "a")["operators"]
    sizes = {name: info["inputs"] for name, info in strict(tmp_path / "a")["subject"]["splits"].items()}
    assert sizes == {"train": 240, "test": 120, "weak": 60}
    expected = {f"inputs/{split}" for split in sizes}
    with np.load(tmp_path / "k.npz", allow_pickle=False) as kills:
        for operator in operators:
            for mutant in (m for m in operator["mutants"] if m["verdict"] != "invalid"):
                split = mutant["guiding_set"]
                key = f"{operator['label']}@{mutant['strength']!r}/{split}"
                bits = np.unpackbits(kills[key], axis=-1, count=int(kills[f"inputs/{split}"]))
                assert bits.shape == (mutant["instances"] // 4, 4, sizes[split])
                assert bits.mean() == pytest.approx(mutant["triviality"])
                expected.add(key)
        assert set(kills.files) == expected


def test_labels_name_the_parameters_that_were_given(run, write, tmp_path):
    run("assess", "--method", "muff", write(SEVERAL), *QUICK, "-q", "--json", tmp_path / "a")
    result = strict(tmp_path / "a")
    labels = ["WI(ratio=0.3)", "NI(ratio=0.5, direction=incoming)", "LR"]
    assert [operator["label"] for operator in result["operators"]] == result["settings"]["operators"] == labels
    assert result["operators"][1]["parameters"]["direction"] == "incoming"
    assert result["operators"][2]["status"] == "invalid"
    assert "keeps the shape" in result["operators"][2]["reason"]


@pytest.mark.parametrize("body", [SEVERAL, ONE, "subject = line_subject(2)"])
def test_everything_fits_80_columns_and_rows_stay_whole(run, write, tmp_path, body):
    file = write(body)
    ran = run("assess", "--method", "muff", file, *QUICK, "--rse", "0.3", "--json", tmp_path / "a")
    lines = ran.out.splitlines()
    assert max(map(len, lines)) <= 80
    for operator in strict(tmp_path / "a")["operators"]:
        (row,) = [line for line in lines if line.startswith(f" {operator['label'][:14]}") and ":" not in line]
        if operator["score"] is not None:
            assert f"{operator['score']:.0%}" in row
    for option in ([], ["assess", "--help"], ["operators"], ["operators", "NI"]):
        assert max(map(len, run(*option).out.splitlines())) <= 80


def test_no_killable_mutant_is_an_answer_not_an_error(run, write, tmp_path):
    ran = run(
        "assess",
        "--method",
        "muff",
        write(SEVERAL),
        "--operators",
        "WI(ratio=0)",
        "--precision",
        "0.2",
        "--json",
        tmp_path / "a",
    )
    assert (ran.code, ran.err) == (0, "")
    assert "No score: no operator has a stable mutant that the training set kills." in ran.out
    result = strict(tmp_path / "a")
    assert result["score"] == {"value": None, "interval": None, "operators": 0, "tried": 1}
    assert result["operators"][0]["status"] == "not killable"
    assert result["operators"][0]["reason"] == "the training set kills no mutant"
    bar = run(
        "assess",
        "--method",
        "muff",
        write(SEVERAL),
        "--operators",
        "WI(ratio=0)",
        "--precision",
        "0.2",
        "-q",
        "--fail-under",
        "0.1",
    )
    assert bar.code == 1
    assert "there is no score, so it is not at least 10%" in bar.err


INTERRUPTED = """
net = classifier()
clean = net[0].weight.clone()
count = 0

def forward(model, x):
    global count
    count += not torch.equal(model[0].weight, clean)
    if count > 40:  # in the middle of a mutant
        raise KeyboardInterrupt
    return model(x)

from mutiny.models import ModelState
subject = mutiny.Subject(net, task=mutiny.Classification(3), train=blobs(), test=blobs(120, seed=1), forward=forward)
before = ModelState.of(net)
"""


@pytest.mark.parametrize(
    ("store", "told"),
    [
        ([], "finished work is kept. Resume with: mutiny resume interrupted_in_the_middle-subject.mutiny"),
        (["--no-store"], "no result was written."),
    ],
)
def test_an_interrupt_leaves_with_3_writes_nothing_and_leaves_the_model_alone(run, write, tmp_path, store, told):
    file = write(INTERRUPTED, "interrupted_in_the_middle.py")
    ran = run(
        "assess", "--method", "muff", file, *QUICK, "--json", tmp_path / "a", "--kills", tmp_path / "b.npz", *store
    )
    assert (ran.code, ran.out) == (3, "")
    assert ran.err.startswith(f"mutiny: interrupted; {told}")
    assert ran.err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["interrupted_in_the_middle.py"]
    module = sys.modules.pop("interrupted_in_the_middle")
    assert module.count > 40
    assert ModelState.of(module.net) == module.before


def test_an_older_result_survives_an_interrupt(run, write, tmp_path):
    (tmp_path / "a").write_text("precious")
    assert (
        run(
            "assess", "--method", "muff", write(INTERRUPTED, "interrupted_again.py"), *QUICK, "--json", tmp_path / "a"
        ).code
        == 3
    )
    assert (tmp_path / "a").read_text() == "precious"


def test_operators_lists_and_explains_every_one(run):
    listed = run("operators")
    assert (listed.code, listed.err) == (0, "")
    for kind in ALL:
        assert re.search(rf"^{kind.code} ", listed.out, re.MULTILINE), kind
        explained = run("operators", kind.code)
        assert explained.code == 0
        assert kind.title in explained.out
        for parameter in kind().parameters():
            assert re.search(rf"^{parameter} ", explained.out, re.MULTILINE), (kind, parameter)


def test_version(run):
    assert run("--version").out == f"mutiny {__version__}\n"


def test_no_arguments_show_the_help(run):
    ran = run()
    assert "Usage: mutiny" in ran.out + ran.err
    for command in ("assess", "demo", "operators"):
        assert command in ran.out + ran.err


def test_the_device_that_the_models_are_on_changes_nothing(run, write, tmp_path):
    for name, device in (("a", []), ("b", ["--device", "cpu"])):
        assert run("assess", "--method", "muff", write(ONE), *QUICK, "-q", "--json", tmp_path / name, *device).code == 0
    assert answers(tmp_path / "a") == answers(tmp_path / "b")


def test_every_setting_reaches_the_assessment(run, write, tmp_path):
    given = {
        "rule": {"test": "welch", "alpha": 0.04, "effect": "a12", "beta": 0.6},
        "search": {
            **{"k_max": 4, "rse": 0.07, "precision": 0.2, "lower": 0.1, "upper": 0.9},
            **{"max_probes": 2, "max_seconds": 99.0, "min_instances": 3},
        },
    }
    options = [
        part
        for settings in given.values()
        for name, value in settings.items()
        for part in (f"--{name.replace('_', '-')}", value)
    ]
    more = ("--weak-share", 0.25, "--batch-size", 50, "--seed", 3, "--originals", 2, "--operators", "WI,GF")
    assert run("assess", "--method", "muff", write(SEVERAL), *options, *more, "-q", "--json", tmp_path / "a").code == 0
    result = strict(tmp_path / "a")
    settings = result["settings"]
    assert {name: settings[name] for name in given} == given
    assert settings["weak"]["share"] == 0.25
    assert [settings[name] for name in ("batch_size", "seed", "operators")] == [50, 3, ["WI", "GF"]]
    assert result["subject"]["originals"] == 2
    assert {o["label"]: o["bounds"] for o in result["operators"]}["WI"] == [0.1, 0.9]
    assert result["subject"]["splits"]["weak"]["inputs"] == 30
