"""Layer duplication (LD)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.models import ModelView, ModuleEdit
from mutiny.operators.base import Edits, Operator
from mutiny.operators.sites import pick, same_shape_sites


@dataclass(frozen=True)
class LayerDuplication(Operator):
    """Runs a random layer twice in a row, with the same weights. DeepMutation++.

    Candidates are those of layer removal: shape kept, neither first nor last, active at inference.

    Args:
        layer: path of the module to duplicate; drawn for each instance if not given.
        inactive: whether dropout and identity modules may be duplicated too, which changes nothing.
    """

    code: ClassVar[str] = "LD"
    title: ClassVar[str] = "layer duplication"
    source: ClassVar[str] = "DeepMutation++; MUFF, Table I"
    layer: str | None = None
    inactive: bool = False

    def choices(self, view: ModelView) -> int:
        """One per candidate."""
        return 1 if self.layer else len(same_shape_sites(view, self.inactive))

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """One module run twice."""
        site = pick(same_shape_sites(view, self.inactive), self.layer, rng)
        yield ModuleEdit(site.path, "duplicate")
