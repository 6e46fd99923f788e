"""The contract suite notices operators that break their promises."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest
import torch

from mutiny.core.errors import NotApplicable
from mutiny.faults import Operator
from mutiny.models import WeightEdit
from mutiny.testing.operators import check_operator
from zoo import make


@dataclass(frozen=True)
class Halving(Operator):
    """A good operator, which the tests spoil."""

    code: ClassVar[str] = "H"
    title: ClassVar[str] = "halving"
    source: ClassVar[str] = "here"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"factor": (0.0, 1.0)}
    factor: float = 0.5

    def edits(self, view, rng):
        yield self.edit(view, rng.integers(48, size=1))

    def edit(self, view, where, offset=0.0):
        return WeightEdit("0.weight", where, view.take("0.weight", where) * (1 - self.factor) + offset)


class ChangesTheModel(Halving):
    def edits(self, view, rng):
        view.model[0].bias.data.add_(1)
        return super().edits(view, rng)


class ForgetsItsSeed(Halving):
    calls: ClassVar[list] = []

    def edits(self, view, rng):
        self.calls.append(0)
        yield self.edit(view, np.array([len(self.calls) % 48]))


class ChoosesByStrength(Halving):
    def edits(self, view, rng):
        yield self.edit(view, np.array([int(self.factor * 40)]))


class ChangesAtZero(Halving):
    def edits(self, view, rng):
        yield self.edit(view, np.arange(48), offset=0.1)


class Explodes(Halving):
    def edits(self, view, rng):
        where = np.array([0])
        yield WeightEdit("0.weight", where, torch.full((1,), float("inf") if self.factor else 0.0))


class DoesNothing(Halving):
    def edits(self, view, rng):
        yield WeightEdit("0.weight", np.array([0]), view.take("0.weight", np.array([0])))


class SaysNothing(Halving):
    def edits(self, view, rng):
        return ()


class GivesNoReason(Halving):
    def edits(self, view, rng):
        raise NotApplicable("")


class Nameless(Operator):
    code: ClassVar[str] = "N"

    def edits(self, view, rng):
        return ()


def test_a_good_operator_passes():
    check_operator(Halving(), *make("mlp"))


@pytest.mark.parametrize(
    ("kind", "sentence"),
    [
        (ChangesTheModel, r"0\.bias of the model is not as before after making a patch"),
        (ForgetsItsSeed, "same seed gives different patches"),
        (ChoosesByStrength, "changes other places than a smaller strength"),
        (ChangesAtZero, "outputs change although factor=0"),
        (Explodes, "not finite|outputs change"),
        (DoesNothing, "change no output"),
        (SaysNothing, "without edits"),
        (GivesNoReason, "without a reason"),
    ],
)
def test_a_bad_operator_fails(kind, sentence):
    with pytest.raises(AssertionError, match=f"H: .*({sentence})"):
        check_operator(kind(), *make("mlp"))


def test_an_operator_without_title_fails():
    with pytest.raises(AssertionError, match="Nameless: the title is missing"):
        check_operator(Nameless(), *make("mlp"))
