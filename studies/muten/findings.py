"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.stats import holm
from studies.muten import arms, choice, comparisons, defenses, number, paper, saturation
from studies.muten.answer import points
from studies.muten.comparisons import Comparison, Side
from studies.muten.defended import DEFENSES, NONE
from studies.muten.gains import LEVEL
from studies.muten.results import Results
from studies.muten.subjects import ORDER, TARGETS
from studies.writing import percent


def epsilon(results: Results) -> Iterator[str]:
    """Fig. 2: at how many levels MUTEN is better or worse, corrected for their number."""
    for name in ORDER:
        for compared in (comparisons.PAPERS, comparisons.STARTS, comparisons.STEP, comparisons.FAIR):
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
        f"{TARGETS[name].title} ({compared.title}): MUTEN is significantly better at {_listed(better)}, worse at "
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
                f"{TARGETS[name].title}, {arms.ATTACKS[attack]}, at {level}: one mutant changes success by "
                f"{gains[0]:+.0f} points, ten by {gains[1]:+.0f}{beside}; as many passes on the original alone by "
                f"{gains[2]:+.0f} and {gains[3]:+.0f}."
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
                yield f"{TARGETS[name].title}, {arms.ATTACKS[attack]}: diverse mutants have {' and '.join(texts)}."


def saturated(results: Results) -> Iterator[str]:
    """What a loss that goes flat makes of the comparison."""
    for name in ORDER:
        if not TARGETS[name].whole:
            continue
        levels = TARGETS[name].levels[:: choice.EVERY]
        for network in saturation.NETWORKS:
            for attack in saturation.ATTACKS:
                theirs = results.gain(name, _against(attack, arms.ORIGINAL), levels, network)
                fair = results.gain(name, _against(attack, arms.RESTARTED), levels, network)
                if theirs is None or fair is None:
                    continue
                called = "as trained" if network == NONE else network
                yield (
                    f"{TARGETS[name].title}, {called}, {arms.ATTACKS[attack]}: alone {percent(theirs.second, 0)}, with "
                    f"MUTEN {percent(theirs.first, 0)}: {points(theirs)}; against the same passes {points(fair)}."
                )


def defended(results: Results) -> Iterator[str]:
    """Table III."""
    for name in ORDER:
        if not TARGETS[name].whole:
            continue
        for attack, level in defenses.cases(TARGETS[name]):
            alone = [arms.LONGER] if attack == arms.SEARCHED else [arms.ORIGINAL, arms.RESTARTED]
            for arm in alone:
                each = {
                    defense: gain
                    for defense in (NONE, *DEFENSES)
                    if (gain := results.gain(name, _against(attack, arm), [level], defense)) is not None
                }
                if each:
                    shown = ", ".join(
                        f"{defense} {100 * gain.value:+.0f}{'*' if gain.clear else ''}"
                        for defense, gain in each.items()
                    )
                    yield (
                        f"{TARGETS[name].title}, {arms.ATTACKS[attack]}, at {level}: MUTEN's points over "
                        f"{arms.TITLES[arm]} (* p < {LEVEL}): {shown}."
                    )
    theirs = ", ".join(f"{defense} {100 * (b - a):+.0f}" for defense, (_, a, b) in paper.DEFENSES.items())
    yield f"The paper's Table III, PGD at {TARGETS[paper.DEFENSES_OF].level}, over the original alone: {theirs}."


FINDINGS = {
    "epsilon": epsilon,
    "carlini": carlini,
    "number": numbers,
    "choice": kinds,
    "saturation": saturated,
    "defenses": defended,
}
