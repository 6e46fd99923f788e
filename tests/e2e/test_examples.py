"""Every example works through the command line, with one original and, for either kind of task, with several."""

import json
import sys
from pathlib import Path

import pytest

from mutiny.cli import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))
SEVERAL = ("dict_input", "regression")
"""Examples of classification and of regression whose originals are soon trained."""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("originals")


@pytest.mark.parametrize(
    ("path", "originals"),
    [pytest.param(path, 1, id=path.stem) for path in EXAMPLES]
    + [pytest.param(path, 2, id=f"{path.stem}-2") for path in EXAMPLES if path.stem in SEVERAL],
)
def test_an_example_is_assessed_as_it_is(path, originals, cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MUTINY_CACHE", str(cache))
    arguments = ["--operators", "WI,NI,NEB,LR,AFR", "--originals", str(originals), "--max-probes", "1"]
    out = tmp_path / "out.json"
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["mutiny", "assess", f"{path}:subject", *arguments, "--json", str(out)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 0
    found = json.loads(out.read_text())
    assert found["subject"]["originals"] == originals
    assert found["settings"]["rule"]["test"] == ("mcnemar" if originals == 1 else "glm")
    for operator in found["operators"]:
        assert operator["status"] in ("scored", "not killable", "invalid")
        assert operator["mutants"] or operator["reason"]
    shown = capsys.readouterr().out
    assert ("paired exact test over inputs (McNemar)" in shown) == (originals == 1)
    assert ("One original: verdicts" in shown) == (originals == 1)
