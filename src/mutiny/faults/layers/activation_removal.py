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

    Each call of an activation in the forward pass counts, by a module or a function, so a ReLU module that is called
    twice counts twice. The activation of the output is never removed.

    Args:
        activation: Name of the call, such as ``"relu1:relu#0"``; drawn for each instance by default.
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
        """One activation call that returns its input."""
        calls = _removable(view)
        drawn = calls[int(rng.integers(len(calls)))]
        if self.activation is not None:
            named = [call for call in calls if call.name == self.activation]
            if not named:
                names = ", ".join(call.name for call in calls)
                raise BadInput("AFR activation", repr(self.activation), f"one of {names}")
            drawn = named[0]
        yield ActivationEdit(drawn.ordinal)


def _removable(view: ModelView) -> list[Activation]:
    calls = [call for call in view.activations if not call.output]
    if not calls:
        raise NotApplicable("the forward pass calls no activation function before its output")
    return calls
