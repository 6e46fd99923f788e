"""Files that are named after a subject."""

from __future__ import annotations

import re
from pathlib import Path


def file_for(subject: str) -> Path:
    """The campaign file in the working folder that is named after a subject.

    >>> file_for("digits"), file_for("models/mine.py:subject"), file_for("mnist/lenet5")
    (PosixPath('digits.mutiny'), PosixPath('mine-subject.mutiny'), PosixPath('mnist-lenet5.mutiny'))
    """
    path, _, name = subject.rpartition(":")
    plain = f"{Path(path).stem}-{name}" if path else name
    return Path(re.sub(r"[^\w.]+", "-", plain).strip("-.") + ".mutiny")
