"""Ten tests of the kinds people write for a network: one is useless, and one depends on luck.

pytest --mutiny digits --mutiny-matrix benchmarks/ten_tests.py
"""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import mutiny

GOLDEN = 12
"""Images whose answers are written down."""


@pytest.fixture(scope="module")
def images(mutiny_subject: mutiny.Subject) -> tuple[Tensor, Tensor]:
    data = mutiny_subject.test
    return torch.as_tensor(data.first(len(data))), torch.as_tensor(np.asarray(data.targets))


@pytest.fixture(scope="module")
def answers(mutiny_model: nn.Module, images: tuple[Tensor, Tensor]) -> Tensor:
    with torch.no_grad():
        return mutiny_model(images[0])


def test_accuracy(answers: Tensor, images: tuple[Tensor, Tensor]) -> None:
    assert (answers.argmax(1) == images[1]).float().mean() >= 0.97


@pytest.mark.parametrize("digit", [3, 8])
def test_recall_of_a_class(answers: Tensor, images: tuple[Tensor, Tensor], digit: int) -> None:
    of_class = images[1] == digit
    assert (answers[of_class].argmax(1) == digit).float().mean() >= 0.9


def test_golden_examples(answers: Tensor, images: tuple[Tensor, Tensor]) -> None:
    assert answers[:GOLDEN].argmax(1).tolist() == images[1][:GOLDEN].tolist()


def test_answers_do_not_depend_on_a_little_noise(mutiny_model: nn.Module, images: tuple[Tensor, Tensor]) -> None:
    noise = 0.02 * torch.randn(images[0].shape, generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        same = mutiny_model(images[0] + noise).argmax(1) == mutiny_model(images[0]).argmax(1)
    assert same.float().mean() >= 0.98


def test_less_contrast_means_less_confidence(mutiny_model: nn.Module, images: tuple[Tensor, Tensor]) -> None:
    with torch.no_grad():
        sure, unsure = (mutiny_model(images[0] * factor).softmax(1).amax(1).mean() for factor in (1.0, 0.3))
    assert unsure < sure - 0.1


def test_shape(mutiny_model: nn.Module) -> None:
    with torch.no_grad():
        assert mutiny_model(torch.zeros(5, 1, 8, 8)).shape == (5, 10)


def test_the_same_answer_twice(mutiny_model: nn.Module, images: tuple[Tensor, Tensor]) -> None:
    with torch.no_grad():
        assert torch.equal(mutiny_model(images[0][:50]), mutiny_model(images[0][:50]))


def test_calibration(answers: Tensor, images: tuple[Tensor, Tensor]) -> None:
    confidence, said = answers.softmax(1).max(1)
    assert abs(confidence.mean() - (said == images[1]).float().mean()) <= 0.02


def test_useless(mutiny_model: nn.Module) -> None:
    assert isinstance(mutiny_model, nn.Module)


def test_flaky() -> None:
    assert random.random() < 0.5
