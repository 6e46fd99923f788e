"""Faults of system calls on the files of a campaign, by a small library that is compiled when the case runs."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

SOURCE = Path(__file__).with_name("system_calls.c")
CALLS = ("open", "create", "read", "write", "sync", "truncate", "rename", "unlink", "link", "mkdir", "map")
FAULTS = {
    "EIO": 1,
    "EIO-always": 2,
    "ENOSPC": 3,
    "ENOSPC-always": 4,
    "EINTR": 5,
    "short": 6,
    "torn": 7,
    "death-before": 8,
    "death-after": 9,
    "ENOMEM": 10,
}
"""Numbers of the faults in the library."""
_BOTH, _ENDS = ("EIO", "EIO-always"), ("death-before", "death-after")
_FULL = ("ENOSPC", "ENOSPC-always")
APPLY = {
    "open": (*_BOTH, "EINTR"),
    "create": (*_BOTH, *_FULL, "EINTR", *_ENDS),
    "read": (*_BOTH, "EINTR", "short"),
    "write": (*_BOTH, *_FULL, "EINTR", "short", "torn", *_ENDS),
    "sync": (*_BOTH, "death-before"),
    "truncate": (*_BOTH, *_ENDS),
    "rename": (*_BOTH, *_ENDS),
    "unlink": (*_BOTH, *_ENDS),
    "link": (*_BOTH, *_FULL, *_ENDS),
    "mkdir": (*_BOTH, *_FULL, *_ENDS),
    "map": ("ENOMEM",),
}
"""Faults of each system call."""
HARMLESS = ("EINTR", "short")
"""Faults that a program must not notice."""


def compiled(folder: Path) -> Path | None:
    """The library; ``None`` if there is no compiler, or it cannot compile it."""
    compiler, library = shutil.which("cc"), folder / "system_calls.so"
    if compiler is None:
        return None
    command = [compiler, "-shared", "-fPIC", "-O1", "-o", str(library), str(SOURCE), "-ldl"]
    return library if subprocess.run(command, capture_output=True, check=False).returncode == 0 else None


class SystemCalls:
    """The preloaded library."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.steps_count.restype = ctypes.c_long

    def start(self, folder: str, at: int = 0, fault: str = "") -> None:
        """Counts the calls on paths that contain ``folder`` from now on, and lets one of them fail."""
        self._library.steps_start(os.fsencode(folder), ctypes.c_long(at), FAULTS.get(fault, 0))

    def stop(self) -> list[str]:
        """Ends that; returns the names of the calls."""
        self._library.steps_stop()
        count = self._library.steps_count()
        return [CALLS[self._library.steps_kind(ctypes.c_long(place))] for place in range(1, count + 1)]
