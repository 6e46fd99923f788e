"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from studies.muff import paper, ratio, rq1
from studies.muff.paper import DEEPMUTATION, MUFF, NAMES, OPERATORS, Cell
from studies.muff.results import SUBJECTS, Results, instances_of, mean, of_paper, rate_of, sensitivity_of
from studies.store import number
from studies.writing import percent, rank_correlation


def _order(ours: Sequence[Cell | None], theirs: Sequence[Cell | None], what: str) -> str:
    found = rank_correlation(ours, theirs)
    return (
        "" if found is None else f"; rank correlation of {what} with the paper's {found[0]:.2f} ({found[1]} operators)"
    )


def rq1_findings(results: Results) -> Iterator[str]:
    """Per subject: how the operators compare with the originals, with one another and with the paper."""
    pairs = []
    for subject in SUBJECTS:
        rates = {c: rate_of(results.disagreement(subject, c, "default", rq1.EACH)) for c in DEEPMUTATION}
        numbers = {code: rate for code, rate in rates.items() if isinstance(rate, float)}
        own = rate_of(results.disagreement(subject, rq1.ORIGINALS, "", rq1.EACH))
        if not numbers or not isinstance(own, float):
            continue
        theirs = [of_paper(paper.EACH_ORIGINAL, subject, code) for code in DEEPMUTATION]
        pairs += [
            (rates[c], t) for c, t in zip(DEEPMUTATION, theirs, strict=True) if c in numbers and isinstance(t, float)
        ]
        low, high = min(numbers, key=numbers.__getitem__), max(numbers, key=numbers.__getitem__)
        above = sum(rate > own for rate in numbers.values())
        yield (
            f"{subject}: across originals {above} of {len(numbers)} operators disagree more than the originals among "
            f"themselves ({percent(own, 2)}), from {low} ({percent(numbers[low], 2)}) to {high} "
            f"({percent(numbers[high], 2)}){_order(list(rates.values()), theirs, 'the operators')}."
        )
    if pairs:
        ours, theirs_mean = (mean([pair[side] for pair in pairs]) for side in (0, 1))
        yield (
            f"Mean over the {len(pairs)} cells that both have, across originals: {percent(ours or 0)} here, "
            f"{percent(theirs_mean or 0)} in the paper."
        )


def rq2_findings(results: Results) -> Iterator[str]:
    """Per subject: how many configurations are stable, and whether the paper's order of subjects shows."""
    needed = {}
    for subject in SUBJECTS:
        rows = [row for row in results.rq2 if row["subject"] == subject and row["status"] != "not applicable"]
        if not rows:
            continue
        unstable = sum(row["status"] == "unstable" for row in rows)
        at_once = sum(row["status"] == "stable" and int(row["instances"]) == results.originals for row in rows)
        beyond = results.most + results.originals
        counts = [beyond if row["status"] == "unstable" else int(row["instances"]) for row in rows]
        needed[subject] = sum(counts) / len(counts)
        yield (
            f"{subject}: of {len(rows)} configurations {at_once} are stable with {results.originals} instances, "
            f"{unstable} never; mean {needed[subject]:.0f} (an unstable one counted as {beyond})."
        )
    if set(NAMES) <= set(needed):
        holds = max(needed["mnist"], needed["speakers"]) < min(needed["eyes"], needed["roads"])
        yield (
            'The paper: "MN and SR require relatively fewer instances than UE and UD." '
            f"Here this {'holds' if holds else 'does not hold'} for the means above."
        )


def rq3_findings(results: Results) -> Iterator[str]:
    """Agreement with Tables VI and VII."""
    for subject in SUBJECTS:
        ours = {code: sensitivity_of(results.search(subject, code)) for code in OPERATORS}
        groups = [mean([ours[code] for code in group]) for group in (MUFF, DEEPMUTATION)]
        if groups[0] is None and groups[1] is None:
            continue
        shown = ["no value" if value is None else percent(value) for value in groups]
        text = f"{subject}: mean sensitivity {shown[0]} for WI and NI, {shown[1]} for DeepMutation++'s operators"
        if subject in NAMES:
            theirs = [of_paper(paper.SENSITIVITY, subject, code) for code in OPERATORS]
            means = [mean([of_paper(paper.SENSITIVITY, subject, c) for c in group]) for group in (MUFF, DEEPMUTATION)]
            text += f" (paper: {percent(means[0] or 0)} and {percent(means[1] or 0)})"
            known = [(a, b) for a, b in zip(ours.values(), theirs, strict=True) if a is not None]
            same = sum(isinstance(a, str) == isinstance(b, str) for a, b in known)
            text += f"; {same} of {len(known)} operators agree with the paper on whether there is a value at all"
            text += _order(list(ours.values()), theirs, "sensitivities")
        yield text + "."
    groups = [[instances_of(results.search(s, c)) for s in SUBJECTS for c in group] for group in (MUFF, DEEPMUTATION)]
    means = [mean(group) for group in groups]
    if means[0] is not None and means[1] is not None:
        yield f"Mean number of instances: {means[0]:.0f} for WI and NI, {means[1]:.0f} for DeepMutation++'s operators."
    probed = [row for row in results.rq3 if number(row, "possible")]
    if probed:
        evaluated, possible = (sum(number(row, name) or 0 for row in probed) for name in ("evaluated", "possible"))
        yield f"{percent(evaluated / possible)} of all (instance, input) pairs were evaluated to reach the verdicts."
    hidden = [f"{row['subject']} {row['operator']} {row['hidden']}" for row in results.rq3 if number(row, "hidden")]
    if hidden:
        yield f"Survivors on train that a paired rank test (Wilcoxon) would kill: {', '.join(hidden)}."


def ratio_findings(results: Results) -> Iterator[str]:
    """Where WI is most sensitive."""
    for subject in SUBJECTS:
        found = {r: sensitivity_of(results.at_ratio(subject, r)) for r in ratio.RATIOS}
        values = {r: value for r, value in found.items() if isinstance(value, float)}
        if not values:
            continue
        best = [r for r, value in values.items() if value == max(values.values())]
        ordered = list(values.values())
        falls = all(a >= b for a, b in pairwise(ordered))
        gone = [r for r, value in found.items() if isinstance(value, str)]
        text = f"{subject}: highest sensitivity {percent(max(ordered))} at ratio {', '.join(best)}"
        if len(ordered) > 1:
            text += f"; it {'never rises' if falls else 'does not fall steadily'} with the ratio"
        yield text + (f"; no value at {', '.join(gone)}." if gone else ".")


FINDINGS = {"rq1": rq1_findings, "rq2": rq2_findings, "rq3": rq3_findings, "ratio": ratio_findings}
