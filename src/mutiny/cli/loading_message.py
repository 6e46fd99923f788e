"""A message on the terminal while PyTorch is imported, which takes seconds."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

MESSAGE = "mutiny: loading PyTorch ..."


@contextmanager
def loading(quiet: bool = False) -> Iterator[None]:
    """Show a message on the terminal until the block ends, unless PyTorch is imported already.

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
