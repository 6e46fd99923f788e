"""``mutiny strengthen`` as a user sees it."""

import json

import numpy as np
import pytest

SUBJECT = """
from verbs.strengthen.tables import weak_subject

subject = weak_subject(1)
"""
FAIR = SUBJECT.replace("(1)", "(1, test=toys.blobs(150, seed=4, spread=0.9))").replace("from", "import toys\nfrom", 1)
QUICK = ("--operators", "NEB", "--seeds", "2")


def test_what_to_label_and_what_it_is_worth(run, write, tmp_path):
    label, out, tests = tmp_path / "label.txt", tmp_path / "all.json", tmp_path / "tests.txt"
    wanted = (*QUICK, "--budget", "5,10%", "--minimize")
    ran = run("strengthen", write(FAIR), *wanted, "--indices", label, "--json", out, "--tests", tests)
    assert ran.code == 0, ran.err
    assert max(map(len, ran.out.splitlines())) <= 80
    for said in ("Label", "Label first", "random ones", "deepgini", " tests ", "Kept in mine-subject.mutiny"):
        assert said in ran.out
    told = json.loads(out.read_text())
    assert [int(line) for line in label.read_text().split()] == told["chosen"]["40"]
    assert [int(line) for line in tests.read_text().split()] == told["subset"]["indices"]
    again = run("strengthen", write(FAIR), *wanted)
    assert again.out == ran.out
    report = run("report", "mine-subject.mutiny")
    assert report.out == ran.out[: ran.out.index(" Kept in")]


def test_an_unlabeled_pool_from_a_file(run, write, tmp_path):
    pool, made = tmp_path / "pool.npy", tmp_path / "new.npz"
    np.save(pool, np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32))
    ran = run("strengthen", write(SUBJECT), *QUICK, "--pool", pool, "--budget", 6, "--save", made, "--no-store")
    assert ran.code == 0, ran.err
    assert "the choice was not measured" in " ".join(ran.out.split())
    assert "chosen by" not in ran.out
    assert made.exists() or "no inputs were synthesized" in ran.err


def test_synthesized_inputs_have_no_label(run, write, tmp_path):
    pool, made = tmp_path / "pool.npy", tmp_path / "new.npz"
    far = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    np.save(pool, 8 * far / np.linalg.norm(far, axis=1, keepdims=True))
    ran = run("strengthen", write(SUBJECT), *QUICK, "--pool", pool, "--budget", 1, "--save", made, "--no-store")
    assert ran.code == 0, ran.err
    assert "a person must label them" in " ".join(ran.out.split())
    with np.load(made) as arrays:
        assert "y" not in arrays
        assert len(arrays["x"]) == len(arrays["index"]) == len(arrays["operator"]) > 0


def test_files_that_are_not_written_are_told_also_when_quiet(run, write, tmp_path):
    wanted = ("--operators", "NEB", "--seeds", "1", "--minimize", "--budget", "400", "--no-store", "-q")
    files = ("--tests", tmp_path / "t[old].txt", "--save", tmp_path / "new.npz")
    ran = run("strengthen", write(SUBJECT), *wanted, *files)
    assert (ran.code, ran.out) == (0, "")
    assert f"notice no fault, so '{tmp_path}/t[old].txt' was not written\n" in ran.err
    assert f"mutiny: no inputs were synthesized, so {tmp_path}/new.npz was not written\n" in ran.err
    assert not [*tmp_path.glob("*.txt"), *tmp_path.glob("*.npz")]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--budget", "0"), "budget=0: expected at least 1 input."),
        (("--budget", "5000"), "between 1 and 400"),
        (("--tolerance", "2"), "--tolerance=2.0"),
        (("--compare", "nosuch"), "nosuch"),
        (("--tests", "t.txt"), "Add --minimize"),
        (("--save", "x.txt"), "ends in .npz"),
        (("--save", "x.npz", "--synthesize", "0"), "expected --synthesize above 0"),
        (("--operators", "XX"), "XX"),
        (("--json", "a", "--indices", "a"), "another file"),
    ],
)
def test_bad_input_is_one_sentence(run, write, arguments, message):
    ran = run("strengthen", write(SUBJECT), *arguments)
    assert ran.code == 2
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_help_says_what_it_is(run):
    ran = run("strengthen", "--help")
    assert ran.code == 0
    assert "--minimize" in ran.out
