"""What ``mutiny operators``, ``methods``, ``measures``, ``demo`` and ``assess --dry-run`` print."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import mutiny.subjects.training.originals
from mutiny.cli import demo
from mutiny.faults.layers.sites import same_shape_sites
from mutiny.models import ModelView

SUBJECT = "subject = blob_subject(name='blobs')"
RECIPE = """
recipe = mutiny.Recipe(lambda: nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), epochs=1)
subject = blob_subject(models=None, recipe=recipe, name='blobs')
"""


@pytest.mark.parametrize("command", ["operators", "methods", "measures"])
def test_usage_names_the_argument_in_capitals(run, command):
    assert re.search(rf"{command} \[OPTIONS\] \[?CODE\]?\s", run(command, "--help").out)


def test_parameters_are_explained_with_defaults_in_the_width_of_the_terminal(run):
    lines = run("operators", "GF").out.splitlines()
    assert max(map(len, lines)) <= 80
    assert not any(line.startswith("Args:") for line in lines)
    rows = {line.split()[0]: line.split()[1:] for line in lines if line.strip()}
    assert rows["ratio"][:4] == ["0.05", "Share", "of", "the"]
    assert rows["layers"][:2] == ["none", "Names"]
    assert rows["biases"][:2] == ["false", "Whether"]
    clip = next(number for number, line in enumerate(lines) if line.startswith("clip"))
    column = lines[clip].index('"mutated"')
    assert lines[clip + 1][:column].strip() == ""
    assert lines[clip + 1][column] != " "


def test_a_parameter_with_several_names_shows_them_as_they_are_typed(run):
    assert "GF+NEB+NAI+WS" in run("methods", "kill-rate").out


@pytest.mark.parametrize(("method", "operators"), [("notice", "WI"), ("muff", "WI")])
@pytest.mark.parametrize(("body", "trains"), [(SUBJECT, False), (RECIPE, True)])
def test_a_plan_mentions_the_training_of_originals_only_if_they_are_trained(
    run, write, body, trains, method, operators
):
    ran = run("assess", write(body), "--method", method, "--operators", operators, "--dry-run", "--originals", "2")
    assert ran.code == 0, ran
    assert ("after the originals are trained" in " ".join(ran.out.split())) == trains


@pytest.mark.parametrize(
    ("method", "seed", "trains"), [("notice", "0", False), ("notice", "1", True), ("muff", "0", True)]
)
def test_a_plan_knows_which_originals_come_with_the_package(run, monkeypatch, tmp_path, method, seed, trains):
    """Those of seed 0 that hold out folds, as the notice rate does."""
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path))
    options = ("--method", method, "--operators", "WI", "--originals", "2", "--seed", seed)
    ran = run("assess", "digits", *options, "--dry-run")
    assert ran.code == 0, ran
    assert ("after the originals are trained" in " ".join(ran.out.split())) == trains


@pytest.mark.parametrize("method", ["notice", "muff"])
def test_a_plan_finds_stored_originals(run, write, monkeypatch, tmp_path, method):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "cache"))
    command = (
        "assess",
        write(RECIPE.replace("epochs=1", "epochs=30")),
        "--method",
        method,
        "--operators",
        "WI",
        "--originals",
        "2",
    )
    assert run(*command, "-q", "--no-store").code == 0
    assert "after the originals are trained" not in " ".join(run(*command, "--dry-run").out.split())
    next((tmp_path / "cache").rglob("*.safetensors")).unlink()
    assert "after the originals are trained" in " ".join(run(*command, "--dry-run").out.split())


def test_a_quiet_plan_prints_only_errors(run, write):
    ran = run("assess", write(SUBJECT), "--operators", "WI", "--dry-run", "-q")
    assert (ran.code, ran.out, ran.err) == (0, "", "")
    ran = run("assess", write(SUBJECT), "--originals", "999", "--dry-run", "-q")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("mutiny: --originals=999: ")


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--json", "a.json"),
        ("--kills", "a.npz"),
        ("--junit", "a.xml"),
        ("--summary", "a.md"),
        ("--fail-under", "0.9"),
        ("--against", "old.json"),
    ],
)
def test_a_plan_refuses_options_about_the_result(run, write, tmp_path, option, value):
    ran = run("assess", write(SUBJECT), "--operators", "WI", "--dry-run", option, value)
    assert (ran.code, ran.out) == (2, "")
    expected = f"expected {option} only without --dry-run, which measures nothing. Leave out one of them."
    assert ran.err == f"mutiny: {option}={value}: {expected}\n"


def test_the_demo_says_how_many_networks_come_with_the_package():
    folder = Path(mutiny.subjects.training.originals.__file__).parent / "shipped_originals"
    assert len(list(folder.glob("*.safetensors"))) == demo.SHIPPED


@pytest.mark.parametrize(("options", "minute"), [((), True), (("--originals", "99"), False), (("--seed", "1"), False)])
def test_the_demo_promises_a_minute_only_without_training(run, monkeypatch, options, minute):
    def stop(*_):
        raise mutiny.BadInput("test", 1, "2")

    monkeypatch.setattr(type(demo.assess), "run", stop)
    out = " ".join(run("demo", *options).out.split())
    assert ("It takes about a minute." in out) == minute
    assert ("are trained first" in out) != minute


def test_one_kind_of_layer_that_does_nothing_is_singular():
    model = nn.Sequential(nn.Linear(2, 4), nn.Dropout(), nn.Linear(4, 3)).eval()
    with pytest.raises(mutiny.core.errors.NotApplicable, match="except Dropout, which does nothing at inference"):
        same_shape_sites(ModelView.of(model, torch.zeros(1, 2)), inactive=False)
