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
    assert "Not repaired" in ran.out
    assert "no weights were written" in ran.err
    assert not path.exists()


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
        (["--save", "a.safetensors", "--patch", "a.safetensors"], "a file for each"),
        (["--inputs", "nowhere.npz"], "an existing file"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("repair", write(FAULTY), *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
