"""Originals that come with the package."""

from dataclasses import replace

import pytest
import torch

from mutiny.core.random import seed_for
from mutiny.models import default_forward
from mutiny.subjects.builtin import digits
from mutiny.subjects.training.originals import SHIPPED, Stored, shipped_settings, stored_original
from mutiny.verbs.assess.reference import with_folds


@pytest.fixture(scope="module")
def subject():
    return with_folds(digits())


def original(subject, number, tmp_path, recipe=None, forward=default_forward):
    seed = seed_for(0, "original", number)
    data = subject.training.of(number)
    return stored_original(recipe or subject.recipe, data, subject.task, seed, tmp_path, forward, "cpu"), seed


def test_ten_originals_of_digits_come_with_the_package(subject, tmp_path):
    for number in range(10):
        stored, seed = original(subject, number, tmp_path)
        assert stored.folder == SHIPPED
        model = stored.load(subject.recipe, seed, "cpu")
        held_out = subject.training.held_out(number)
        with torch.no_grad():
            right = model(torch.as_tensor(held_out.read(slice(None)))).argmax(1).numpy() == held_out.targets
        assert right.mean() > 0.95
    assert len(list(SHIPPED.iterdir())) == 10
    assert not list(tmp_path.iterdir())


def test_another_number_recipe_or_forward_function_is_trained(subject, tmp_path):
    def forward(model, inputs):
        return model(inputs)

    assert original(subject, 10, tmp_path)[0].folder == tmp_path
    assert original(subject, 0, tmp_path, replace(subject.recipe, epochs=21))[0].folder == tmp_path
    assert original(subject, 0, tmp_path, forward=forward)[0].folder == tmp_path
    assert original(digits(), 0, tmp_path)[0].folder == tmp_path  # without a fold held out


def test_settings_name_the_network_and_nothing_of_the_machine(subject):
    known = shipped_settings(subject.recipe, subject.training.of(0), subject.task, 0)
    assert known["network"] == "DigitsCnn"
    assert {"torch", "threads", "device"}.isdisjoint(known)
    assert shipped_settings(replace(subject.recipe, build=lambda: None), subject.train, subject.task, 0) is None
    settings = replace(subject.recipe, optimizer_settings={"betas": (0.5, 0.9)})
    assert shipped_settings(settings, subject.train, subject.task, 0) is None


def test_a_damaged_file_is_not_used(subject, tmp_path):
    stored, seed = original(subject, 0, tmp_path)
    damaged = bytearray(stored.path.read_bytes())
    damaged[-5] ^= 1
    copy = Stored(tmp_path, stored.settings)
    copy.path.write_bytes(damaged)
    assert copy.load(subject.recipe, seed, "cpu") is None
