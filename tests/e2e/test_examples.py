"""Every example works through the command line, with several originals and with one."""

import json
import sys
from pathlib import Path

import pytest

from mutiny.cli import main

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("originals")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("originals", [2, 1])  # the single one is then the first of the two, from the cache
def test_an_example_is_assessed_as_it_is(path, originals, cache, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("MUTINY_CACHE", str(cache))
    arguments = ["--operators", "WI,NI,NEB,LR,AFR", "--originals", str(originals), "--max-probes", "2"]
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
