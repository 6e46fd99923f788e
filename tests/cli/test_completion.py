"""Completion in the shell: what bash is offered, without importing PyTorch or running the user's code."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutiny.campaigns.engines.parsing import ENGINES
from mutiny.cli import completion
from mutiny.faults import OPERATORS
from mutiny.faults.training import TRAINING_OPERATORS
from mutiny.subjects.builtin import BUILTIN
from mutiny.verbs.assess.assess import METHODS as ASSESS_METHODS
from mutiny.verbs.assess.muff.kill_rule import EFFECTS, TESTS
from mutiny.verbs.attack.methods import ATTACKS
from mutiny.verbs.locate.activity import ACTIVITIES
from mutiny.verbs.locate.measures import MEASURES
from mutiny.verbs.repair.methods import REPAIRS
from mutiny.verbs.select import METHODS

REGISTRIES = {
    "BUILTIN_SUBJECTS": BUILTIN,
    "OPERATORS": OPERATORS,
    "TRAINING_OPERATORS": TRAINING_OPERATORS,
    "METHODS": METHODS,
    "MEASURES": MEASURES,
    "ATTACKS": ATTACKS,
    "REPAIRS": REPAIRS,
    "TESTS": ("auto", *TESTS),
    "EFFECTS": ("auto", *EFFECTS),
    "ENGINES": ENGINES,
    "ASSESS_METHODS": ASSESS_METHODS,
    "ACTIVITIES": ACTIVITIES,
}
FILE = """
raise AssertionError("completion must not run this")

def build():
    return 1

_hidden = build()
first: mutiny.Subject = build()
second = mutiny.Subject(build())
"""


@pytest.mark.parametrize("name", REGISTRIES)
def test_names_offered_are_those_of_the_registry(name):
    assert getattr(completion, name).split() == list(REGISTRIES[name])


@pytest.fixture
def complete(run, monkeypatch):
    """What bash is offered for a line whose words it has split, beside a file of the user's."""
    Path("mine.py").write_text(FILE)

    def offered(*words):
        monkeypatch.setattr(os, "environ", {**os.environ, **bash(words)})
        return run().out.split()

    return offered


def bash(words):
    """The environment in which bash asks for completions of the last word."""
    return {
        "_MUTINY_COMPLETE": "complete_bash",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }


def test_completion_does_not_import_torch():
    code = "import sys; from mutiny.cli import main\ntry: main()\nfinally: assert 'torch' not in sys.modules"
    environment = {**os.environ, **bash(["mutiny", "assess", "--method", "muff", "digits", "--operators", "WI,NA"])}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr) == ("WI,NAI\n", "")


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["mutiny", "str"], ["strengthen"]),
        (["mutiny", "assess", "--method", "muff", "dig"], ["digits"]),
        (["mutiny", "assess", "--method", "muff", "mi"], ["mine.py:first", "mine.py:second"]),
        (["mutiny", "assess", "--method", "muff", "mine.py", ":"], ["build", "first", "second"]),
        (["mutiny", "assess", "--method", "muff", "mine.py", ":", "fi"], ["first"]),
        (["mutiny", "assess", "--method", "muff", "mine.py", ":", "first", "--test", "mc"], ["mcnemar"]),
        (
            ["mutiny", "assess", "--method", "muff", "digits", "--operators", "WI,N"],
            ["WI,NI", "WI,NEB", "WI,NAI", "WI,NS", "WI,NP"],
        ),
        (["mutiny", "assess", "--method", "muff", "digits", "--test", "=", "w"], ["welch", "wilcoxon"]),
        (["mutiny", "assess", "digits", "--method", "m"], ["muff"]),
        (["mutiny", "select", "digits", "--method", "deepgini+ds"], ["deepgini+dsa"]),
        (["mutiny", "locate", "digits", "--measure", "tar"], ["tarantula"]),
        (["mutiny", "locate", "digits", "--active", "s"], ["scaled"]),
        (["mutiny", "select", "digits", "--pool", ""], ["test", "mutated"]),
        (["mutiny", "attack", "digits", "--operators", "WI,N"], ["WI,NI", "WI,NEB", "WI,NAI", "WI,NS"]),
        (["mutiny", "strengthen", "digits", "--operators", "LR"], ["LR"]),
        (["mutiny", "attack", "digits", "--attack", "p"], ["pgd"]),
        (["mutiny", "assess", "--method", "muff", "digits", "--engine", ""], ["serial", "processes", "ray"]),
    ],
    ids=lambda part: " ".join(part),
)
def test_bash_is_offered_values(complete, words, offered):
    assert complete(*words) == offered


def test_a_file_that_cannot_be_parsed_offers_nothing(tmp_path):
    (tmp_path / "broken.py").write_text("subject = (")
    assert completion.public_names(tmp_path / "broken.py") == []
    assert completion.subject_names(tmp_path / "missing.py") == []
