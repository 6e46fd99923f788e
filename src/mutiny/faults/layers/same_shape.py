"""Base class of the operators on one layer whose output has the shape of its input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mutiny.faults.base import Edits, Operator
from mutiny.faults.layers.sites import pick, same_shape_sites
from mutiny.models import ModelView, ModuleEdit
from mutiny.models.structure import Change


@dataclass(frozen=True)
class SameShapeLayer(Operator):
    """Removes or duplicates one layer whose output has the shape of its input, as ``change`` says."""

    family: ClassVar[str] = "layers"
    change: ClassVar[Change]
    layer: str | None = None
    inactive: bool = False

    def choices(self, view: ModelView) -> int:
        """One per candidate."""
        return 1 if self.layer else len(same_shape_sites(view, self.inactive))

    def edits(self, view: ModelView, rng: np.random.Generator) -> Edits:
        """One module changed."""
        site = pick(same_shape_sites(view, self.inactive), self.layer, rng)
        yield ModuleEdit(site.path, self.change)
