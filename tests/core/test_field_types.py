"""Values that fit annotations, and values that do not."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pytest

from mutiny.core.field_types import checks_of, fits
from mutiny.core.records import FaultRecord, KillEvidence, Verdict


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        (1, float),
        (np.float32(1), float),
        (math.inf, float),
        (np.int64(1), int),
        (True, bool),
        (None, None),
        (None, int | None),
        ("a", Literal["a", "b"]),
        (Verdict.KILLED, Verdict),
        (Verdict.KILLED, str),
        ([1, 2], tuple[int, ...]),
        ((1, "a"), tuple[int, str]),
        ({"a": (1,)}, Mapping[str, tuple[int, ...]]),
        ({1}, frozenset[int]),
        (np.zeros(2, np.int32), npt.NDArray[np.int64]),
        (np.zeros(2), npt.NDArray[Any]),
        (object(), Any),
        (5, Callable[[int], int]),
    ],
)
def test_what_fits(value, hint):
    assert fits(value, hint)


@pytest.mark.parametrize(
    ("value", "hint"),
    [
        ("1", float),
        (10**400, float),
        (None, float),
        (1 << 63, int),
        (1.0, int),
        (1, bool),
        (1, str | None),
        ("c", Literal["a", "b"]),
        ("killed", Verdict),
        ("ab", tuple[str, ...]),
        ((1, 2), tuple[int]),
        ((1, None), tuple[int, ...]),
        ({"a": 1}, Mapping[str, str]),
        ({1: "a"}, Mapping[str, str]),
        ([("a", 1)], Mapping[str, int]),
        (np.array(["a"]), npt.NDArray[np.int64]),
        ([1], npt.NDArray[np.int64]),
    ],
)
def test_what_does_not_fit(value, hint):
    assert not fits(value, hint)


def test_annotations_of_records_are_read_with_those_of_their_bases():
    assert not checks_of(KillEvidence)["killed"]("yes")
    assert checks_of(FaultRecord)["hits"](None)
    assert not checks_of(FaultRecord)["seed"](None)
