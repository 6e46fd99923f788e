"""Every example works through the command line, with one original and, for either kind of task, with several."""

import json
import sys
from pathlib import Path

import pytest

from mutiny.cli import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SEVERAL = ("dict_input", "regression")
"""Examples of classification and of regression whose originals are soon trained."""
FEWER_EPOCHS = {"lstm": 8, "resnet_digits": 4, "transformer_text": 6}
"""Of the examples that take long to train; with all of their epochs they are slow tests."""
CASES = [pytest.param(path, 1, id=path.stem) for path in EXAMPLES]
CASES += [pytest.param(path, 2, id=f"{path.stem}-2") for path in EXAMPLES if path.stem in SEVERAL]
WHOLE = [pytest.param(path, 1, id=path.stem) for path in EXAMPLES if path.stem in FEWER_EPOCHS]
OPERATORS = ("--operators", "WI,NEB,LR")


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("originals")


@pytest.fixture
def assessed(cache, tmp_path, monkeypatch, capsys):
    """Assesses an example; returns the JSON, and what is printed."""

    def run(path, originals, *options):
        out = tmp_path / "out.json"
        arguments = [*OPERATORS, "--originals", str(originals), *options, "--json", str(out)]
        monkeypatch.setenv("MUTINY_CACHE", str(cache))
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["mutiny", "assess", f"{path}:subject", *arguments])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 0
        found = json.loads(out.read_text())
        assert found["subject"]["originals"] == originals
        return found, capsys.readouterr().out

    return run


def shorter(path, folder):
    """A file with the subject of an example, trained for fewer epochs if it takes long."""
    if path.stem not in FEWER_EPOCHS:
        return path
    text = f"""
import sys
from dataclasses import replace

sys.path.append({str(path.parent)!r})
from {path.stem} import subject

subject.recipe = replace(subject.recipe, epochs={FEWER_EPOCHS[path.stem]})
"""
    file = folder / f"shorter_{path.name}"
    file.write_text(text)
    return file


@pytest.mark.parametrize(("path", "originals"), CASES)
def test_the_notice_rate_of_an_example(path, originals, assessed, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    has_a_notice_rate(shorter(path, tmp_path), originals, assessed)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "originals"), WHOLE)
def test_the_notice_rate_of_an_example_trained_in_full(path, originals, assessed):
    has_a_notice_rate(path, originals, assessed)


def has_a_notice_rate(path, originals, assessed):
    found, shown = assessed(path, originals, "--seeds", "1")
    notice = found["notice"]
    assert 0 <= notice["rate"] <= 1
    assert notice["reference"]["kind"] != "none"
    assert [*notice["operators"]] == OPERATORS[1].split(",")
    for label, operator in notice["operators"].items():
        assert not operator["failed"]
        assert operator["reason"] or any(fault["operator"] == label for fault in found["faults"])
    assert ("One original: rate" in shown) == (originals == 1)


@pytest.mark.parametrize(("path", "originals"), [case for case in CASES if case.id in ("dict_input-2", "regression")])
def test_the_mutation_score_of_an_example(path, originals, assessed):
    found, shown = assessed(path, originals, "--method", "muff", "--max-probes", "1")
    assert found["settings"]["rule"]["test"] == ("mcnemar" if originals == 1 else "glm")
    for operator in found["operators"]:
        assert operator["status"] in ("scored", "not killable", "unstable", "invalid")
        assert operator["mutants"] or operator["reason"]
    assert ("paired exact test over inputs (McNemar)" in shown) == (originals == 1)
    assert ("One original: verdicts" in shown) == (originals == 1)
