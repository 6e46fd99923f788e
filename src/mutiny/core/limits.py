"""Limits on what a file may take in memory.

Files are not trusted: a few bytes of a compressed file can stand for gigabytes, and a few bytes of a header can claim
any size. Every reader compares sizes with these limits before it takes memory.

By default, a file may take `FLOOR` bytes or `RATIO` times its size, whichever is more, but never more than the machine
has. ``MUTINY_LIMIT`` in the environment, or ``--limit`` on the command line, replaces all of that by one number.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from mutiny.core.errors import BadInput

VARIABLE = "MUTINY_LIMIT"
"""Environment variable with the most memory that one file may take, such as ``64GB``."""
FLOOR = 1 << 30
"""Bytes that any file may take."""
RATIO = 200
"""Times its size on disk that a larger file may take; real data rarely shrinks by more, a bomb shrinks by 1,000."""
NESTING = 100
"""Levels of nesting in JSON; results have less than 20."""
UNITS = " KMGT"
SIZE = re.compile(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([KMGT]?)(I?)B?\s*", re.IGNORECASE | re.ASCII)


def allowed(on_disk: int) -> int:
    """Most bytes that a file may take in memory.

    Args:
        on_disk: Size of the file, or of the part of it that is read.
    """
    chosen = os.environ.get(VARIABLE)
    return parsed_size(chosen, VARIABLE) if chosen else min(max(FLOOR, RATIO * on_disk), machine_memory())


class Allowance:
    """What is left of the memory that one file may take.

    Args:
        argument: Name of the argument that names the file, for messages.
        file: The file, for messages.
        on_disk: Size of the file, or of the part of it that is read.
        kind: Class of the error.

    >>> Allowance("pool", "x.npz", 100).take(1 << 62)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: pool=x.npz: expected a file that takes at most ... in memory, not 4.6EB. ...
    """

    def __init__(self, argument: str, file: object, on_disk: int, kind: type[BadInput] = BadInput) -> None:
        self.argument, self.file, self.kind = argument, file, kind
        self.most = self.left = allowed(on_disk)

    def take(self, size: int) -> None:
        """Takes a number of bytes, or raises an error if it is more than what is left."""
        if size > self.left:
            raise self.exceeded(self.most - self.left + size)
        self.left -= size

    def exceeded(self, size: int | None = None) -> BadInput:
        """The error for a file that takes ``size`` bytes; ``None`` if nobody knows before they are there."""
        enough = shown_size(4 * self.most if size is None else 1.05 * size)
        taken = "but it takes more" if size is None else f"not {shown_size(size)}"
        return self.kind(
            self.argument,
            self.file,
            f"a file that takes at most {shown_size(self.most)} in memory, {taken}",
            f"If it should be that large, allow it: --limit {enough}, or {VARIABLE}={enough} in the environment.",
        )


@contextmanager
def limited(size: str | None) -> Iterator[None]:
    """Context in which files may take ``size``, such as ``64GB``, also in processes that are started in it.

    Args:
        size: Value of ``--limit``; ``None`` changes nothing.
    """
    before = os.environ.get(VARIABLE)
    if size is not None:
        parsed_size(size, VARIABLE if size == before else "--limit")  # typer reads the option from there, too
        os.environ[VARIABLE] = size
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = before


def parsed_size(text: str, argument: str) -> int:
    """Number of bytes in a text.

    >>> parsed_size("64GB", "--limit"), parsed_size("1.5 GiB", "--limit"), parsed_size("4096", "--limit")
    (64000000000, 1610612736, 4096)
    """
    match = SIZE.fullmatch(text)
    if match is None or (match[3] and not match[2]) or not float(match[1]):
        raise BadInput(argument, repr(text[:60]), "a size such as 500MB or 64GB")
    number, unit, binary = match.groups()
    return int(float(number) * (1024 if binary else 1000) ** UNITS.index(unit.upper() or " "))


def shown_size(size: float) -> str:
    """A number of bytes for people.

    >>> shown_size(1000), shown_size(1 << 30), shown_size(6e9), shown_size(10**30)
    ('1.0kB', '1.1GB', '6.0GB', '1000000000000.0EB')
    """
    for unit in ("B", "kB", "MB", "GB", "TB", "PB"):
        if size < 1000:
            return f"{size:.0f}B" if unit == "B" else f"{size:.1f}{unit}"
        size /= 1000
    return f"{size:.1f}EB"


@cache
def machine_memory() -> int:
    """Bytes of memory of this machine, container or process, whichever is least; very large if unknown."""
    sizes = [sys.maxsize]
    with suppress(AttributeError, OSError, ValueError):  # Windows has no such call
        sizes.append(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # no container, or "max"
            sizes.append(int(Path("/sys/fs/cgroup", name).read_text(encoding="ascii")))
    return min(size for size in sizes if size > 0)
