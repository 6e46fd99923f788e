"""Base class of judges, which decide whether a fault is noticed, and what they say."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, final

import torch

from mutiny.core.errors import Interrupted
from mutiny.core.parsing import described
from mutiny.core.records import JudgeOutcome

if TYPE_CHECKING:
    from mutiny.verbs.assess.judges.answers import NetworkAnswers

LONGEST = 300
"""Most characters of a reason."""


@dataclass(frozen=True)
class Judgement:
    """Outcome of a judge for one fault.

    Attributes:
        outcome: What the judge says.
        reason: Why, in a few words; required if the outcome is undecided or broken.
        p_value: P-value of its test, if it has one.
        values: Numbers that decided it, such as the metrics of a gate.
    """

    outcome: JudgeOutcome
    reason: str = ""
    p_value: float | None = None
    values: tuple[float, ...] = ()

    @classmethod
    def of(cls, noticed: bool, reason: str = "", p_value: float | None = None) -> Judgement:
        """The judgement of a judge that can always tell.

        >>> Judgement.of(True).outcome.value
        'noticed'
        """
        return cls(JudgeOutcome.NOTICED if noticed else JudgeOutcome.MISSED, reason, p_value)


@dataclass(frozen=True)
class Judge(ABC):
    """Decides whether a fault is noticed, from what the original and the faulty network answer to the test set.

    An author writes `judge`, and `check` if some originals or tasks must be refused. The fields are its parameters.

    Attributes:
        code: Name that users type.
        title: What it is, in a few words.
        source: Publication or convention that it follows.
    """

    code: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]

    @abstractmethod
    def judge(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """Whether the fault is noticed. What it returns depends on the answers only.

        Args:
            clean: Answers of the original.
            faulty: Answers of the same original with a fault.
        """

    def check(self, clean: NetworkAnswers, name: str) -> None:
        """Raises `BadInput` if this judge cannot be used with an original; called before any fault.

        Args:
            clean: Answers of the original.
            name: Name of the original in messages, such as ``original 2``.
        """
        del clean, name

    @final
    def decide(self, clean: NetworkAnswers, faulty: NetworkAnswers) -> Judgement:
        """What `judge` says; an exception, or anything but a `Judgement`, makes the outcome broken, with the reason."""
        try:
            judgement = self.judge(clean, faulty)
        except (MemoryError, torch.OutOfMemoryError, Interrupted):
            raise
        except (Exception, SystemExit) as error:  # a judge is code of others, and sys.exit() would end the worker
            return Judgement(JudgeOutcome.BROKEN, shortened(f"{type(error).__name__}: {error}"))
        wrong = wrong_part(judgement)
        return judgement if wrong is None else Judgement(JudgeOutcome.BROKEN, wrong)

    @property
    def label(self) -> str:
        """The judge as users type it."""
        return described(self, self.code)


def wrong_part(judgement: object) -> str | None:
    """What is wrong with the value that a judge returned; ``None`` if nothing is.

    >>> wrong_part(True)
    'it returned a bool instead of a Judgement'
    """
    if not isinstance(judgement, Judgement):
        return f"it returned a {type(judgement).__name__} instead of a Judgement"
    if not isinstance(judgement.outcome, JudgeOutcome):
        return f"its outcome is {judgement.outcome!r}"
    if judgement.p_value is not None and not 0 <= judgement.p_value <= 1:
        return f"its p-value is {judgement.p_value!r}"
    if not isinstance(judgement.reason, str) or not all(isinstance(value, float) for value in judgement.values):
        return "its reason is no text, or its values are no numbers"
    if not judgement.outcome.decided and not judgement.reason:
        return f"it is {judgement.outcome.value} without a reason"
    return None


def shortened(text: str) -> str:
    """Text on one line, of a bounded length."""
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 3]}..."
