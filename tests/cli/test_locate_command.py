"""``mutiny locate`` and ``mutiny measures`` as a user sees them."""

import json

import numpy as np
import pytest

SUBJECT = "subject = blob_subject(1)"


def test_suspects(run, write, tmp_path):
    out = tmp_path / "suspects.json"
    ran = run("locate", write(SUBJECT), "--k", 3, "--json", out, "--by-class")
    assert ran.code == 0, ran.err
    assert "Silencing" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert len(told["suspects"]) == 3
    assert told["suspects"][0]["layer"] in ran.out


def test_synthesised_inputs(run, write, tmp_path):
    path = tmp_path / "new.npz"
    ran = run("locate", write(SUBJECT), "--k", 2, "--synthesize", 20, "--save", path)
    assert ran.code == 0, ran.err
    assert "Synthesised" in ran.out
    assert path.exists()


def test_normalised_gradients_move_more(run, write, tmp_path):
    far = {}
    for option in ("--seed", "--rms"):
        path = tmp_path / "new.npz"
        run(
            "locate",
            write(SUBJECT),
            "-q",
            "--synthesize",
            20,
            option,
            *([0] if option == "--seed" else []),
            "--save",
            path,
        )
        far[option] = np.load(path)["l2"].mean()
    assert far["--rms"] != far["--seed"]


def test_quiet(run, write):
    ran = run(
        "locate", write(SUBJECT), "-q", "--measure", "dstar(power=2)", "--active", "quantile(share=0.5)", "--silent"
    )
    assert (ran.code, ran.out) == (0, "")


def test_measures(run):
    ran = run("measures")
    assert ran.code == 0
    assert "ochiai" in ran.out
    ran = run("measures", "dstar")
    assert "power" in ran.out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--measure", "tarantela"], "Did you mean tarantula"),
        (["--active", "often"], "one of above"),
        (["--layers", "conv9"], "a layer or module"),
        (["--label", "7"], "label=7"),
        (["--k", "0"], "k=0"),
        (["--inputs", "nowhere.npz"], "an existing file"),
        (["--json", "no/such/folder.json"], "--json"),
        (["--save", "new.npz"], "Add --synthesize"),
        (["--synthesize", "10", "--grid", "grid.gif"], ".png, .svg, .pdf"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("locate", write(SUBJECT), *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
    assert "Traceback" not in ran.err
