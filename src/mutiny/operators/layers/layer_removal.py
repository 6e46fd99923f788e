"""Layer removal (LR)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.models import ModelView, ModuleEdit
from mutiny.operators.base import Edits, Operator
from mutiny.operators.sites import pick, same_shape_sites


@dataclass(frozen=True)
class LayerRemoval(Operator):
    """Removes a random layer whose output has the shape of its input, neither first nor last. DeepMutation++.

    Works inside any module tree. Activations have an operator of their own (AFR). Dropout and identity do nothing at
    inference, so removing them makes an equivalent mutant; DeepMutation++ does that on most networks.

    Args:
        layer: path of the module to remove; drawn for each instance if not given.
        inactive: whether dropout and identity modules may be removed too.
    """

    code: ClassVar[str] = "LR"
    title: ClassVar[str] = "layer removal"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    layer: str | None = None
    inactive: bool = False

    def choices(self, view: ModelView) -> int:
        """One per candidate."""
        return 1 if self.layer else len(same_shape_sites(view, self.inactive))

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """One module skipped."""
        site = pick(same_shape_sites(view, self.inactive), self.layer, rng)
        yield ModuleEdit(site.path, "remove")
