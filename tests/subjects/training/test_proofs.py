"""Trained networks on disk are used only with a proof that this user's mutiny wrote them."""

import shutil

import numpy as np
import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from mutiny.campaigns.originals import all_stored
from mutiny.core.errors import MutinyWarning
from mutiny.core.random import seed_for
from mutiny.subjects import Subject
from mutiny.subjects.builtin import digits
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe, train_originals
from mutiny.subjects.training.originals import SHIPPED, Stored, stored_original
from mutiny.verbs.assess.reference import with_folds

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)
DATA, TASK = as_data((X, Y), "train"), Classification(2)


def build():
    return nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Linear(3, 2))


RECIPE = Recipe(build, epochs=1, batch_size=8)


@pytest.fixture(autouse=True)
def key(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTINY_KEY", str(tmp_path / "user" / "key"))
    return tmp_path / "user" / "key"


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "originals"


def originals(folder, count=2):
    return train_originals(RECIPE, DATA, TASK, count, 0, folder=folder)


def equal(a, b):
    return all(torch.equal(x, y) for x, y in zip(a.state_dict().values(), b.state_dict().values(), strict=True))


def content(path):
    with safe_open(path, framework="pt") as file:
        return load_file(path), file.metadata()


def planted(path):
    """Another network with a true fingerprint and checksum, as anybody can write it."""
    stored = stored_original(RECIPE, DATA, TASK, seed_for(0, "original", 0), path.parent, None, "cpu")
    assert stored.path == path
    model = build()
    torch.nn.init.zeros_(model[0].weight)
    stored.save(model)
    weights, metadata = content(path)
    save_file(weights, path, {name: value for name, value in metadata.items() if name != "proof"})


def of_another_original(path):
    """A true file of this user in the place of another."""
    other = next(file for file in path.parent.iterdir() if file != path)
    weights, metadata = content(other)
    save_file(weights, path, {**metadata, "fingerprint": path.stem})


def without_proof(path):
    weights, metadata = content(path)
    save_file(weights, path, {name: value for name, value in metadata.items() if name != "proof"})


def of_another_user(path):
    weights, metadata = content(path)
    save_file(weights, path, {**metadata, "proof": "0" * 64})


def with_other_weights(path):
    """Other weights and their checksum, with the proof of the true ones."""
    _, metadata = content(path)
    proof = metadata["proof"]
    planted(path)
    weights, metadata = content(path)
    save_file(weights, path, {**metadata, "proof": proof})


@pytest.mark.parametrize(
    "change",
    [planted, of_another_original, without_proof, of_another_user, with_other_weights],
    ids=lambda change: change.__name__,
)
def test_a_planted_file_is_trained_again_and_told(folder, change):
    first, second = originals(folder)
    path = stored_original(RECIPE, DATA, TASK, seed_for(0, "original", 0), folder, None, "cpu").path
    change(path)
    with pytest.warns(MutinyWarning, match="A trained network in .* was trained again: a file there was damaged, or"):
        again = originals(folder)
    assert equal(again[0], first)
    assert equal(again[1], second)
    assert equal(originals(folder)[0], first)  # and now it has a proof


def test_files_of_another_key_are_trained_again_once(folder, key):
    models = originals(folder)
    key.unlink()
    with pytest.warns(MutinyWarning, match="2 trained networks in .* were trained again"):
        again = originals(folder)
    assert all(map(equal, again, models))
    originals(folder)


def test_users_who_share_a_key_share_a_folder(folder, key, tmp_path, monkeypatch):
    originals(folder)
    (tmp_path / "other").mkdir(mode=0o700)
    shutil.copy(key, tmp_path / "other" / "key")
    monkeypatch.setenv("MUTINY_KEY", str(tmp_path / "other" / "key"))
    originals(folder)


def test_without_a_key_originals_are_trained_each_time_and_the_reason_is_told(folder, monkeypatch):
    monkeypatch.setenv("MUTINY_KEY", "relative")
    models = originals(folder, 1)
    with pytest.warns(MutinyWarning, match="MUTINY_KEY=relative: expected an absolute path"):
        assert equal(originals(folder, 1)[0], models[0])


def test_a_plan_does_not_count_files_without_proof(folder):
    subject = Subject(recipe=RECIPE, task=TASK, train=(X, Y), test=(X, Y), name="s")
    subject.originals(1, folder=folder)
    assert all_stored(subject, 1, seed=0, folder=folder)
    (path,) = folder.iterdir()
    without_proof(path)
    assert not all_stored(subject, 1, seed=0, folder=folder)


def test_originals_of_the_package_need_no_proof_but_only_there(tmp_path):
    subject = with_folds(digits())
    seed = seed_for(0, "original", 0)
    stored = stored_original(subject.recipe, subject.training.of(0), subject.task, seed, tmp_path, None, "cpu")
    assert stored.folder == SHIPPED
    assert stored.is_own
    copy = Stored(tmp_path, stored.settings)
    shutil.copy(stored.path, copy.path)
    assert not copy.is_own
    assert copy.load(subject.recipe, seed, "cpu") is None
    assert not (tmp_path / "user").exists()


def test_the_header_of_a_planted_file_takes_no_more_memory_than_it_may(folder, monkeypatch):
    originals(folder, 1)
    stored = stored_original(RECIPE, DATA, TASK, seed_for(0, "original", 0), folder, None, "cpu")
    assert stored.is_own
    monkeypatch.setenv("MUTINY_LIMIT", "1kB")
    assert not stored.is_own
