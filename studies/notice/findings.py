"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.notice import goals
from studies.notice.coverage import THIS
from studies.notice.goals import verdict
from studies.notice.ordering import DISAGREEMENT, EASY, EASY_ELSEWHERE, HALVES, TEN, tau
from studies.notice.reference import FOLD, SEEN, WAYS
from studies.notice.results import Results
from studies.notice.unlabeled import UNLABELED
from studies.store import number
from studies.writing import percent


def spread(results: Results) -> Iterator[str]:
    """The spread at ten originals."""
    for row in results.spread:
        sd = number(row, "sd")
        if row["originals"] == "10" and sd is not None:
            yield (
                f"{row['subject']}: with 10 originals the rate spreads by {100 * sd:.1f} points over other originals "
                f"and seeds (goal: at most {100 * goals.SPREAD:.0f}; {verdict(sd <= goals.SPREAD)})."
            )


def one(results: Results) -> Iterator[str]:
    """The bias of one original."""
    for row in results.spread:
        bias = number(row, "bias")
        if row["originals"] == "1" and bias is not None:
            yield (
                f"{row['subject']}: one original reads {100 * bias:+.1f} points against the same originals together "
                f"(goal: below {100 * goals.BIAS:.0f}; {verdict(abs(bias) < goals.BIAS)})."
            )


def coverage(results: Results) -> Iterator[str]:
    """Coverage of the interval for this test set."""
    low, high = goals.COVERED
    for row in results.coverage:
        covered = number(row, "covered")
        if covered is not None:
            wanted = f" (goal: {percent(low, 0)} to {percent(high, 0)}; {verdict(low <= covered <= high)})"
            yield (
                f"{row['subject']}, {row['originals']} originals: the 95% interval for {row['interval']} holds its "
                f"target in {percent(covered)} of {row['draws']} draws{wanted if row['interval'] == THIS else ''}."
            )


def growth(results: Results) -> Iterator[str]:
    """Steps that fall."""
    for name in results.names(results.growth):
        steps = results.steps(name)
        falls = [step for step in steps if step < 0]
        worst = -min(falls, default=0.0)
        largest = f", the largest by {100 * worst:.1f} points" if falls else ""
        yield (
            f"{name}: {len(falls)} of {len(steps)} steps fall{largest} (goal: none, "
            f"none by more than {100 * goals.FALL:.0f}; {verdict(not falls)}, {verdict(worst <= goals.FALL)})."
        )


def ordering(results: Results) -> Iterator[str]:
    """Whether better test sets score more."""
    for name in results.names(results.ordering):
        halves, removed, ten = (results.question(name, question) for question in (HALVES, DISAGREEMENT, TEN))
        share = number(halves, "holds")
        if halves is not None and share is not None:
            met = verdict(share >= goals.ORDERED)
            yield (
                f"{name}: all tests > random half > easy half in {percent(share)} of draws with disjoint originals, "
                f"{halves['originals']} for each (goal: {percent(goals.ORDERED, 0)}; {met})."
            )
        first, second = number(removed, "first"), number(removed, "second")
        if removed is not None and first is not None and second is not None:
            yield (
                f"{name}: without the inputs on which originals disagree, the rate goes from {percent(first, 0)} to "
                f"{percent(second, 0)} with {removed['originals']} originals (goal: lower; {verdict(second < first)}); "
                f"of the answers to these inputs, a fault breaks {float(removed['breaks']):.1f} and repairs "
                f"{float(removed['repairs']):.1f} on average."
            )
        for question, words in ((EASY, "an easy test set"), (EASY_ELSEWHERE, "one that is easy for other originals")):
            easy = results.question(name, question)
            first, second = number(easy, "first"), number(easy, "second")
            if first is None or second is None:
                continue
            yield (
                f"{name}: {words} reads {percent(second, 0)}, a random one of its size {percent(first, 0)} "
                f"(goal: less than half; {verdict(second < goals.EASY * first)})."
            )
        if ten is not None:
            scores, truth = results.scores(name, "set"), results.truth(name)
            beside = f"; that of MUFF's score, in one draw, is {tau(scores, truth):.2f}" if len(scores) == 10 else ""
            yield (
                f"{name}: Kendall's tau of ten test sets with their true order is {float(ten['tau']):.2f} on average, "
                f"at least {float(ten['tau_low']):.2f} in 95% of draws, {float(ten['tau_made']):.2f} on average "
                f"with the order in which they were made; originals per draw: {ten['originals']}{beside}."
            )


def alarms(results: Results) -> Iterator[str]:
    """False alarms."""
    for name in results.names(results.alarms):
        rows = [row for row in results.alarms if row["subject"] == name]
        worst = max(rows, key=lambda row: float(row["alarms"]))
        rate = float(worst["alarms"])
        yield (
            f"{name}: at most {percent(rate, 2)} of changes without cost are noticed ({worst['change']}; goal: at most "
            f"{percent(goals.ALARMS, 0)}; {verdict(rate <= goals.ALARMS)})."
        )


def reference(results: Results) -> Iterator[str]:
    """Bias by kind and size of the reference set."""
    for name in results.names(results.reference):
        rows = [row for row in results.reference if row["subject"] == name]
        biases = {row["reference"]: number(row, "bias") for row in rows}
        sizes = sorted(int(what) for what in biases if what.isdigit())
        fine = [size for size in sizes if abs(biases[str(size)] or 0.0) <= goals.BIAS]
        missed = [size for size in sizes if size not in fine]
        if sizes:
            text = f"within {100 * goals.BIAS:.0f} points of the truth with {_listed(fine)} held-out inputs"
            yield f"{name}: the rate is {text}{f', not with {_listed(missed)}' if missed else ''}."
        for kind in (FOLD, SEEN, *UNLABELED, *(f"{way}{what}" for way in WAYS for what in (FOLD, "250"))):
            bias = biases.get(kind)
            if bias is not None:
                met = verdict(abs(bias) < goals.BIAS)
                words = f"{kind} held-out inputs" if kind.endswith("250") else kind
                yield f'{name}: measured by "{words}", the rate is {100 * bias:+.1f} points off the truth ({met}).'


def _listed(sizes: list[int]) -> str:
    return ", ".join(f"{size:,}" for size in sizes) or "none of these numbers of"


def planner(results: Results) -> Iterator[str]:
    """Measured power of plans."""
    for column, where in (("power", ""), ("power_many", ", without the luck of these few test inputs")):
        found = [power for row in results.planner if (power := number(row, column)) is not None]
        if found:
            yield (
                f"Planned sizes notice the cost they are planned for in {percent(min(found), 0)} to "
                f"{percent(max(found), 0)} of cases, {percent(float(np.mean(found)), 0)} on average{where} "
                f"(planned: {percent(goals.POWER, 0)})."
            )


FINDINGS = {
    "reference": reference, "spread": spread, "one": one, "coverage": coverage, "growth": growth,
    "ordering": ordering, "alarms": alarms, "planner": planner,
}  # fmt: skip
