"""The subjects of the studies: two on real data, and three synthetic stand-ins for the other subjects of MUFF."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import mutiny
from studies.subjects.eyes import eyes
from studies.subjects.roads import roads
from studies.subjects.speakers import speakers

SUBJECTS: dict[str, Callable[[Path | None], mutiny.Subject]] = {
    "mnist": partial(mutiny.load_subject, "mnist"),
    "fashion-mnist": partial(mutiny.load_subject, "fashion-mnist"),
    "speakers": speakers,
    "eyes": eyes,
    "roads": roads,
}
"""By name, each a function of the data folder; only the first two need it."""
