"""Sentences about judges that terminal, page, Markdown and JUnit share."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.reports.formatting import count, upper_first
from mutiny.verbs.assess.judges import FunctionJudge, Gate, PairedTest, SingleKillRule
from mutiny.verbs.assess.judges.record import JudgeRecord
from mutiny.verbs.assess.result import Assessment

OWN = {Gate.code: "gate", FunctionJudge.code: "function"}
"""Kinds of judges that users write themselves, as a noun."""
NAMED = {PairedTest.code: "the paired test", SingleKillRule.code: "the kill rule of MUFF"}


def named_judge(record: JudgeRecord) -> str:
    """A judge in a sentence.

    >>> named_judge(JudgeRecord(None, None, (), judge="accuracy >= 0.97", kind="gate"))
    'the gate "accuracy >= 0.97"'
    """
    noun = OWN.get(record.kind)
    return NAMED.get(record.kind, f"the judge {record.judge}") if noun is None else f'the {noun} "{record.judge}"'


def your_judge(record: JudgeRecord, tests: str) -> str:
    """A judge as the subject of a sentence.

    Args:
        record: The judge.
        tests: The test set, such as ``449 tests``.
    """
    noun = OWN.get(record.kind)
    who = upper_first(named_judge(record)) if noun is None else f'Your {noun} "{record.judge}"'
    return f"{who} on {tests}"


def unjudged(result: Assessment) -> Iterator[str]:
    """A sentence for each judge that did not decide some faults, with its reasons."""
    for record in result.judges:
        parts = [
            f"{many:,} {word}" for many, word in ((record.undecided, "undecided"), (record.broken, "broken")) if many
        ]
        if not parts:
            continue
        reasons = "; ".join(f"{each.reason} ({count(each.faults, 'fault')})" for each in record.reasons)
        faults = count(record.faults + record.undecided + record.broken, "fault")
        which = f"Of {faults} that count, {named_judge(record)} left {' and '.join(parts)}, which count neither way"
        yield f"{which}: {reasons}."
