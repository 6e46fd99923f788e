"""Sentences about known faults and repairs that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator

from mutiny.core.stats import clopper_pearson
from studies.deepfault.faults import KINDS
from studies.deepfault.injected import ABOVE, AMPLE, CLEAN, LABEL, LOCATED, QUANTILE, WAYS, WEIGHTS, Way
from studies.deepfault.lab import MEASURES
from studies.deepfault.mending import METHODS
from studies.deepfault.repairs import TARGETS
from studies.deepfault.results import LEVEL, CsvRow, Results
from studies.deepfault.subjects import FAMILIES
from studies.deepfault.verdicts import Pairs, back, of_way, p_values, paired, repaired
from studies.store import matching, mean
from studies.writing import percent

BASELINE = "tune"


def injected_findings(results: Results) -> Iterator[str]:
    """Are the guilty among the accused?"""
    yield from _against_random(results.injected)
    yield from _best(results.injected)
    yield from _readings(results.injected)
    yield from _causes(results.injected)
    yield from _weights(results.injected)


def _against_random(rows: list[CsvRow]) -> Iterator[str]:
    p = p_values(rows)
    if not p:
        return
    sides: dict[str, list[str]] = {"above": [], "below": [], "neither": []}
    for way, value in p.items():
        found = of_way(rows, way)
        precision, expected = mean(found, "precision") or 0.0, mean(found, "expected") or 0.0
        side = "neither" if value >= LEVEL else "above" if precision > expected else "below"
        sides[side].append(f"{name(way)} {percent(precision)}")
    usual = mean([row for way in LOCATED for row in of_way(rows, way)], "expected") or 0.0
    texts = [
        f"significantly {side} for {len(some)} of {len(p)} ways ({'; '.join(some)})"
        for side, some in sides.items()
        if some and side != "neither"
    ]
    yield (
        f"Precision against that of random neurons ({percent(usual)}), {len({row['fault'] for row in rows})} faults: "
        f"{', '.join(texts) or f'no way differs significantly, of {len(p)}'}."
    )


def _best(rows: list[CsvRow]) -> Iterator[str]:
    texts = []
    for operator in KINDS:
        found = {way: mean(of_way(rows, way, operator), "precision") for way in WAYS if way.accuser != WEIGHTS}
        known = {way: value for way, value in found.items() if value is not None}
        way = max(known, key=known.__getitem__, default=None)
        if way is not None:
            texts.append(f"{operator} " + (f"{name(way)} {percent(known[way])}" if known[way] else "nobody hits"))
    if texts:
        yield f"The highest mean precision of {len(WAYS) - 1} ways, by operator: {'; '.join(texts)}."


def _readings(rows: list[CsvRow]) -> Iterator[str]:
    texts = []
    for measure in (*MEASURES, AMPLE):
        both = [of_way(rows, Way(measure, active)) for active in (QUANTILE, ABOVE)]
        pairs = paired(both[0], both[1], "precision")
        if pairs:
            texts.append(f"{measure} {_in_words(pairs)}")
    if texts:
        yield f"Activity by each neuron's median against activity above 0: {'; '.join(texts)}."


def _causes(rows: list[CsvRow]) -> Iterator[str]:
    texts = []
    for active in (ABOVE, QUANTILE):
        for measure in ("ochiai", AMPLE):
            both = [of_way(rows, Way(measure, active, failures)) for failures in (CLEAN, LABEL)]
            pairs = paired(both[0], both[1], "precision")
            if pairs:
                texts.append(f"{measure}, {active}, {_in_words(pairs)}")
    if texts:
        yield f"Failures that the fault causes against failures by label: {'; '.join(texts)}."


def _weights(rows: list[CsvRow]) -> Iterator[str]:
    found = of_way(rows, Way(WEIGHTS))
    precision, expected, k = (mean(found, column) for column in ("precision", "expected", "k"))
    if precision is not None and expected is not None and k is not None:
        yield (
            f"Of the weights that search changes ({k:.0f} on average), {percent(precision)} feed faulty neurons; of "
            f"all weights {percent(expected)} do."
        )


def _in_words(pairs: Pairs) -> str:
    return f"{percent(pairs.first)} against {percent(pairs.second)} ({chance(pairs.p_value)})"


def chance(p_value: float) -> str:
    """A p-value in words.

    >>> chance(0.0004), chance(0.25)
    ('p < 0.001', 'p = 0.250')
    """
    return "p < 0.001" if p_value < 0.001 else f"p = {p_value:.3f}"


def name(way: Way) -> str:
    """Of a way to accuse, in words.

    >>> name(Way("ochiai", "0", CLEAN)), name(Way("scale"))
    ('ochiai, 0, caused', 'scale')
    """
    return ", ".join(filter(None, (way.accuser, way.active, "caused" if way.failures == CLEAN else "")))


def mended_findings(results: Results) -> Iterator[str]:
    """Are known faults mended?"""
    for method in METHODS:
        rows = matching(results.mended, method=method)
        if not rows:
            continue
        count, share = repaired(rows), back(rows)
        sure = clopper_pearson(count, len(rows), 0.95)
        text = (
            f"{method}: {count} of {len(rows)} faults are repaired (95% interval {percent(sure.low, 0)} to "
            f"{percent(sure.high, 0)})"
        )
        yield text + (f"; {percent(share, 0)} of the lost accuracy came back." if share is not None else ".")
    for method in METHODS:
        both = [matching(results.mended, method=one) for one in (method, BASELINE)]
        pairs = paired(both[0], both[1], "gain") if method != BASELINE else None
        if pairs:
            yield (
                f"{method} against {BASELINE}, the baseline: a mean gain of {100 * pairs.first:.1f} against "
                f"{100 * pairs.second:.1f} points over {pairs.count} faults ({chance(pairs.p_value)}, Wilcoxon)."
            )


def repairs_findings(results: Results) -> Iterator[str]:
    """Are failures mended that networks have by themselves?"""
    for family in FAMILIES:
        for target in TARGETS:
            rows = [row for row in matching(results.repairs, target=target) if row["subject"] in family.networks]
            texts = [text for method in METHODS if (text := _total(method, matching(rows, method=method)))]
            if texts:
                yield f"{family.title}, target {target}: {'; '.join(texts)}."


def _total(method: str, rows: list[CsvRow]) -> str:
    if not rows:
        return ""
    count = sum(round(float(row["repair_rate"] or 0) * int(row["held_out_failures"])) for row in rows)
    total, broken = sum(int(row["held_out_failures"]) for row in rows), sum(_broken(row) for row in rows)
    return (
        f"{method} repairs {repaired(rows)} of {len(rows)} networks, {count} of {total} held-out failures are mended "
        f"and {broken} passes broken"
    )


def _broken(row: CsvRow) -> int:
    return round(float(row["break_rate"] or 0) * int(row["before"]))
