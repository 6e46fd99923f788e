"""Changes of a newly built network, part of a recipe: so trained networks can be built again and loaded."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class NetworkChange(ABC):
    """One change. Its fields say all about it, so that a store can tell two apart."""

    @abstractmethod
    def apply(self, model: nn.Module) -> nn.Module:
        """The changed network: the given one, changed in place, or a new one around it. The caller seeds."""
