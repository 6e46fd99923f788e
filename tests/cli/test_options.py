"""Options: one source of defaults and help, panels, and errors in the words of the command line."""

import dataclasses
import inspect
import re
from importlib import import_module

import pytest

import mutiny
from mutiny.cli.assess import KILL_RULE, PAIRED_TEST, SCREENING, SEARCH, WEAK_SET
from mutiny.cli.attack import CHOICE
from mutiny.cli.command import COMMANDS
from mutiny.cli.errors import in_options
from mutiny.cli.options import SHARED
from mutiny.cli.settings import declared_fields
from mutiny.core.errors import BadInput, PreflightFailed

SETTINGS = (PAIRED_TEST, KILL_RULE, SEARCH, WEAK_SET, SCREENING, CHOICE)
TEXT = {("select", "budget"), ("strengthen", "budget"), ("locate", "active"), ("attack", "eps"), ("attack", "beside")}
"""Options that are given as text, or not at all, where Python has a number or several values."""


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.name)
def test_defaults_and_fields_read_from_source_are_those_of_the_class(settings):
    fields = dataclasses.fields(getattr(import_module(settings.module), settings.name))
    declared = declared_fields(settings.module, settings.name)
    assert {field.name: field.default for field in fields} == {name: field.default for name, field in declared.items()}
    assert {field.name: field.type for field in fields} == {name: field.annotation for name, field in declared.items()}


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda settings: settings.name)
def test_every_generated_option_has_a_help_text_of_one_sentence(settings):
    for option in settings.parameters():
        (info,) = option.annotation.__metadata__
        assert re.fullmatch(r"[A-Z].{10,120}\.", info.help), option.name


@pytest.mark.parametrize("verb", COMMANDS)
def test_defaults_are_those_of_the_python_function(verb):
    arguments = inspect.signature(getattr(mutiny, verb)).parameters
    for name, option in COMMANDS[verb].parameters.items():
        if name in arguments and name != "subject" and (verb, name) not in TEXT:
            assert option.default == arguments[name].default, name


@pytest.mark.parametrize("verb", COMMANDS)
def test_every_verb_has_the_shared_options(verb):
    assert set(SHARED) <= set(COMMANDS[verb].parameters)


@pytest.mark.parametrize("verb", COMMANDS)
def test_help_has_panels_and_five_options_before_them(run, verb):
    panels = re.split(r"╭─ (.*?) ─+╮", run(verb, "--help").out)
    order = [title for title in panels[1::2] if title != "Arguments"]
    assert order[0] == "Options"
    rest = ["What to test", "How to judge", "How to run", "What to write", "Method muff"]
    assert order[1:] == [title for title in rest if title in order]
    first = re.findall(r"^│ (--[a-z-]+)", panels[panels.index("Options") + 1], re.MULTILINE)
    assert len(first) == 6
    assert first[-1] == "--help"


FLAGS = {name: f"--{name.replace('_', '-')}" for name in ("low", "high", "upper", "min_instances", "pool", "minimize")}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (BadInput("low", 1, "less than high=0"), "--low=1: expected less than --high 0."),
        (
            BadInput("inputs", "x", "y", "State their range with low= and high=; see f(low=3)."),
            "inputs=x: expected y. State their range with --low and --high; see f(low=3).",
        ),
        (
            BadInput("pool", None, "inputs", "Give pool=..., with labels or without; or minimise=True."),
            "--pool: expected inputs. Give --pool ..., with labels or without; or --minimize.",
        ),
        (BadInput("low, high", "3, 2", "an interval"), "--low, --high=3, 2: expected an interval."),
        (
            BadInput("data labels", "none", "labels", "Give an assessment=... instead."),
            "data labels=none: expected labels. In Python, give an assessment=... instead.",
        ),
        (BadInput("model", "x", "y", "Give forward=..."), "model=x: expected y. Give forward=..."),
    ],
)
def test_errors_name_options_instead_of_arguments(error, sentence):
    assert str(in_options(error, "strengthen", FLAGS, {"minimise": "minimize"})) == sentence


def test_an_error_keeps_its_class():
    assert isinstance(in_options(PreflightFailed("low", 1, "2"), "assess", FLAGS, {}), PreflightFailed)


def test_errors_in_python_name_arguments():
    with pytest.raises(BadInput, match=r"^alpha=2: expected a probability"):
        mutiny.KillRule(alpha=2)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("assess", "--method", "muff", "--lower", "0.5", "--upper", "0.2"),
            "--lower=0.5: expected less than --upper 0.2.",
        ),
        (("assess", "--seeds", "0"), "--seeds=0: expected a whole number"),
        (("attack", "--low", "1", "--high", "0"), "--low=1.0: expected less than"),
        (("attack", "--mutants", "0"), "mutiny: test inputs of SUBJECT=numbers from"),
        (("attack", "--mutants", "0"), "State their range with --low and --high"),
        (("strengthen", "--operators", "NEB"), "or --minimize"),
        (("locate", "--k", "0"), "--k=0: expected a whole number"),
        (("select", "--repeats", "0"), "--repeats=0: expected a whole number"),
    ],
    ids=lambda part: part[0] if isinstance(part, tuple) else None,
)
def test_commands_refuse_bad_values_in_the_words_of_the_command_line(run, write, arguments, sentence):
    verb, *options = arguments
    ran = run(verb, write("subject = blob_subject()"), *options)
    assert ran.code == 2
    assert sentence in ran.err


def test_an_error_in_a_users_file_stays_in_the_words_of_python(run, write):
    """There, ``test`` is the user's test data, not the option --test."""
    ran = run("assess", "--method", "muff", write("x, y = blobs()\nsubject = blob_subject(test=(x[:0], y[:0]))"))
    assert ran.err.startswith("mutiny: test=an empty split")


@pytest.mark.parametrize("quiet", [False, True])
def test_a_command_says_once_who_is_trusted_before_it_joins_a_cluster(quiet, run, write):
    pytest.importorskip("ray", reason="needs the extra ray")
    subject = write("subject = blob_subject()")
    ran = run("assess", subject, "--operators", "WI", "--address", "127.0.0.1:1", *(["--quiet"] if quiet else []))
    assert ran.code == 2
    assert ran.err.count("mutiny: jobs run on the Ray cluster at 127.0.0.1:1. Trust whoever controls it") == 1 - quiet
    assert "expected a Ray cluster that can be reached" in ran.err
    assert ran.out == ""
