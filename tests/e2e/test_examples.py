"""Every example works through the command line, with one original and, for either kind of task, with several."""

import json
import sys
from pathlib import Path

import pytest

from mutiny.cli import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SEVERAL = ("dict_input", "regression")
"""Examples of classification and of regression whose originals are soon trained."""
CASES = [pytest.param(path, 1, id=path.stem) for path in EXAMPLES]
CASES += [pytest.param(path, 2, id=f"{path.stem}-2") for path in EXAMPLES if path.stem in SEVERAL]
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


@pytest.mark.parametrize(("path", "originals"), CASES)
def test_the_notice_rate_of_an_example(path, originals, assessed):
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
