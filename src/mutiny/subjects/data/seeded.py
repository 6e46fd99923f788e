"""Seeding and restoring of global generators, for code that draws from them (transforms, weight initialization)."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch

from mutiny.core.claims import exclusive


def reseed(seed: int) -> None:
    """Seeds the generators that :func:`seeded` restores; only for use inside it."""
    torch.default_generator.manual_seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  code of users draws from the global generator
    random.seed(seed)


@contextmanager
def seeded(seed: int, device: torch.device | str = "cpu") -> Iterator[None]:
    """Inside, the global generators of torch, numpy and Python start from ``seed``; afterwards they are as before.

    One thread at a time is inside; others wait, so that none draws from the numbers of another one.

    >>> before = torch.random.get_rng_state()
    >>> with seeded(7):
    ...     first = torch.rand(2)
    >>> with seeded(7):
    ...     print(torch.equal(torch.rand(2), first))
    True
    >>> torch.equal(torch.random.get_rng_state(), before)
    True
    """
    device = torch.device(device)
    module = getattr(torch, device.type, None) if device.type in ("cuda", "xpu") else None
    devices = [] if module is None else [device.index if device.index is not None else module.current_device()]
    with exclusive("random generators"):
        numpy_state, python_state = np.random.get_state(), random.getstate()  # noqa: NPY002
        with torch.random.fork_rng(devices, device_type=device.type if devices else "cuda"):
            try:
                reseed(seed)
                if module is not None:
                    with module.device(devices[0]):
                        module.manual_seed(seed)
                yield
            finally:
                np.random.set_state(numpy_state)  # noqa: NPY002
                random.setstate(python_state)
