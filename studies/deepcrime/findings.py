"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from studies.deepcrime import paper, spectra
from studies.deepcrime.compared import BETWEEN, DC
from studies.deepcrime.paper import DEEPCRIME, TOOLS
from studies.deepcrime.results import Results
from studies.deepcrime.subjects import ORDER
from studies.muff.paper import NAMES
from studies.muff.results import mean, of_paper, sensitivity_of
from studies.store import number
from studies.writing import percent, rank_correlation

GOAL = 3
"""So many times fewer trainings than the plain way are wanted."""


def sensitivity(results: Results) -> Iterator[str]:
    """Agreement with Table VI."""
    for subject in ORDER:
        means = {tool: results.sensitivity(subject, tool) for tool in TOOLS}
        if not any(results.of_tool(subject, tool) for tool in TOOLS):
            continue
        theirs = paper.AVERAGES[NAMES[subject]]
        shown = [
            f"{'no value' if value is None else percent(value)} for {tool} (paper: {percent(theirs[tool])})"
            for tool, value in means.items()
        ]
        yield f"{subject}: mean sensitivity {', '.join(shown)}."
        if means["MUFF"] is not None and means["DeepCrime"] is not None:
            ours, told = (100 * (row["MUFF"] - row["DeepCrime"]) for row in (means, theirs))
            yield f"{subject}: MUFF is {ours:+.1f} points from DeepCrime (paper: {told:+.1f}; over all subjects +25)."
        both = [
            (sensitivity_of(row), of_paper(paper.SENSITIVITY, subject, code))
            for code in DEEPCRIME
            if (row := results.row(subject, code)) is not None
        ]
        same = sum(isinstance(a, str) == isinstance(b, str) for a, b in both)
        order = rank_correlation([a for a, _ in both], [b for _, b in both])
        text = f"; rank correlation of the values {order[0]:.2f} ({order[1]} operators)" if order else ""
        yield (
            f"{subject}: {same} of {len(both)} operators of DeepCrime agree with the paper on whether there is a value "
            f"at all{text}."
        )


def stability(results: Results) -> Iterator[str]:
    """Agreement with Table VII."""
    for subject in ORDER:
        rows, theirs = results.of_tool(subject, "DeepCrime"), paper.UNSTABLE[NAMES[subject]]
        if not rows:
            continue
        ours = results.unstable(subject)
        shared = [code for code in theirs if code in ours]
        yield (
            f"{subject}: {len(ours)} of {len(rows)} operators that apply have unstable configurations (paper: "
            f"{len(theirs)}); of the paper's {', '.join(theirs)} these are {', '.join(shared) or 'none'}."
        )
        power = mean([number(row, "instability_train") for row in rows])
        error = mean([number(row, "unstable") for row in rows])
        if power is not None and error is not None:
            yield (
                f"{subject}: mean share of unstable configurations {percent(error)} by the relative standard error, "
                f"{percent(power)} by a power below 0.8 (corrected; DeepCrime's own code reports a higher power)."
            )


def cost(results: Results) -> Iterator[str]:
    """Agreement with Table VIII."""
    for subject in ORDER:
        of_deepcrime, others = results.times(subject, "DeepCrime"), results.times(subject, "DeepMutation++")
        if of_deepcrime is not None:
            theirs = paper.TIMES[NAMES[subject]]
            yield (
                f"{subject}: a mutant of DeepCrime takes {of_deepcrime:.3g} times the processor time of one of MUFF "
                f"(paper: {theirs} times; over all subjects {paper.TIMES['mean']})."
            )
        if others is not None:
            seconds = paper.SECONDS[NAMES[subject]]
            theirs_times = seconds["DeepMutation++"] / seconds["MUFF"]
            yield f"{subject}: one of DeepMutation++ takes {others:.3g} times (paper: {theirs_times:.2g} times)."


def saved(results: Results) -> Iterator[str]:
    """Whether enough trainings are saved."""
    for subject in ORDER:
        found, made = results.trainings(subject), results.cost(subject, "DeepCrime")
        if found is None or made is None or not made.trainings:
            continue
        ratios = {"as run": found.plain / made.trainings, "in groups": found.plain / found.grouped}
        shown = ", ".join(f"{ratio:.2f} times fewer {how}" for how, ratio in ratios.items())
        reached = [how for how, ratio in ratios.items() if ratio >= GOAL]
        yield (
            f"{subject}: {found.plain:,} trainings the plain way, {shown}; the goal of {GOAL} times is "
            f"{'reached ' + ' and '.join(reached) if reached else 'not reached'}."
        )
        early = sum(count for size, count in found.sizes.items() if size < results.originals)
        total = sum(found.sizes.values())
        yield f"{subject}: {early} of {total} mutants are decided by fewer than {results.originals} instances."


def distances(results: Results) -> Iterator[str]:
    """Agreement with what the paper says about Fig. 4."""
    for subject in ORDER:
        for span in (spectra.ALL, spectra.ORIGINALS):
            found = results.distances_of(subject, span, spectra.USUAL)
            where = f"{subject}, range of {span}"
            if found and not any(np.median(values) for values in found.values()):
                yield f"{where}: some activations are so large that nearly all others share one bin; no order shows."
                continue
            for code, _ in BETWEEN:
                within, between = found.get(f"{code}-{code}"), found.get(f"{code}-{DC}")
                if within is None or between is None:
                    continue
                smaller = float(np.mean(within[:, None] < between[None]))
                always = bool(within.max() < between.min())
                yield (
                    f"{where}: a distance within {code} is smaller than one between {code} and DeepCrime in "
                    f'{percent(smaller)} of all cases, so "always", as the paper has it, '
                    f"{'holds' if always else 'does not hold'}."
                )
            if "DC-DC" in found and "WI-WI" in found:
                ratio = float(np.median(found["DC-DC"])) / max(float(np.median(found["WI-WI"])), 1e-12)
                yield f"{where}: the median distance within DeepCrime's operators is {ratio:.3g} times that within WI."
        yield from _without_fault(results, subject)
        share = _of_lists(results, subject)
        if share is not None:
            yield (
                f"{subject}: of the larger half of the distances within DeepCrime's operators {percent(share, 0)} come "
                "from operators with a list of values or layers, such as LCH or ACH."
            )


def _without_fault(results: Results, subject: str) -> Iterator[str]:
    """What retraining alone does."""
    apart = results.apart(subject, spectra.USUAL)
    found = results.distances_of(subject, spectra.ORIGINALS, spectra.USUAL)
    if apart is None or "WI-WI" not in found or "DC-DC" not in found:
        return
    own, trained = (float(np.median(found[pair])) for pair in ("WI-WI", "DC-DC"))
    yield (
        f"{subject}, range of originals: without any fault, two halves of the originals are {apart:.3g} apart, "
        f"{apart / max(own, 1e-12):.3g} times the median within WI and {apart / max(trained, 1e-12):.3g} times that "
        f"within DeepCrime's operators, of whose distances {percent(np.mean(found['DC-DC'] < apart), 0)} are smaller."
    )


def _of_lists(results: Results, subject: str) -> float | None:
    """Which share of the larger distances comes from operators with a list."""
    rows = [
        row
        for row in results.distances
        if (row["subject"], row["range"], row["group_a"], row["group_b"]) == (subject, spectra.ORIGINALS, DC, DC)
    ]
    if not rows:
        return None
    largest = sorted(rows, key=lambda row: -float(row[spectra.USUAL]))[: max(1, len(rows) // 2)]
    return float(np.mean(["(" in row["mutant_a"] for row in largest]))  # "LCH(loss=mae)", but "TRD 0.5"


FINDINGS = {
    "sensitivity": sensitivity,
    "stability": stability,
    "cost": cost,
    "savings": saved,
    "distances": distances,
}
