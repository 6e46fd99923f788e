"""Sentences that follow from the numbers and from nothing else."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from studies.nss import ablation, paper, retraining
from studies.nss.methods import ALL, AUTHORS, CLEAN, FORMULA, GINI, INTERNAL, NEEDS_CLEAN, NSS, RANDOM
from studies.nss.results import Cell, Results, mean_of
from studies.nss.subjects import ORDER
from studies.writing import percent, rank_correlation


def internal_findings(results: Results) -> Iterator[str]:
    """Table 1."""
    for subject in ORDER:
        ours, rate = results.mean(subject, INTERNAL, "fdr_5"), results.fault_rate(subject)
        if ours is not None and rate is not None:
            yield f"{subject}: internal Gini finds {percent(ours)} at 5%, a random choice {percent(rate)} on average."


def partition_findings(results: Results) -> Iterator[str]:
    """Table 6: the sign and size of the correlation, by variant."""
    for subject in ORDER:
        literal, coded = (mean_of(results.correlation(subject, m, "spearman")) for m in (NSS, AUTHORS))
        if literal is None or coded is None:
            continue
        theirs = paper.CORRELATION.get(subject)
        text = f"{subject}: Spearman {literal:.2f} for the algorithms as printed, {coded:.2f} for the authors' code"
        yield text + (f" (paper {theirs[1]:.2f})." if theirs else ".")


def detection_findings(results: Results) -> Iterator[str]:
    """Table 7: what the clean original is worth, who is best, and whether methods come in the paper's order."""
    for subject in ORDER:
        found = {m: mean for m in ALL if (mean := results.mean(subject, m, "fdr_5")) is not None}
        rate = results.fault_rate(subject)
        if rate is None or NSS not in found or AUTHORS not in found:
            continue
        gap = 100 * (found[AUTHORS] - found[NSS])
        text = (
            f"{subject}: at 5% NSS as printed finds {percent(found[NSS])}, a random choice {percent(rate)}, the "
            f"authors' code {percent(found[AUTHORS])} ({gap:+.1f} points)"
        )
        if CLEAN in found and FORMULA in found:
            steps = [100 * (found[name] - found[NSS]) for name in (CLEAN, FORMULA)]
            text += (
                f"; the clean original alone gives {steps[0]:+.1f} points, the authors' formula alone {steps[1]:+.1f}"
            )
        if subject in paper.NAMES:
            text += f". The paper reports {percent(paper.FDR[5][subject][NSS])}"
        fair = {m: value for m, value in found.items() if m not in NEEDS_CLEAN}
        best = max(fair, key=fair.__getitem__)
        above = sum(value > found[NSS] for m, value in fair.items() if m != NSS)
        text += f". Best without clean originals: {best} ({percent(fair[best])}); {above} of {len(fair) - 1} beat NSS"
        if subject in paper.NAMES:
            theirs = paper.FDR[5][subject]
            both = [m for m in theirs if m in found]
            order = rank_correlation([found[m] for m in both], [theirs[m] for m in both])
            text += "" if order is None else f"; rank correlation with the paper's column {order[0]:.2f}"
        yield text + "."
    yield from _clean_original(results)


def _clean_original(results: Results) -> Iterator[str]:
    pairs = {s: [results.mean(s, m, "fdr_5") for m in (AUTHORS, GINI)] for s in ORDER}
    known = {s: (a, b) for s, (a, b) in pairs.items() if a is not None and b is not None}
    if known:
        wins = [s for s, (coded, gini) in known.items() if coded > gini]
        yield (
            f"The authors' code beats DeepGini, which sees no clean original, at 5% on {len(wins)} of {len(known)} "
            f"subjects{': ' + ', '.join(wins) if wins else ''}."
        )


def diversity_findings(results: Results) -> Iterator[str]:
    """Table 8."""
    for subject in ORDER:
        found = {m: mean for m in ALL if (mean := results.mean(subject, m, "rauc_possible")) is not None}
        if NSS in found and RANDOM in found:
            best = max((m for m in found if m not in NEEDS_CLEAN), key=found.__getitem__)
            yield (
                f"{subject}: RAUC {percent(found[NSS])} for NSS, {percent(found[RANDOM])} for a random choice; best "
                f"without clean originals {best} ({percent(found[best])})."
            )


def early_findings(results: Results) -> Iterator[str]:
    """Table 9: which of the paper's values are impossible as APFD of misclassified inputs."""
    for subject in paper.NAMES:
        most = 1 - paper.FDR[20][subject][RANDOM] / 2
        beyond = [name for name, ours in paper.METHODS.items() if paper.APFD[subject][ours] > most]
        if beyond:
            yield (
                f"{subject}: with the paper's own fault rate no order has an APFD above {percent(most)} if each wrong "
                f"input is a fault; its Table 9 exceeds that for {', '.join(beyond)}."
            )
    for subject in ORDER:
        found = [results.mean(subject, NSS, f"apfd_{kind}") for kind in ("input", "type", "authors")]
        if None not in found:
            shown = [percent(value or 0) for value in found]
            yield (
                f"{subject}: the same order of NSS has an APFD of {shown[0]} per input, {shown[1]} per fault type and "
                f"{shown[2]} by the authors' script."
            )


def retraining_findings(results: Results) -> Iterator[str]:
    """Table 10: what training alone gives, and what the choice adds."""
    for subject in ORDER:
        idle = mean_of(results.gain(subject, retraining.LEAKY, retraining.NONE, "0", "clean"))
        found = _gains(results.gain, subject, retraining.LEAKY, "clean")
        if idle is not None and RANDOM in found:
            best = max(found, key=found.__getitem__)
            yield (
                f"{subject}, the paper's protocol, clean test set: {100 * idle:+.2f} points from training on without "
                f"any new input; with 20% selected, a random choice gains {100 * found[RANDOM]:+.2f}, the best "
                f"({best}) {100 * found[best]:+.2f}."
            )
        found = _gains(results.beyond, subject, retraining.SPLIT, "mutated")
        if RANDOM in found:
            best = max(found, key=found.__getitem__)
            yield (
                f"{subject}, held-out half, mutated inputs, beyond training on: with 20% selected, a random choice "
                f"gains {100 * found[RANDOM]:+.2f}, NSS as printed {100 * found[NSS]:+.2f}, the best ({best}) "
                f"{100 * found[best]:+.2f}."
            )


def _gains(of: Callable[..., Cell], subject: str, protocol: str, kind: str) -> dict[str, float]:
    means = {method: mean_of(of(subject, protocol, method, "20", kind)) for method in retraining.METHODS}
    return {method: mean for method, mean in means.items() if mean is not None}


def ablation_findings(results: Results) -> Iterator[str]:
    """Tables 12 and 13."""
    for subject in ORDER:
        for variant in (ablation.PAPER, ablation.CODE):
            values = {s: mean_of(results.varied(subject, "share", s, variant)) for s in ablation.SHARES}
            known = [value for value in values.values() if value is not None]
            spots = {n: v for n in ablation.LAYERS if (v := mean_of(results.varied(subject, "layer", n, variant)))}
            if len(known) != len(values):
                continue
            text = f"{subject}, {variant}: FDR at 20% from {percent(known[0])} with 1% of the neurons to "
            text += f"{percent(known[-1])} with all"
            if len(set(spots.values())) > 1:
                best, worst = max(spots, key=spots.__getitem__), min(spots, key=spots.__getitem__)
                text += f"; best layer {best} ({percent(spots[best])}), worst {worst} ({percent(spots[worst])})"
            yield text + "."


def operation_findings(results: Results) -> Iterator[str]:
    """Tables 14 and 15."""
    for subject in ablation.SINGLE:
        for table, title in (("identify", "Algorithm 1"), ("select", "Algorithm 2")):
            found = {
                name: value
                for name in paper.OPERATIONS
                if (value := mean_of(results.varied(subject, table, name, ablation.PAPER, "fdr_5"))) is not None
            }
            if len(found) > 1:
                low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
                yield (
                    f"{subject}, mutations of {title}: FDR at 5% from {percent(found[low])} ({low}) to "
                    f"{percent(found[high])} ({high})."
                )


def overhead_findings(results: Results) -> Iterator[str]:
    """Fig. 6 and Table 11."""
    for subject in ORDER:
        nss, gini = results.seconds(subject, NSS), results.seconds(subject, GINI)
        if nss is None or not gini:
            continue
        others = {m: value for m in ALL if (value := results.seconds(subject, m)) is not None}
        slow = max(others, key=others.__getitem__)
        yield (
            f"{subject}: NSS takes {nss:.1f} s, {nss / gini:.1f} times as long as DeepGini; slowest {slow} "
            f"({others[slow]:.1f} s)."
        )


FINDINGS = {
    "internal": internal_findings,
    "partitions": partition_findings,
    "detection": detection_findings,
    "diversity": diversity_findings,
    "early": early_findings,
    "retraining": retraining_findings,
    "ablation": ablation_findings,
    "operations": operation_findings,
    "overhead": overhead_findings,
}
