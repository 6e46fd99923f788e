"""A sign of life while PyTorch is imported."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MESSAGE = "mutiny: loading PyTorch ..."


@contextmanager
def loading(quiet: bool = False) -> Iterator[None]:
    """Show on the terminal that PyTorch is being imported, and clear the line afterwards.

    Args:
        quiet: Whether to show nothing.
    """
    if quiet or "torch" in sys.modules or not sys.stderr.isatty():
        yield
        return
    sys.stderr.write(MESSAGE)
    sys.stderr.flush()
    try:
        yield
    finally:
        sys.stderr.write(f"\r{' ' * len(MESSAGE)}\r")
        sys.stderr.flush()
