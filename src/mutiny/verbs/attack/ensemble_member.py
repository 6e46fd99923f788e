"""One member of an ensemble: a copy with the weights of a mutant, and edits to apply while it runs."""

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
"""Largest difference of outputs in double precision, as a share of the largest output."""


class Member(NamedTuple):
    """A model, and the patch that is applied while it is called."""

    model: nn.Module
    patch: Patch

    @classmethod
    def of(cls, model: nn.Module, patch: Patch) -> Self:
        """Writes edits of weights into a copy; other edits are applied at every call."""
        weights = tuple(edit for edit in patch.edits if isinstance(edit, WeightEdit))
        rest = Patch(tuple(edit for edit in patch.edits if not isinstance(edit, WeightEdit)), patch.first_layer)
        return cls(with_weights(model, Patch(weights)) if weights else model, rest)

    def in_weights(self, forward: Forward, inputs: Tensor) -> nn.Module | None:
        """Returns a model with the whole patch in its weights; none if there is no such model.

        Blocking a neuron's output equals zeroing the neuron if the layers between preserve zero: ReLU does, batch
        normalization does not. Outputs on ``inputs`` are compared to find out.
        """
        if not self.patch.edits:
            return self.model
        if not all(isinstance(edit, SignalEdit) and not edit.factor for edit in self.patch.edits):
            return None
        zeroed = with_weights(self.model, Patch(tuple(_zeroing(self.patch.edits))))
        try:
            with self.patch.applied(copy.deepcopy(self.model).double(), forward) as call, torch.no_grad():
                expected = call(inputs.to(torch.double, copy=True))
                outputs = forward(copy.deepcopy(zeroed).double(), inputs.to(torch.double, copy=True))
        except Exception:  # the model or the device does not support double precision
            return None
        return zeroed if same(outputs, expected) else None


def same(outputs: Tensor, expected: Tensor) -> bool:
    """Whether outputs in double precision are equal up to rounding."""
    if outputs.shape != expected.shape:
        return False
    return bool((outputs - expected).abs().max() <= SAME * expected.abs().max())


def _zeroing(edits: tuple[Edit, ...]) -> Iterator[WeightEdit]:
    for edit in edits:
        assert isinstance(edit, SignalEdit)
        for weight in (*edit.layer.weights, *edit.layer.biases):
            indices = np.unique(weight.of(edit.units))
            yield WeightEdit(weight.parameter, indices, torch.zeros(len(indices)))


def with_weights(model: nn.Module, patch: Patch) -> nn.Module:
    """Returns a copy with a patch of weights applied; it shares all other weights and buffers with the model."""
    touched = {edit.parameter for edit in patch.edits if isinstance(edit, WeightEdit)}
    tensors = [*model.named_parameters(remove_duplicate=False), *model.named_buffers(remove_duplicate=False)]
    changing = {id(tensor) for name, tensor in tensors if name in touched}
    shared = {id(tensor): tensor for _, tensor in tensors if id(tensor) not in changing}
    twin = copy.deepcopy(model, shared)  # what stands in the memo of deepcopy is taken as it is, not copied
    weights = dict(twin.named_parameters(remove_duplicate=False))
    with torch.no_grad():
        for edit in patch.edits:
            assert isinstance(edit, WeightEdit)
            tensor = weights[edit.parameter].data
            tensor.put_(torch.from_numpy(edit.indices).to(tensor.device), edit.values.to(tensor))
    return twin
