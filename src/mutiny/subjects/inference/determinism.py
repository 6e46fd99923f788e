"""Does a model answer the same when it is asked again, and stay as it is?"""

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
"""Inputs on which the model must repeat itself."""
UNSTEADY = "The model answers differently when it is asked twice (dropout or noise in its forward pass?)"
"""What is said of one that does not, up to the full stop."""


def repeats(model: nn.Module, data: Data, forward: Forward) -> bool:
    """Whether the model gives the same answer to the same inputs."""
    inputs = placement(model).put(data.first(INPUTS))
    with torch.inference_mode():
        once, again = (first_call(forward, model, inputs, "model") for _ in range(2))
    return once.shape == again.shape and torch.allclose(once, again, rtol=1e-3, atol=1e-5, equal_nan=True)


def check_constant(model: nn.Module, before: ModelState, name: str = "model") -> None:
    """An error if the model changed since ``before``, when nothing was done but to ask it."""
    changed = before.difference(ModelState.of(model))
    if changed is not None:
        raise BadInput(
            name, f"one whose forward pass writes to {changed}", "a model that stays as it is when it is asked",
            "Let it do so in training mode only.",
        )  # fmt: skip


def check_all_constant(models: Sequence[nn.Module], before: Sequence[ModelState]) -> None:
    """`check_constant` for several originals, by their place."""
    for number, (model, state) in enumerate(zip(models, before, strict=True)):
        check_constant(model, state, f"models[{number}]")
