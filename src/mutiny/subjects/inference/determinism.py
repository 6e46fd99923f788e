"""Checks that a model repeats its answers and that its forward pass does not change it."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.models import Forward, ModelState
from mutiny.models.placement import placement
from mutiny.subjects.data import Data
from mutiny.subjects.inference.passes import first_call

INPUTS = 64
"""Number of inputs on which the model must repeat its answers."""
UNSTEADY = "The model gives different answers to the same inputs (dropout or noise in its forward pass?)"
"""Note about a model that does not repeat its answers, without the full stop."""


def repeats(model: nn.Module, data: Data, forward: Forward) -> bool:
    """Whether the model gives the same answers to the same inputs, up to rounding."""
    inputs = placement(model).put(data.first(INPUTS))
    with torch.inference_mode():
        once, again = (first_call(forward, model, inputs, "model") for _ in range(2))
    return once.shape == again.shape and torch.allclose(once, again, rtol=1e-3, atol=1e-5, equal_nan=True)


def check_constant(model: nn.Module, before: ModelState, name: str = "model") -> None:
    """Raises an error if forward passes have changed the model since ``before``."""
    changed = before.difference(ModelState.of(model))
    if changed is not None:
        shown = f"a model whose forward pass writes to {changed}"
        raise BadInput(name, shown, "a model that its forward pass does not change", "Write in training mode only.")


def check_all_constant(models: Sequence[nn.Module], before: Sequence[ModelState]) -> None:
    """Calls `check_constant` for several originals, named by their index."""
    for number, (model, state) in enumerate(zip(models, before, strict=True)):
        check_constant(model, state, f"models[{number}]")
