"""``mutiny attack`` as a user sees it."""

import json

import numpy as np
import pytest

SUBJECT = "subject = blob_subject(1)"
RANGE = ("--low", -9, "--high", 9, "--count", 60)


def test_an_attack(run, write, tmp_path):
    out, new = tmp_path / "a.json", tmp_path / "a.npz"
    ran = run(
        "attack", write(SUBJECT), *RANGE, "--attack", "pgd(iterations=5)", "--eps", "1/10,0.5", "--mutants", 2,
        "--json", out, "--save", new,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert "alone, same passes" in " ".join(ran.out.split())
    assert "mutants" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert [one["eps"] for one in told["results"]] == [0.1, 0.5]
    arrays = np.load(new)
    assert len(arrays["x"]) == len(arrays["y"]) == len(arrays["fooled"]) == 120
    ran = run("locate", write(SUBJECT), "--inputs", new, "--validate", 0)
    assert ran.code == 0, ran.err


def test_the_nearest(run, write):
    ran = run("attack", write(SUBJECT), *RANGE, "--attack", "carlini(iterations=20, searches=3)", "--mutants", 0)
    assert ran.code == 0, ran.err
    assert "nearest" in ran.out


def test_quiet(run, write):
    ran = run("attack", write(SUBJECT), *RANGE, "--attack", "fgsm", "--mutants", 1, "-q")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--attack", "pdg"], "Did you mean pgd"),
        (["--eps", "0"], "at 0 nothing changes"),
        (["--eps", "a lot"], "8/255"),
        (["--kind", "odd"], "diverse, random, similar"),
        (["--operators", "QQ"], "some of"),
        (["--mutants", "-1"], "mutants=-1"),
        (["--low", "0", "--high", "0.5"], "State their range"),
        (["--grid", "a.gif"], ".png, .svg, .pdf"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("attack", write(SUBJECT), *RANGE, *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
