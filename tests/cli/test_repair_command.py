"""``mutiny repair`` as a user sees it."""

import json

import pytest

FAULTY = """
subject = blob_subject(1)
import torch
model = subject.models[0]
with torch.no_grad():
    loud = model[2].weight.abs().sum(dim=0).argmax()
    model[0].weight[loud] *= -3
"""
QUICK = ("--method", "search(generations=20, population=40)")


def test_a_repair(run, write, tmp_path):
    out, weights, patch = tmp_path / "r.json", tmp_path / "w.safetensors", tmp_path / "p.safetensors"
    ran = run("repair", write(FAULTY), *QUICK, "--json", out, "--save", weights, "--patch", patch)
    assert ran.code == 0, ran.err + ran.out
    assert "Repaired" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert told["schema"] == 1
    assert told["repaired"] is True
    assert told["repair_rate"]["interval"]["low"] <= told["repair_rate"]["value"]
    assert weights.exists()
    assert patch.exists()


def test_no_repair(run, write, tmp_path):
    path = tmp_path / "w.safetensors"
    ran = run("repair", write("subject = blob_subject(1)"), "--method", "tune(epochs=1, rate=1e-9)", "--save", path)
    assert ran.code == 1
    assert "No repair shown" in ran.out
    assert "no weights were written" in ran.err
    assert not path.exists()


def test_why_nothing_is_written(run, write, tmp_path):
    path = tmp_path / "w.safetensors"
    still = ("--method", "tune(epochs=1, rate=1e-9)", "--save", path, "--anyway")
    ran = run("repair", write("subject = blob_subject(1)"), *still)
    assert ran.code == 1
    assert "no patch was found, so no weights were written\n" in ran.err
    right = "x, _ = blobs(120, seed=1)\nsubject = blob_subject(1, test=(x, classifier(0)(x).argmax(1)))"
    ran = run("repair", write(right, "right.py"), *still)
    assert ran.code == 0
    assert "so no weights were written\n" in ran.err
    assert not path.exists()


FAILURES = (
    FAULTY.replace("subject = blob_subject(1)", "x, y = blobs(900, seed=5)\nsubject = blob_subject(1)")
    + """
wrong = model(x).argmax(1) != y
subject = blob_subject(1, models=model, test=(x[wrong], y[wrong]))
"""
)


def test_failures_alone(run, write, tmp_path):
    path, out = tmp_path / "w.safetensors", tmp_path / "r.json"
    ran = run("repair", write(FAILURES), "--method", "tune(k=4, rate=0.01)", "--save", path, "--json", out)
    assert ran.code == 1
    assert "Cannot tell" in ran.out
    assert "not only failures" in " ".join(ran.out.split())
    assert "use --anyway to write them" in ran.err
    assert not path.exists()
    assert json.loads(out.read_text())["verdict"] == "cannot tell"


def test_quiet(run, write):
    ran = run("repair", write(FAULTY), *QUICK, "-q")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--method", "arachne"], "one of search, scale, tune"),
        (["--method", "search,tune"], "one of search, scale, tune"),
        (["--target", "cats"], "two classes"),
        (["--layers", "conv9"], "It has: 0, 2"),
        (["--save", "weights.pt"], ".safetensors"),
        (["--save", "a.safetensors", "--patch", "a.safetensors"], "another file than that of --save"),
        (["--inputs", "nowhere.npz"], "mutiny: --inputs=nowhere.npz: expected an existing file"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("repair", write(FAULTY), *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
