import functools
import importlib.util
import json
import os
import signal
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import nn

from mutiny.core.errors import BadInput, Interrupted, MutinyWarning
from mutiny.core.interrupts import interruptible
from mutiny.core.random import seed_for
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, default_folder, fingerprint, train_originals

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
DATA = as_data((X, Y), "train")
TASK = Classification(2)


class Tied(nn.Module):
    """Two layers with one weight, and a buffer that training changes."""

    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 4)
        self.norm = nn.BatchNorm1d(4)
        self.second = nn.Linear(4, 4)
        self.second.weight = self.first.weight
        self.head = nn.Linear(4, 2)

    def forward(self, x):
        return self.head(self.second(self.norm(self.first(x))))


RECIPE = Recipe(Tied, epochs=2, batch_size=8)


def originals(folder, count=2, recipe=RECIPE, seed=0, **more):
    trained = []
    models = train_originals(
        recipe, DATA, TASK, count, seed, folder=folder, progress=lambda *at: trained.append(at), **more
    )
    return models, trained


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def was_trained(progress, count):
    """Training reports every epoch, reuse only the last one of each original."""
    return len(progress) == count * RECIPE.epochs


def test_originals_are_trained_once_and_come_back_the_same(tmp_path):
    models, progress = originals(tmp_path)
    assert progress == [(1, 4), (2, 4), (3, 4), (4, 4)]
    again, progress = originals(tmp_path, count=3)
    assert progress == [(2, 6), (4, 6), (5, 6), (6, 6)]
    assert all(equal(a, b) for a, b in zip(models, again, strict=False))
    assert not equal(again[0], again[1])
    for number, model in enumerate(again):
        assert equal(model, RECIPE.train(DATA, TASK, seed_for(0, "original", number)))
        assert not model.training
        assert model.second.weight is model.first.weight
        assert model.norm.num_batches_tracked > 0
    assert [path.suffix for path in tmp_path.iterdir()] == [".safetensors"] * 3


def test_an_interrupt_ends_training_after_the_original_under_way(tmp_path):
    def pressed(done, total):
        if done == 1:
            os.kill(os.getpid(), signal.SIGINT)

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        with interruptible(lambda: None), pytest.raises(Interrupted, match="before original 2 of 3"):
            train_originals(RECIPE, DATA, TASK, 3, 0, folder=tmp_path, progress=pressed)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    assert len([*tmp_path.iterdir()]) == 1


def test_the_file_tells_how_it_was_made(tmp_path):
    originals(tmp_path, count=1)
    expected = fingerprint(RECIPE, DATA, TASK, seed_for(0, "original", 0))
    with safe_open(tmp_path / f"{expected}.safetensors", framework="pt") as file:
        metadata = file.metadata()
    assert metadata["fingerprint"] == expected
    settings = json.loads(metadata["settings"])
    assert settings["recipe"]["epochs"] == 2
    assert settings["data"] == DATA.fingerprint()


@pytest.mark.parametrize("damage", ["truncated", "flipped", "text", "foreign", "other shapes", "no metadata"])
def test_damaged_and_foreign_files_are_replaced(tmp_path, damage):
    (model,), _ = originals(tmp_path, count=1)
    (path,) = tmp_path.iterdir()
    content = bytearray(path.read_bytes())
    with safe_open(path, framework="pt") as file:
        metadata = file.metadata()
    if damage == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif damage == "flipped":
        content[-3] ^= 1
        path.write_bytes(content)
    elif damage == "text":
        path.write_text("hello")
    elif damage == "foreign":
        save_file({"a": torch.zeros(1)}, path, {"fingerprint": "another"})
    elif damage == "other shapes":
        save_file({"head.weight": torch.zeros(9, 9)}, path, metadata)
    else:
        save_file({"a": torch.zeros(1)}, path)
    with pytest.warns(MutinyWarning, match="was trained again"):
        (again,), progress = originals(tmp_path, count=1)
    assert was_trained(progress, 1)
    assert equal(again, model)
    assert not was_trained(originals(tmp_path, count=1)[1], 1)


def build_wide(width):
    return nn.Sequential(nn.Linear(4, width), nn.Linear(width, 2))


def make_smoothed(amount):
    return lambda outputs, targets: nn.functional.cross_entropy(outputs, targets, label_smoothing=amount)


def test_the_fingerprint_changes_with_all_that_decides_the_result():
    other = as_data((X + 1, Y), "train")
    prints = [
        fingerprint(RECIPE, DATA, TASK, 0),
        fingerprint(RECIPE, DATA, TASK, 1),
        fingerprint(RECIPE, other, TASK, 0),
        fingerprint(RECIPE, DATA, Classification(2, "logits"), 0),
        fingerprint(RECIPE, DATA, TASK, 0, forward=lambda model, x: model(x * 2)),
        *(
            fingerprint(replace(RECIPE, **change), DATA, TASK, 0)
            for change in (
                {"epochs": 3},
                {"batch_size": 9},
                {"learning_rate": 0.1},
                {"optimizer": "sgd"},
                {"loss": "mse"},
                {"optimizer_settings": {"eps": 1e-7}},
                {"weight_decay": 0.1},
                {"schedule": "cosine"},
                {"build": functools.partial(build_wide, 3)},
                {"build": functools.partial(build_wide, 5)},
                {"loss": make_smoothed(0.1)},
                {"loss": make_smoothed(0.2)},
                {"loss": nn.CrossEntropyLoss()},
                {"loss": nn.CrossEntropyLoss(label_smoothing=0.1)},
            )
        ),
    ]
    assert len(set(prints)) == len(prints)
    assert prints[0] == fingerprint(replace(RECIPE), as_data((X.copy(), Y), "other"), TASK, 0)


def test_changed_code_of_the_network_is_noticed(tmp_path, monkeypatch):
    prints = []
    for number, body in enumerate(["x", "x * 2", "x"]):
        path = tmp_path / str(number) / "net.py"
        path.parent.mkdir()
        path.write_text(
            "from torch import nn\nclass Net(nn.Linear):\n    def forward(self, x):\n"
            f"        return super().forward({body})\n"
        )
        spec = importlib.util.spec_from_file_location("net", path)
        module = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, "net", module)
        spec.loader.exec_module(module)
        prints.append(fingerprint(Recipe(lambda kind=module.Net: kind(4, 2)), DATA, TASK, 0))
    assert prints[0] == prints[2] != prints[1]


def test_global_generator_is_untouched_also_on_reuse(tmp_path):
    before = torch.get_rng_state()
    originals(tmp_path)
    originals(tmp_path)
    assert torch.equal(torch.get_rng_state(), before)


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "own"))
    assert default_folder() == tmp_path / "own" / "originals"
    originals(None, count=1)
    assert len(list((tmp_path / "own" / "originals").iterdir())) == 1
    monkeypatch.delenv("MUTINY_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_folder() == tmp_path / "xdg" / "mutiny" / "originals"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert default_folder() == tmp_path / ".cache" / "mutiny" / "originals"


@pytest.mark.parametrize("error", [OSError("disk full"), SafetensorError("I/O error: disk full")], ids=repr)
def test_a_failed_write_is_told_and_leaves_nothing_behind(tmp_path, monkeypatch, error):
    def fail(*_):
        raise error

    monkeypatch.setattr("mutiny.subjects.training.originals.save_model", fail)
    with pytest.raises(BadInput, match=r"folder=.*expected a folder that can be written to.*disk full"):
        originals(tmp_path, count=1)
    assert list(tmp_path.iterdir()) == []


def test_bad_count_and_folder(tmp_path):
    for count in (0, 1.5, True):
        with pytest.raises(BadInput, match=f"count={count}: expected a whole number of at least 1"):
            originals(tmp_path, count=count)
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="MUTINY_CACHE"):
        originals(tmp_path / "file" / "below")
