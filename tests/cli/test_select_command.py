"""``mutiny select`` and ``mutiny methods`` as a user sees them."""

import json

import numpy as np
import pytest
from PIL import Image

SUBJECT = "subject = blob_subject(1)"


def test_a_ranking(run, write, tmp_path):
    path, out = tmp_path / "label.txt", tmp_path / "all.json"
    ran = run("select", write(SUBJECT), "--budget", 7, "--indices", path, "--json", out, "--pool", "test")
    assert ran.code == 0, ran.err
    assert "Label first" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    indices = [int(line) for line in path.read_text().split()]
    told = json.loads(out.read_text())
    assert len(indices) == 7
    assert told["order"][:7] == indices
    assert told["method"] == "deepgini"


def test_a_folder_of_images_is_a_pool_whose_files_are_named(run, write, tmp_path):
    rng = np.random.default_rng(0)
    (tmp_path / "pool").mkdir()
    for number in range(9):
        Image.fromarray(rng.integers(0, 255, (8, 8), dtype=np.uint8)).save(tmp_path / "pool" / f"img_{number}.png")
    subject = """
import torch
from torch import nn
torch.manual_seed(0)
x, y = torch.rand(20, 1, 8, 8), torch.arange(20) % 3
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
subject = mutiny.Subject([net], task=mutiny.Classification(3), train=(x, y), test=(x, y))
"""
    path = tmp_path / "label.txt"
    ran = run("select", write(subject), "--pool", tmp_path / "pool", "--budget", 4, "--indices", path)
    assert ran.code == 0, ran.err
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    assert [name for _, name in lines] == [f"img_{index}.png" for index, _ in lines]
    assert lines[0][1] in ran.out


def test_a_picture_of_a_pool_from_a_file(run, write, tmp_path):
    pool, picture = tmp_path / "pool.npz", tmp_path / "curves.png"
    rng = np.random.default_rng(0)
    np.savez(pool, x=rng.normal(size=(40, 2)).astype(np.float32), y=np.arange(40) % 3)
    ran = run("select", write(SUBJECT), "--pool", pool, "--plot", picture)
    assert ran.code == 0, ran.err
    assert picture.stat().st_size > 1000
    np.savez(pool, x=rng.normal(size=(40, 2)).astype(np.float32))
    ran = run("select", write(SUBJECT), "--pool", pool, "--plot", picture)
    assert ran.code == 2
    assert "known labels" in ran.err


def test_a_picture_of_folders_that_are_other_classes_is_refused_at_once(run, write, tmp_path):
    for name in ("cat", "dog"):
        (tmp_path / "pool" / name).mkdir(parents=True)
        for number in range(4):
            Image.fromarray(np.full((8, 8), 20 * number, np.uint8)).save(tmp_path / "pool" / name / f"{number}.png")
    subject = """
import torch
from torch import nn
x, y = torch.rand(20, 1, 8, 8), torch.arange(20) % 3
net = nn.Sequential(nn.Flatten(), nn.Linear(64, 3)).eval()
subject = mutiny.Subject([net], task=mutiny.Classification(3), train=(x, y), test=(x, y))
"""
    ran = run("select", write(subject), "--pool", tmp_path / "pool", "--budget", 2, "--plot", tmp_path / "a.png")
    assert ran.code == 2
    assert "known labels" in ran.err


def test_a_comparison_without_labels(run, write, tmp_path):
    pool = tmp_path / "pool.npy"
    np.save(pool, np.random.default_rng(0).normal(size=(40, 2)).astype(np.float32))
    ran = run("select", write(SUBJECT), "--pool", pool, "--compare", "deepgini,margin,mdsa,mc-dropout")
    assert ran.code == 0, ran.err
    assert "in common" in ran.out
    assert "mc-dropout is left out" in ran.out
    assert "mdsa reads" in ran.out


def test_numbers_are_never_cut_at_80_columns(run, write):
    methods = "nss(identify=blur+shift+rotation),deepgini,dsa(by=coverage)"
    ran = run("select", write(SUBJECT), "--compare", methods, "--repeats", 3)
    assert ran.code == 0, ran.err
    rows = [line for line in ran.out.splitlines() if "%" in line and "█" in line]
    assert len(rows) >= 3
    assert all("…" not in row[row.index("%") :] for row in rows)
    assert max(map(len, ran.out.splitlines())) <= 80


@pytest.mark.parametrize("suffix", ["png", "svg", "pdf"])
def test_a_comparison_with_a_picture(run, write, tmp_path, suffix):
    picture = tmp_path / f"curves.{suffix}"
    methods = "deepgini,mdsa,random,mc-dropout"
    ran = run("select", write(SUBJECT), "--compare", methods, "--budget", "10%", "--plot", picture, "--repeats", 2)
    assert ran.code == 0, ran.err
    assert "mc-dropout is left out" in " ".join(ran.out.split())
    assert "(ideal)" in ran.out
    assert picture.stat().st_size > 1000
    assert max(map(len, ran.out.splitlines())) <= 80


def test_quiet_and_diverse(run, write):
    ran = run("select", write(SUBJECT), "--budget", "3", "--diverse", "-q")
    assert (ran.code, ran.out) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--budget", "200%"], "at most 100%"),
        (["--budget", "lots"], "a percentage"),
        (["--method", "deepginny"], "Did you mean deepgini"),
        (["--method", "mc-dropout"], "no dropout"),
        (["--method", "nss", "--layers", "3x"], "a layer or module"),
        (["--method", "nss", "--compare", "all"], "either --method or --compare"),
        (["--plot", "curves.gif"], ".png, .svg, .pdf"),
        (["--pool", "nowhere.npz"], "an existing file"),
        (["--threads", "0"], "--threads"),
        (["--repeats", "0"], "repeats"),
    ],
)
def test_mistakes(run, write, arguments, message):
    ran = run("select", write(SUBJECT), *arguments)
    assert ran.code == 2, ran.out
    assert message in ran.err
    assert "Traceback" not in ran.err


def test_a_pool_from_a_file_without_faults_or_with_nan(run, write, tmp_path):
    good, bad = tmp_path / "good.npz", tmp_path / "bad.npz"
    np.savez(good, x=np.zeros((5, 2), np.float32), y=np.zeros(5, int))
    np.savez(bad, x=np.full((5, 2), np.nan, np.float32), y=np.zeros(5, int))
    assert run("select", write(SUBJECT), "--pool", good, "--budget", 2).code == 0
    ran = run("select", write(SUBJECT), "--pool", bad)
    assert ran.code == 2
    assert "NaN" in ran.err


def test_methods_are_listed_and_explained(run):
    ran = run("methods")
    assert ran.code == 0
    assert "deepgini" in ran.out
    assert max(map(len, ran.out.splitlines())) <= 80
    told = run("methods", "nss(share=0.2)")
    assert "authors-code" in told.out
    assert run("methods", "nsss").code == 2
