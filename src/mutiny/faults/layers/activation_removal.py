"""Activation function removal (AFR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.base import Edits, Operator
from mutiny.models import Activation, ActivationEdit, ModelView


@dataclass(frozen=True)
class ActivationRemoval(Operator):
    """Removes one activation function: its input passes unchanged. DeepMutation (AFR).

    Activations count by call in the forward pass, whether made by a module or a function, so a ReLU module that is used
    twice is two. The activation that shapes the output is never removed.

    Args:
        activation: name of the call, such as ``"relu1:relu#0"``; drawn for each instance if not given.
    """

    code: ClassVar[str] = "AFR"
    title: ClassVar[str] = "activation removal"
    source: ClassVar[str] = "DeepMutation"
    family: ClassVar[str] = "layers"
    activation: str | None = None

    def choices(self, view: ModelView) -> int:
        """One per activation call."""
        return 1 if self.activation else len(_removable(view))

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """One activation call silenced."""
        found = _removable(view)
        drawn = found[int(rng.integers(len(found)))]
        if self.activation is not None:
            named = [call for call in found if call.name == self.activation]
            if not named:
                names = ", ".join(call.name for call in found)
                raise BadInput("AFR activation", repr(self.activation), f"one of {names}")
            drawn = named[0]
        yield ActivationEdit(drawn.ordinal)


def _removable(view: ModelView) -> list[Activation]:
    found = [call for call in view.activations if not call.output]
    if not found:
        raise NotApplicable("the forward pass calls no activation function before its output")
    return found
