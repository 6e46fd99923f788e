"""Whose fault a crash is: mutiny's, or that of the code which it was given."""

from __future__ import annotations

import sysconfig
import traceback
from pathlib import Path

import mutiny

OURS = Path(mutiny.__file__).parent
LIBRARIES = tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")})


def given_code(error: BaseException) -> list[traceback.FrameSummary]:
    """The way of an error through the code that mutiny was given, from where it begins; nothing if it is mutiny's.

    It is mutiny's if mutiny's code is nearest to where it was raised, libraries aside.
    """
    frames = traceback.extract_tb(error.__traceback__)
    owned = [frame for frame in frames if not _library(frame)]
    if not owned or _ours(owned[-1]):
        return []
    first = next(frame for frame in owned if not _ours(frame))
    return list(frames)[frames.index(first) :]


def sentence(error: BaseException, frames: list[traceback.FrameSummary]) -> str:
    """What to tell the user about an error in code that was given."""
    place = [frame for frame in frames if not _library(frame)][-1]
    said = f": {error}" if str(error) else ""
    return f"{Path(place.filename).name}, line {place.lineno}, raised {type(error).__name__}{said}"


def _ours(frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename).is_relative_to(OURS)


def _library(frame: traceback.FrameSummary) -> bool:
    path = Path(frame.filename)
    if frame.filename.startswith("<frozen"):
        return True
    return not _ours(frame) and any(path.is_relative_to(library) for library in LIBRARIES)
