"""How much of MUTEN's gain remains? The first paragraph of the page, from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from studies.muten import arms, choice, comparisons, paper
from studies.muten.comparisons import Comparison, Side
from studies.muten.defended import SURER
from studies.muten.gains import Gain
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS
from studies.writing import NOT_RUN, percent

THREE = (comparisons.PAPERS, comparisons.STEP, comparisons.FAIR)
SMALL = 0.005
"""Gains below half a point are called none."""


def points(gain: Gain) -> str:
    """A gain with its interval and p-value, in words."""
    low, high = (100 * end for end in (gain.interval.low, gain.interval.high))
    chance = "p < 0.001" if gain.p_value < 0.001 else f"p = {gain.p_value:.2g}"
    return f"{100 * gain.value:+.1f} points ({low:+.1f} to {high:+.1f}, {chance})"


def answer(results: Results) -> str:
    """The first paragraph: the verdict, and three numbers for each network."""
    fair = {n: gain for n in ORDER if (gain := results.gain(n, comparisons.FAIR, TARGETS[n].levels))}
    if not fair:
        return f"What remains of MUTEN's gain against a properly tuned attack on the original alone: {NOT_RUN}."
    better = [TARGETS[name].title for name, gain in fair.items() if gain.value > 0 and gain.clear]
    worse = [TARGETS[name].title for name, gain in fair.items() if gain.value < 0 and gain.clear]
    shown = []
    for name in fair:
        gains = [results.gain(name, one, TARGETS[name].levels) for one in THREE]
        values = [f"{100 * one.value:+.1f}" if one else NOT_RUN for one in gains]
        shown.append(f"{' / '.join(values)} on {TARGETS[name].title}")
    return (
        "How much of MUTEN's gain remains against a properly tuned attack on the original alone, with as many passes "
        f"and a step that fits? **For PGD, of {len(fair)} networks MUTEN is significantly better on {_named(better)} "
        f"and significantly worse on {_named(worse)}.** By so many points more of the correctly answered images MUTEN "
        "makes the network lose, mean over the distances of Fig. 2: in the paper's comparison, with ART's step of 0.1 "
        "and six times the passes / against the original alone with a sane step and a sixth of the passes / with sane "
        f"steps and as many passes on both sides: {_and(shown)}. The paper reports gains of up to "
        f"{100 * paper.MOST:.0f} points.{_nearest(results)}"
        f"{_flat(results)}"
    )


def details(results: Results) -> Iterator[str]:
    """The same with intervals, network by network."""
    for name in ORDER:
        theirs, step, fair, longer = (
            results.gain(name, one, TARGETS[name].levels)
            for one in (comparisons.PAPERS, comparisons.STEP, comparisons.FAIR, comparisons.FAIR_LONGER)
        )
        if theirs is None:
            continue
        text = f"{TARGETS[name].title}: with step 0.1, five mutants give {points(theirs)} over the original alone"
        if step is not None:
            text += f"; against the original alone with a sane step and a sixth of the passes {points(step)}"
        if fair is not None:
            text += f"; with sane steps and as many passes on both sides {points(fair)} against random starts"
        if longer is not None:
            text += f" and {points(longer)} against more iterations"
        yield text + "." + _share_left(theirs, fair)


def _nearest(results: Results) -> str:
    """Carlini and Wagner with a search, in one sentence."""
    texts = []
    for name in ORDER:
        sides = [Side(arms.SEARCHED, arm) for arm in arms.THREE]
        far = [results.mean(name, side, TARGETS[name].constant, "l2_mean") for side in sides]
        if None not in far:
            texts.append(f"{' / '.join(f'{one:.2f}' for one in far)} on {TARGETS[name].title}")
    if not texts:
        return ""
    return (
        " Carlini and Wagner's attack, with a search for its constant, moves images that are lost by a mean L2 of "
        f"{_and(texts)} (original alone / MUTEN / alone with as many passes; less is stronger)."
    )


def _flat(results: Results) -> str:
    """Where a gain like the paper's does show, in one sentence."""
    texts = []
    compared = Comparison("", Side(arms.CLIPPED, arms.MUTEN), Side(arms.CLIPPED, arms.ORIGINAL))
    for name in ORDER:
        levels = TARGETS[name].levels[:: choice.EVERY]
        gain = results.gain(name, compared, levels, SURER)
        alone = [results.share(name, Side(arms.ART, arms.ORIGINAL), level, SURER) for level in levels]
        if gain is not None and None not in alone:
            exact = sum(value or 0.0 for value in alone) / len(alone)
            shown = " / ".join(percent(value, 0) for value in (gain.second, gain.first, exact))
            texts.append(f"{shown} on {TARGETS[name].title}")
    if not texts:
        return ""
    return (
        " Gains like the paper's do show where the loss is silent because the network is sure: with outputs multiplied "
        "by three and a loss of clipped probabilities, the original alone / MUTEN / the original alone with the exact "
        f"loss reach {_and(texts)}."
    )


def _and(names: list[str]) -> str:
    return ", ".join(names[:-1]) + " and " + names[-1] if len(names) > 1 else names[0]


def _named(names: list[str]) -> str:
    return f"{len(names)} ({_and(names)})" if names else "none"


def _share_left(theirs: Gain, fair: Gain | None) -> str:
    if fair is None or theirs.value < SMALL or not theirs.clear:
        return ""
    left = max(0.0, fair.value) / theirs.value
    return f" That is {percent(left, 0)} of the paper's kind of gain."
