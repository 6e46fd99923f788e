"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.stats import holm
from studies.muten import arms, choice, comparisons, defences, number, paper
from studies.muten.comparisons import Comparison, Side
from studies.muten.defended import DEFENCES, NONE
from studies.muten.gains import LEVEL, Gain
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS
from studies.writing import NOT_RUN, percent

SMALL = 0.005
"""Gains below half a point are called none."""


def points(gain: Gain) -> str:
    """A gain with its interval and p-value, in words."""
    low, high = (100 * end for end in (gain.interval.low, gain.interval.high))
    chance = "p < 0.001" if gain.p_value < 0.001 else f"p = {gain.p_value:.2g}"
    return f"{100 * gain.value:+.1f} points ({low:+.1f} to {high:+.1f}, {chance})"


def answer(results: Results) -> str:
    """How much of MUTEN's gain remains? The first paragraph of the page."""
    lines = [line for name in ORDER if (line := _of_subject(results, name))]
    if not lines:
        return f"What remains of MUTEN's gain against a properly tuned attack on the original alone: {NOT_RUN}."
    fair = {n: gain for n in ORDER if (gain := results.gain(n, comparisons.FAIR, TARGETS[n].levels))}
    wins = [TARGETS[name].title for name, gain in fair.items() if gain.value > 0 and gain.clear]
    if not fair:
        verdict = f"the fair comparison is {NOT_RUN}"
    elif wins:
        verdict = f"a significant gain remains on {', '.join(wins)} ({len(wins)} of {len(fair)} networks)"
    else:
        verdict = f"no significant gain remains on any of {len(fair)} networks"
    return (
        "How much of MUTEN's gain remains against a properly tuned attack on the original alone, with as many passes "
        f"and a step that fits? **For PGD, {verdict}.** "
        + " ".join(lines)
        + f' "Points" are per cent of the images that were answered correctly, mean over all distances of Fig. 2; the '
        f"paper reports gains of up to {100 * paper.MOST:.0f} points."
    )


def _of_subject(results: Results, name: str) -> str:
    theirs, step, fair, longer = (
        results.gain(name, one, TARGETS[name].levels)
        for one in (comparisons.PAPERS, comparisons.STEP, comparisons.FAIR, comparisons.FAIR_LONGER)
    )
    if theirs is None:
        return ""
    text = f"{TARGETS[name].title}: with ART's step of 0.1 five mutants give {points(theirs)} over the original alone"
    if step is not None:
        text += f"; a sane step without mutants or any extra pass leaves of that {points(step)}"
    if fair is not None:
        text += f"; with sane steps on both sides and as many passes, {points(fair)} against random starts"
    if longer is not None:
        text += f" and {points(longer)} against more iterations"
    return text + "." + _share_left(theirs, fair)


def _share_left(theirs: Gain, fair: Gain | None) -> str:
    if fair is None or theirs.value < SMALL or not theirs.clear:
        return ""
    left = max(0.0, fair.value) / theirs.value
    return f" That is {percent(left, 0)} of the paper's kind of gain."


def epsilon(results: Results) -> Iterator[str]:
    """Fig. 2: at how many levels MUTEN is better or worse, corrected for their number."""
    for name in ORDER:
        for compared in comparisons.ALL:
            text = _levels(results, name, compared)
            if text:
                yield text
    subject, level = paper.LAST_AT
    ours = [results.share(subject, Side(arms.ART, arm), level) for arm in (arms.ORIGINAL, arms.MUTEN)]
    sane = results.share(subject, Side(arms.SANE, arms.ORIGINAL), level)
    if None not in ours:
        shown = [percent(value or 0.0, 0) for value in ours]
        text = (
            f"At {level} with step 0.1 the original alone loses {shown[0]} and MUTEN makes it lose {shown[1]}; the "
            f"paper's VGG16 {percent(paper.LAST[0], 0)} and {percent(paper.LAST[1], 0)}"
        )
        yield text + ("." if sane is None else f". With a sane step the original alone loses {percent(sane, 0)}.")


def _levels(results: Results, name: str, compared: Comparison) -> str:
    found = {
        level: gain for level in TARGETS[name].levels if (gain := results.gain(name, compared, [level])) is not None
    }
    if not found:
        return ""
    clear = dict(zip(found, (holm([gain.p_value for gain in found.values()]) < LEVEL).tolist(), strict=True))
    better = [level for level, gain in found.items() if clear[level] and gain.value > 0]
    worse = [level for level, gain in found.items() if clear[level] and gain.value < 0]
    most = max(found, key=lambda level: abs(found[level].value))
    return (
        f"{TARGETS[name].title}, {compared.title}: MUTEN is significantly better at {_listed(better)}, worse at "
        f"{_listed(worse)} of {len(found)} distances; largest difference {100 * found[most].value:+.0f} points at "
        f"{most}."
    )


def _listed(levels: list[str]) -> str:
    return f"{len(levels)} ({', '.join(levels)})" if levels else "none"


def carlini(results: Results) -> Iterator[str]:
    """Carlini and Wagner, without and with a search."""
    for name in ORDER:
        constants = TARGETS[name].constants
        ends = [results.share(name, Side(arms.FIXED, arms.ORIGINAL), c) for c in (constants[0], constants[-1])]
        over = results.gain(name, _against(arms.FIXED, arms.ORIGINAL), constants)
        same = results.gain(name, _against(arms.FIXED, arms.LONGER), constants)
        if None not in ends and over is not None:
            text = (
                f"{TARGETS[name].title}, fixed c: the original alone loses {percent(ends[0] or 0.0, 0)} at c = "
                f"{constants[0]} and {percent(ends[1] or 0.0, 0)} at {constants[-1]}; MUTEN {points(over)}"
            )
            yield text + ("." if same is None else f", against six times the iterations {points(same)}.")
        level = TARGETS[name].constant
        sides = [Side(arms.SEARCHED, arm) for arm in arms.THREE]
        far = [results.mean(name, side, level, "l2_mean") for side in sides]
        won = [results.share(name, side, level) for side in sides]
        if None not in far and None not in won:
            shown = [f"{percent(w or 0.0, 0)} at a mean L2 of {d or 0.0:.2f}" for w, d in zip(won, far, strict=True)]
            yield (
                f"{TARGETS[name].title}, with a search for c: the original alone loses {shown[0]}, by MUTEN "
                f"{shown[1]}, alone with six times the iterations {shown[2]}."
            )


def _against(attack: str, arm: str) -> Comparison:
    return Comparison("", Side(attack, arms.MUTEN), Side(attack, arm))


def numbers(results: Results) -> Iterator[str]:
    """Fig. 3."""
    for name in ORDER:
        if not TARGETS[name].whole:
            continue
        for attack, level in number.cases(TARGETS[name]):
            alone = results.share(name, Side(attack, arms.ORIGINAL), level)
            ends = [results.share(name, Side(attack, f"diverse {n}"), level) for n in (1, 10)]
            same = [results.share(name, Side(attack, number.alone(attack, n)), level) for n in (1, 10)]
            if alone is None or None in ends or None in same:
                continue
            gains = [100 * ((value or 0.0) - alone) for value in (*ends, *same)]
            theirs = paper.NUMBER.get(attack) if name == paper.NUMBER_OF else None
            beside = f" (paper {100 * theirs[1]:+.0f} and {100 * theirs[10]:+.0f})" if theirs else ""
            yield (
                f"{TARGETS[name].title}, {attack} at {level}: one mutant changes success by {gains[0]:+.0f} points, "
                f"ten by {gains[1]:+.0f}{beside}; as many passes on the original alone by {gains[2]:+.0f} and "
                f"{gains[3]:+.0f}."
            )


def kinds(results: Results) -> Iterator[str]:
    """Fig. 4: diverse against random and similar mutants."""
    for name in ORDER:
        if not TARGETS[name].whole:
            continue
        for attack in arms.STEPS:
            levels = TARGETS[name].levels[:: choice.EVERY]
            first = Side(attack, choice.ARMS["diverse"])
            found = {
                kind: results.gain(name, Comparison("", first, Side(attack, choice.ARMS[kind])), levels)
                for kind in ("random", "similar")
            }
            if all(found.values()):
                texts = [f"{points(gain)} over {kind} ones" for kind, gain in found.items() if gain]
                yield f"{TARGETS[name].title}, {attack}: diverse mutants have {' and '.join(texts)}."


def defended(results: Results) -> Iterator[str]:
    """Table III."""
    for name in ORDER:
        if not TARGETS[name].whole:
            continue
        for attack, level in defences.cases(TARGETS[name]):
            alone = [arms.LONGER] if attack == arms.SEARCHED else [arms.ORIGINAL, arms.RESTARTED]
            for arm in alone:
                each = {
                    defence: gain
                    for defence in (NONE, *DEFENCES)
                    if (gain := results.gain(name, _against(attack, arm), [level], defence)) is not None
                }
                if each:
                    shown = ", ".join(
                        f"{defence} {100 * gain.value:+.0f}{'*' if gain.clear else ''}"
                        for defence, gain in each.items()
                    )
                    yield f"{TARGETS[name].title}, {attack} at {level}: MUTEN's points over {arm}: {shown}."
    theirs = ", ".join(f"{defence} {100 * (b - a):+.0f}" for defence, (_, a, b) in paper.DEFENCES.items())
    yield f"The paper's Table III, PGD at {TARGETS[paper.DEFENCES_OF].level}, over the original alone: {theirs}."


FINDINGS = {"epsilon": epsilon, "carlini": carlini, "number": numbers, "choice": kinds, "defences": defended}
