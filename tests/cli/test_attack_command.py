"""``mutiny attack`` as a user sees it."""

import json

import numpy as np
import pytest

SUBJECT = "subject = blob_subject(1)"
RANGE = ("--low", -9, "--high", 9, "--count", 60)


def test_an_attack(run, write, tmp_path):
    out, new = tmp_path / "a.json", tmp_path / "a.npz"
    options = ("--attack", "pgd(iterations=5)", "--eps", "1/10,0.5", "--mutants", 2)
    ran = run("attack", write(SUBJECT), *RANGE, *options, "--json", out, "--save", new)
    assert ran.code == 0, ran.err
    assert "alone, same passes" in " ".join(ran.out.split())
    assert "mutants" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert [row["eps"] for row in told["results"]] == [0.1, 0.5]
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
        (["--operators", "TCL"], "--operators='TCL': expected operators on trained models"),
        (["--ratios", "a"], "--ratios"),
        (["--ratios", "0.1,2"], "shares above 0"),
        (["--attack", "carlini", "--eps", "0.1"], "leave out --eps"),
        (["--mutants", "-1"], "mutants=-1"),
        (["--low", "0", "--high", "0.5"], "State their range"),
        (["--grid", "a.gif"], ".png, .svg, .pdf"),
        (["--save", "new.txt"], "--save=new.txt: expected a file name that ends in .npz"),
        (["--inputs", "nowhere.npz"], "mutiny: --inputs=nowhere.npz: expected an existing file"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("attack", write(SUBJECT), *RANGE, *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err


def test_a_grid_of_what_is_no_image_is_refused_before_the_attack(run, write, tmp_path):
    out = tmp_path / "a.json"
    ran = run("attack", write(SUBJECT), *RANGE, "--attack", "fgsm", "--json", out, "--grid", tmp_path / "a.png")
    assert (ran.code, ran.out) == (2, "")
    assert "images (n, channels, height, width)" in " ".join(ran.err.split())
    assert not out.exists()


def test_mutants_without_and_with_ratios(run, write, tmp_path):
    out = tmp_path / "a.json"
    mutants = ("--operators", "afr,ns", "--ratios", "1/4,0.5", "--mutants", 55, "--kind", "random")
    ran = run("attack", write(SUBJECT), *RANGE, "--attack", "fgsm(norm=L2)", *mutants, "--json", out)
    assert ran.code == 0, ran.err
    told = json.loads(out.read_text())
    assert set(told["mutants"]) == {"AFR", "NS 25%", "NS 50%"}
    assert told["settings"]["mutants"]["iterations"] == 55
    assert told["attack"] == "fgsm(norm=l2)"


def test_reduced_precision_can_be_saved(run, write, tmp_path):
    new = tmp_path / "a.npz"
    body = "subject = blob_subject(1)\nsubject.models = [model.bfloat16() for model in subject.models]"
    ran = run("attack", write(body), *RANGE, "--attack", "fgsm", "--mutants", 0, "--save", new)
    assert ran.code == 0, ran.err
    assert np.load(new)["x"].dtype == np.float32
