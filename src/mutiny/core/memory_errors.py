"""Errors that mean that there is not enough memory."""

from __future__ import annotations

ADVICE = "Use a smaller --batch-size or fewer --workers, or end other programs."
"""What to do on the command line."""


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, of Python or of a torch device.

    Torch has a class for memory of a GPU; for the main memory it raises a plain ``RuntimeError``.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(ValueError())
    (True, False)
    """
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    return type(error).__name__ == "OutOfMemoryError" or "can't allocate memory" in str(error)
