"""One member of an ensemble: a copy with a mutant's weights, and what else has to be done while it runs."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import NamedTuple, Self

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.models import Forward, Patch
from mutiny.models.patch import Edit, SignalEdit, WeightEdit

SAME = 1e-9
"""Outputs in double precision may differ by this share of the largest."""


class Member(NamedTuple):
    """A model, and the patch that is applied while it is called."""

    model: nn.Module
    patch: Patch

    @classmethod
    def of(cls, model: nn.Module, patch: Patch) -> Self:
        """Weights go into a copy; the rest is applied at every call."""
        weights = tuple(edit for edit in patch.edits if isinstance(edit, WeightEdit))
        rest = Patch(tuple(edit for edit in patch.edits if not isinstance(edit, WeightEdit)), patch.first_layer)
        return cls(with_weights(model, Patch(weights)) if weights else model, rest)

    def in_weights(self, forward: Forward, inputs: Tensor) -> nn.Module | None:
        """The same member with everything in its weights; none if there is no such model.

        Neurons that nobody hears are neurons that say 0 where everything between them and those who listen leaves 0 as
        it is: ReLU does, batch normalization does not. It is tried out.
        """
        if not self.patch.edits:
            return self.model
        if not all(isinstance(edit, SignalEdit) and not edit.factor for edit in self.patch.edits):
            return None
        quiet = with_weights(self.model, Patch(tuple(_silence(self.patch.edits))))
        try:
            with self.patch.applied(copy.deepcopy(self.model).double(), forward) as call, torch.no_grad():
                wanted = call(inputs.to(torch.double, copy=True))
                found = forward(copy.deepcopy(quiet).double(), inputs.to(torch.double, copy=True))
        except Exception:  # a model or a device that has no double precision
            return None
        return quiet if same(found, wanted) else None


def same(found: Tensor, wanted: Tensor) -> bool:
    """Whether outputs in double precision are equal but for rounding."""
    return found.shape == wanted.shape and bool((found - wanted).abs().max() <= SAME * wanted.abs().max())


def _silence(edits: tuple[Edit, ...]) -> Iterator[WeightEdit]:
    for edit in edits:
        assert isinstance(edit, SignalEdit)
        for weight in (*edit.layer.weights, *edit.layer.biases):
            indices = np.unique(weight.of(edit.units))
            yield WeightEdit(weight.parameter, indices, torch.zeros(len(indices)))


def with_weights(model: nn.Module, patch: Patch) -> nn.Module:
    """A copy with a patch of weights in it, which shares all weights and buffers that the patch leaves alone."""
    touched = {edit.parameter for edit in patch.edits if isinstance(edit, WeightEdit)}
    every = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    changing = {id(tensor) for name, tensor in every if name in touched}
    twin = copy.deepcopy(model, {id(tensor): tensor for _, tensor in every if id(tensor) not in changing})
    weights = dict(twin.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for edit in patch.edits:
            assert isinstance(edit, WeightEdit)
            tensor = weights[edit.parameter].data
            tensor.put_(torch.from_numpy(edit.indices).to(tensor.device), edit.values.to(tensor))
    return twin
