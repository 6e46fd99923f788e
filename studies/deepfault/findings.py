"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from studies.deepfault import paper
from studies.deepfault.lab import ALL, MEASURES, RANDOM, SHORT
from studies.deepfault.repair_findings import injected_findings, mended_findings, repairs_findings
from studies.deepfault.results import Results, deeper
from studies.deepfault.subjects import CIFAR, FAMILIES, MNIST, NONE, RMS, SIGNAL, Family
from studies.deepfault.synthesis import METRICS, MOST_LOSS
from studies.store import matching
from studies.writing import percent

Cells = Mapping[tuple[str, int], Mapping[str, float]]
"""Accuracy of every strategy by subject and number of suspects, where all four are known."""
NEAR = 0.3
"""Differences of losses that rounded shares explain."""


def paper_findings(results: Results) -> Iterator[str]:
    """What the paper's own tables tell."""
    cells = [
        (loss, right)
        for name in CIFAR.networks
        for k in CIFAR.ks
        for loss, right in zip(*(paper.SYNTHESIZED[name, k, metric].values() for metric in METRICS), strict=True)
        if loss is not None and right is not None
    ]
    text = (
        f"CIFAR-10 in Table 3: {_saturated(cells)} legible losses are within {NEAR} of {MOST_LOSS:.2f} times the share "
        "of wrong answers. It is the largest loss that Keras reports: nearly all answers were given with full certainty"
    )
    for way in CIFAR.ways:
        rows = [row for row in matching(results.synthesis, way=way) if row["subject"] in CIFAR.networks]
        if rows:
            text += f"; here, {way}, {_saturated([(float(r['loss']), float(r['accuracy'])) for r in rows])}"
    yield text + "."
    shares = [paper.SYNTHESIZED[name, k, "accuracy"][m] for name in MNIST.networks for k in MNIST.ks for m in MEASURES]
    thirtieths = {int(100 * n / 30) for n in range(31)}
    held = sum(round(100 * (share or 0)) in thirtieths for share in shares)
    yield (
        f"MNIST in Table 3: {held} of {len(shares)} accuracies of T, O and D are thirtieths, cut after two digits "
        f"(only {len(thirtieths)} of 101 values are): they look like means over 30 inputs, not 100."
    )


def _saturated(cells: Sequence[tuple[float, float]]) -> str:
    near = sum(abs(loss - MOST_LOSS * (1 - right)) < NEAR for loss, right in cells)
    return f"{near} of {len(cells)}"


def reproduced(results: Results) -> Iterator[str]:
    """The paper's claims, one by one."""
    for family in FAMILIES:
        for way in family.ways:
            yield from _beats_random(results, family, way)
    for family in FAMILIES:
        yield from _winners(results, family)
    for family in FAMILIES:
        yield from _deep(results, family)


def _cells(results: Results, family: Family, way: str) -> Cells:
    found: dict[tuple[str, int], Mapping[str, float]] = {}
    for name in family.networks:
        for k in family.ks:
            each = {m: one.mean for m in ALL if (one := results.synthesized(name, way, k, m, "accuracy"))}
            if len(each) == len(ALL):
                found[name, k] = each
    return found


def _of_paper(family: Family) -> Cells:
    each = {(name, k): paper.SYNTHESIZED[name, k, "accuracy"] for name in family.networks for k in family.ks}
    return {
        key: {m: v for m, v in row.items() if v is not None} for key, row in each.items() if None not in row.values()
    }


def _beats_random(results: Results, family: Family, way: str) -> Iterator[str]:
    cells = _cells(results, family, way)
    if not cells:
        return
    found = {m: [results.significant(name, way, m, RANDOM, "accuracy") for name in family.networks] for m in MEASURES}
    known = {measure: [one for one in some if one] for measure, some in found.items()}
    clear = ", ".join(f"{SHORT[measure]} {sum(one[0] for one in some)}" for measure, some in known.items())
    theirs = _of_paper(family)
    yield (
        f"{family.title}, {way}: accuracy is below that of random neurons for {_below(cells)} of {len(cells)} cells "
        f"(paper: {_below(theirs)} of {len(theirs)}), significantly for {clear} of "
        f"{sum(one[1] for one in known[MEASURES[0]])} cases."
    )


def _below(cells: Cells) -> str:
    return ", ".join(f"{SHORT[m]} {sum(row[m] < row[RANDOM] for row in cells.values())}" for m in MEASURES)


def _winners(results: Results, family: Family) -> Iterator[str]:
    columns = {way: _cells(results, family, way) for way in family.ways} | {"paper": _of_paper(family)}
    texts = []
    for title, cells in columns.items():
        best = [min(MEASURES, key=row.__getitem__) for row in cells.values() if _one_lowest(row)]
        if best:
            counts = ", ".join(f"{SHORT[measure]} {best.count(measure)}" for measure in MEASURES)
            texts.append(f"{title}: {counts} of {len(best)}")
    if len(texts) > 1:
        yield f"{family.title}, which measure alone has the lowest accuracy: {'; '.join(texts)}."


def _one_lowest(row: Mapping[str, float]) -> bool:
    values = sorted(row[measure] for measure in MEASURES)
    return values[0] < values[1]


def _deep(results: Results, family: Family) -> Iterator[str]:
    found = [_shares(results, name, family) for name in family.networks]
    known = [shares for shares in found if shares]
    if known:
        counts = ", ".join(f"{SHORT[m]} {sum(shares[m] > 0.5 for shares in known)}" for m in MEASURES)
        yield (
            f"{family.title}, k = {family.ks[-1]}: most suspects are in the deeper half of the layers for "
            f"{counts} of {len(known)} architectures."
        )


def _shares(results: Results, subject: str, family: Family) -> dict[str, float]:
    found = {m: deeper(results.in_layers(subject, SIGNAL, m, family.ks[-1])) for m in MEASURES}
    return {measure: share for measure, share in found.items() if share is not None}


def layer_findings(results: Results) -> Iterator[str]:
    """RQ3: are suspects in deeper layers, and do they tell anything?"""
    for family in FAMILIES:
        k = family.ks[-1]
        for name in family.networks:
            usual = deeper(results.in_layers(name, SIGNAL, MEASURES[0], k, "neurons"))
            shares = _shares(results, name, family)
            if usual is None or len(shares) < len(MEASURES):
                continue
            always = {measure: results.always(name, SIGNAL, measure, k) or 0.0 for measure in MEASURES}
            deep, idle = (_each(values) for values in (shares, always))
            yield (
                f"{name}, k = {k}: in the deeper half of the layers are {percent(usual, 0)} of all neurons, {deep} of "
                f"the suspects; always active are {idle} of the suspects."
            )


def _each(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{SHORT[measure]} {percent(share, 0)}" for measure, share in shares.items())


def distance_findings(results: Results) -> Iterator[str]:
    """RQ4: does d bind, and is the size of the change the paper's?"""
    for family in FAMILIES:
        for way in family.ways:
            bound, first = results.of_family(family, way, "limited"), results.of_family(family, way, "l1")
            if bound is None or first is None:
                continue
            theirs = sum(values[0] for values in paper.DISTANCE[family.title].values()) / len(family.ks)
            yield (
                f"{family.title}, {way}: {percent(bound, 0)} of the changed pixels are bound by d; mean L1 "
                f"{first:.1f}, in the paper {theirs:.1f}."
            )


def raised_findings(results: Results) -> Iterator[str]:
    """RQ5: do suspects say more?"""
    for family in FAMILIES:
        found = {way: results.of_family(family, way, "raised") for way in family.ways}
        texts = [f"{way} {percent(value, 0)}" for way, value in found.items() if value is not None]
        random = results.of_family(family, RMS, "raised", measures=(RANDOM,))
        if texts and random is not None:
            theirs = sum(paper.RAISED[family.title].values()) / len(family.ks)
            yield (
                f"{family.title}: suspects that say more than before, mean over k: {', '.join(texts)}, random neurons "
                f"{percent(random, 0)} (rms); paper {percent(theirs, 0)}."
            )


def time_findings(results: Results) -> Iterator[str]:
    """RQ6: what a gradient of its own for every neuron costs."""
    for family in FAMILIES:
        spent = {way: results.of_family(family, way, "seconds", family.ks[-1]) for way in (RMS, NONE)}
        fast, slow = spent[NONE], spent[RMS]
        if fast and slow:
            yield (
                f"{family.title}, k = {family.ks[-1]}: rms takes {slow / fast:.1f} times as long as none, which needs "
                "one backward pass for all suspects together."
            )


FINDINGS = {
    "paper": paper_findings,
    "reproduced": reproduced,
    "layers": layer_findings,
    "distances": distance_findings,
    "raised": raised_findings,
    "seconds": time_findings,
    "injected": injected_findings,
    "mended": mended_findings,
    "repairs": repairs_findings,
}
