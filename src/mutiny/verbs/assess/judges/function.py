"""A Python function as a judge: a test as people write it, which says whether a network is acceptable."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.subjects.data import Data
from mutiny.subjects.data.seeded import seeded
from mutiny.verbs.assess.judges.answers import NetworkAnswers
from mutiny.verbs.assess.judges.base import Judge, Judgement, shortened

Acceptable = Callable[[Callable[[Any], Tensor], Data], object]
"""``function(predict, test)``: ``True`` if the network behind ``predict`` is acceptable."""
SEED = 0
"""Seed of the global generators at each call, so that a function draws the same numbers for every fault."""


@dataclass(frozen=True)
class FunctionJudge(Judge):
    """Notices a fault if a function says that the network is not acceptable.

    The function is a test as people write it: it returns ``True`` if the network passes, so that a fault is *missed*,
    and ``False`` if it fails, so that the fault is *noticed*. An ``AssertionError`` counts as ``False``; any other
    exception, or another value, makes the judge broken. The fault is in the network while the function runs.

    Args:
        function: ``function(predict, test)``. ``predict(test)`` returns the outputs for the test set, and
            ``predict(inputs)`` those for any other inputs, as tensors on the CPU. ``test.targets`` has the targets and
            ``test.first(5)`` inputs of the test set, see `Data`.
        name: Name in reports; that of the function by default.

    >>> def mostly_right(predict, test):
    ...     return (predict(test).argmax(1).numpy() == test.targets).mean() >= 0.9
    >>> FunctionJudge(mostly_right).label
    'mostly_right'
    """

    code: ClassVar[str] = "function"
    title: ClassVar[str] = "Python function"
    source: ClassVar[str] = "the user's own test"

    function: Acceptable
    name: str = ""

    def __post_init__(self) -> None:
        if not callable(self.function) or isinstance(self.function, type):
            raise BadInput(
                "judge", repr(self.function)[:60], "a function of (predict, test) that returns True or False"
            )
        if not self.name:
            object.__setattr__(self, "name", str(getattr(self.function, "__name__", type(self.function).__name__)))

    @property
    def label(self) -> str:
        """The name of the function."""
        return self.name

    def judge(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """Calls the function with the faulty network."""
        del clean
        acceptable, reason = self._called(faulty)
        return Judgement.of(not acceptable, reason)

    def check(self, clean: NetworkAnswers, name: str) -> None:
        """Raises `BadInput` unless the function accepts the original, twice."""
        said = []
        for _ in range(2):
            try:
                said.append(self._called(clean))
            except Exception as error:
                value = shortened(f"{type(error).__name__}: {error}")
                fix = "Run it on the model itself first."
                raise BadInput(self.name, value, f"a function that runs on {name}", fix) from error
        accepted = [acceptable for acceptable, _ in said]
        if accepted[0] != accepted[1]:
            fix = "Fix its seeds, its order, or what it keeps between calls."
            raise BadInput(self.name, f"True, then False for {name}" if accepted[0] else f"False, then True for {name}",
                           "the same answer twice", fix)  # fmt: skip
        if not accepted[0]:
            because = f", because of: {said[0][1]}" if said[0][1] else ""
            fix = "It must return True if the network is acceptable, as a test that passes."
            raise BadInput(self.name, f"False for {name}{because}", "a judge that accepts the originals", fix)

    def _called(self, answers: NetworkAnswers) -> tuple[bool, str]:
        """What the function says about a network, and why if an assertion says it."""
        with seeded(SEED):
            try:
                value = self.function(answers.predict, answers.test)
            except AssertionError as error:
                return False, shortened(f"AssertionError: {error}" if str(error) else "AssertionError")
        if isinstance(value, (bool, np.bool_)) or (isinstance(value, Tensor) and value.numel() == 1):
            return bool(value), ""
        expected = "True if the network is acceptable, else False"
        raise BadInput(self.name, f"it returned {repr(value)[:60]}", expected)
