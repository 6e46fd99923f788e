"""The states of the global random generators, so that a test draws the same numbers each time it is run."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch


@dataclass(frozen=True)
class RandomState:
    """States of the generators of Python, NumPy and torch on the CPU.

    >>> state = RandomState.now()
    >>> first = random.random()
    >>> state.restore()
    >>> random.random() == first
    True
    """

    python: Any
    numpy: Any
    torch: torch.Tensor

    @classmethod
    def now(cls) -> RandomState:
        """The present states."""
        return cls(random.getstate(), np.random.get_state(), torch.random.get_rng_state())  # noqa: NPY002

    def restore(self) -> None:
        """Sets the generators to these states."""
        random.setstate(self.python)
        np.random.set_state(self.numpy)  # noqa: NPY002
        torch.random.set_rng_state(self.torch)
