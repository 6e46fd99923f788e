"""Layer addition (LA)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.core.errors import BadInput
from mutiny.faults.base import Edits, Operator
from mutiny.faults.layers.sites import any_site, pick
from mutiny.models import ModelView, ModuleEdit
from mutiny.models.structure import ADDED


@dataclass(frozen=True)
class LayerAddition(Operator):
    """Inserts a random activation function after a random layer that is not the last. DeepMutation++.

    Works inside any module tree. ``linear``, which DeepMutation++ may draw, changes nothing and is never drawn here.

    Args:
        layer: Path of the module after which to insert; drawn for each instance by default.
        activation: Activation to insert (tanh, softmax, elu, selu, softplus, softsign, relu, sigmoid, hard_sigmoid or
            linear); drawn for each instance by default.
    """

    code: ClassVar[str] = "LA"
    title: ClassVar[str] = "layer addition"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    family: ClassVar[str] = "layers"
    layer: str | None = None
    activation: str | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.activation is not None and self.activation not in ADDED:
            raise BadInput("LA activation", repr(self.activation), f"one of {', '.join(ADDED)}")

    def choices(self, view: ModelView) -> int:
        """One per place and activation."""
        return (1 if self.layer else len(any_site(view))) * (1 if self.activation else len(ADDED) - 1)

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """One module followed by an activation."""
        site = pick(any_site(view), self.layer, rng)
        drawn = str(rng.choice([name for name in ADDED if name != "linear"]))
        yield ModuleEdit(site.path, "follow", self.activation or drawn)
