"""Tables of the page: ours, and in italics beside it the paper's."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mutiny.verbs.select.metrics import Repeated
from studies.nss import ablation, paper, retraining
from studies.nss.detection import PERCENT
from studies.nss.methods import ALL, FOUR, GINI, INTERNAL, RANDOM, THEIRS
from studies.nss.partitions import METHODS as SCORED
from studies.nss.results import NOT_APPLICABLE, Cell, Results
from studies.nss.subjects import LENETS, ORDER
from studies.store import number
from studies.writing import NOT_RUN, markdown

SHOWN = (*FOUR, *THEIRS[1:], *(name for name in ALL if name not in (*THEIRS, *FOUR)))
"""Rows of the large tables: NSS four times, the paper's other methods, the rest."""
Ours = Callable[[str, str], str]


def cell(value: Cell, digits: int = 1, factor: float = 100) -> str:
    """A mean in per cent with half of its 95% interval, words as they are, "not run" for nothing.

    >>> from mutiny.core.stats import Interval
    >>> cell(Repeated(0.25, 2, Interval(0.23, 0.27, 0.95, "student"))), cell(Repeated(0.25, 1, None)), cell(None)
    ('25.0 ± 2.0', '25.0', 'not run')
    """
    if not isinstance(value, Repeated):
        return value or NOT_RUN
    half = f" ± {factor * (value.interval.high - value.mean):.{digits}f}" if value.interval else ""
    return f"{factor * value.mean:.{digits}f}{half}"


def plain(value: Cell, digits: int = 1, factor: float = 100) -> str:
    """The mean alone."""
    return f"{factor * value.mean:.{digits}f}" if isinstance(value, Repeated) else value or NOT_RUN


def joined(cells: Sequence[str]) -> str:
    """Several numbers in one cell; a word that stands for all of them once."""
    return cells[0] if set(cells) in ({NOT_RUN}, {NOT_APPLICABLE}) else " / ".join(cells)


def _head(names: Sequence[str] = ORDER, counterparts: Sequence[str] = tuple(paper.NAMES)) -> list[str]:
    return [title for s in names for title in ((s, f"*{paper.NAMES[s]}*") if s in counterparts else (s,))]


def _beside(
    rows: Sequence[tuple[str, str]], ours: Ours, theirs: paper.Table, digits: int = 1, names: Sequence[str] = ORDER
) -> str:
    """One row per (title, key), for each subject ours and the paper's."""
    body = []
    for title, key in rows:
        cells = []
        for subject in names:
            cells.append(ours(subject, key))
            if subject in paper.NAMES:
                value = theirs[subject].get(key)
                cells.append("" if value is None else f"*{100 * value:.{digits}f}*")
        body.append([title, *cells])
    return markdown(["", *_head(names)], body)


def subjects(results: Results) -> str:
    """Data, networks, accuracy (Table 3)."""
    rows, body = {row["subject"]: row for row in results.subjects}, []
    for name in ORDER:
        row, theirs = rows.get(name), paper.ACCURACY.get(name)
        beside = "-" if theirs is None else f"*{100 * theirs:.2f}*"
        if row is None:
            body.append([name, *[NOT_RUN] * 6, beside, NOT_RUN])
            continue
        trained = f"{row['epochs']} epochs" if row["epochs"] != "1" else "1 epoch"
        body.append([
            name,
            f"{row['network']}, {int(row['weights']):,} weights",
            f"{int(row['train']):,} / {int(row['test']):,}",
            f"{trained}, learning rate {row['learning_rate']}",
            row["originals"],
            _spread(row["pool_accuracy"], row["pool_sd"]),
            _spread(row["test_accuracy"], row["test_sd"]),
            beside,
            f"{float(row['types']):.0f} of {int(row['classes']) * (int(row['classes']) - 1)}",
        ])  # fmt: skip
    head = ["subject", "network", "train / test inputs", "training", "originals", "accuracy on the pools, %"]
    return markdown([*head, "on the clean test set, %", "*paper*", "fault types in a pool"], body)


def _spread(mean: str, sd: str) -> str:
    return f"{100 * float(mean):.2f}" + (f" (sd {100 * float(sd):.2f})" if sd else "")


def internal(results: Results) -> str:
    """Table 1."""
    body = []
    for subject in LENETS[:2]:
        for title, method in (("internal Gini", INTERNAL), ("random", RANDOM)):
            theirs = paper.INTERNAL[subject] if method == INTERNAL else [paper.FDR[p][subject][RANDOM] for p in PERCENT]
            cells = [
                text
                for p, value in zip(PERCENT, theirs, strict=True)
                for text in (cell(results.found(subject, method, f"fdr_{p}")), f"*{100 * value:.1f}*")
            ]
            body.append([subject, title, *cells])
    return markdown(["subject", "method", *(t for p in PERCENT for t in (f"{p}%", "*paper*"))], body)


def correlations(results: Results) -> str:
    """Table 6."""
    body = []
    for subject in ORDER:
        cells = [
            joined([plain(results.correlation(subject, m, c), 3, 1) for c in ("pearson", "spearman")]) for m in SCORED
        ]
        theirs = paper.CORRELATION.get(subject)
        body.append([subject, *cells, "-" if theirs is None else f"*{theirs[0]:.3f} / {theirs[1]:.3f}*"])
    return markdown(["Pearson / Spearman", *SCORED, "*paper*"], body)


def detection(results: Results, percent: int) -> str:
    """A quarter of Table 7."""
    table = _beside(
        [(name, name) for name in SHOWN],
        lambda subject, method: cell(results.found(subject, method, f"fdr_{percent}")),
        paper.FDR[percent],
    )
    rates = []
    for subject in ORDER:
        rate = results.fault_rate(subject)
        rates += [NOT_RUN if rate is None else f"{100 * rate:.1f}", *([""] if subject in paper.NAMES else [])]
    return table + "\n| faults in the pool | " + " | ".join(rates) + " |"


def diversity(results: Results) -> str:
    """Table 8."""

    def ours(subject: str, method: str) -> str:
        kinds = ("possible", "present", "ideal")
        return joined([plain(results.found(subject, method, f"rauc_{kind}")) for kind in kinds])

    return _beside([(name, name) for name in SHOWN], ours, paper.RAUC, 2)


def early(results: Results) -> str:
    """Table 9, with the most that is possible."""

    def ours(subject: str, method: str) -> str:
        kinds = ("input", "type", "authors")
        return joined([plain(results.found(subject, method, f"apfd_{kind}")) for kind in kinds])

    table = _beside([(name, name) for name in SHOWN], ours, paper.APFD, 2)
    most = []
    for subject in ORDER:
        best = [plain(results.found(subject, RANDOM, name)) for name in ("max_apfd", "max_apfd_type")]
        most.append(joined(best))
        if subject in paper.NAMES:
            most.append(f"*{100 * (1 - paper.FDR[20][subject][RANDOM] / 2):.2f}*")
    return table + "\n| most possible | " + " | ".join(most) + " |"


def gains(results: Results, protocol: str) -> str:
    """Table 10: all that is gained on clean, and on mutated inputs."""
    body = []
    for method, budget in _choices():
        cells = []
        for subject in ORDER:
            found = [results.gain(subject, protocol, method, budget, kind) for kind in ("clean", "mutated")]
            cells.append(joined([plain(one, 2) for one in found]))
            if subject in paper.NAMES:
                theirs = paper.GAIN.get(int(budget), {}).get(subject, {}).get(method)
                cells.append("" if theirs is None else f"*{100 * theirs:.2f}*")
        body.append([method, f"{budget}%", *cells])
    return markdown(["selected by", "share", *_head()], body)


def gains_beyond(results: Results, protocol: str) -> str:
    """What is gained beyond training on without any new input, repeat by repeat."""
    body = []
    for method, budget in _choices()[1:]:
        found = [
            [results.beyond(subject, protocol, method, budget, kind) for kind in ("clean", "mutated")]
            for subject in ORDER
        ]
        body.append([method, f"{budget}%", *(joined([cell(one, 2) for one in both]) for both in found)])
    return markdown(["selected by", "share", *ORDER], body)


def _choices() -> list[tuple[str, str]]:
    """Methods of retraining with their budgets, the control first."""
    return [(retraining.NONE, "0"), *((m, b) for b in retraining.BUDGETS for m in retraining.METHODS)]


def shares(results: Results, variant: str) -> str:
    """Table 12."""
    return _beside(
        [(f"{100 * float(share):g}%", share) for share in ablation.SHARES],
        lambda subject, share: cell(results.varied(subject, "share", share, variant)),
        paper.SHARE,
    )


def layers(results: Results, variant: str) -> str:
    """Table 13."""
    return _beside(
        [(layer, layer) for layer in ablation.LAYERS],
        lambda subject, layer: cell(results.varied(subject, "layer", layer, variant)),
        paper.LAYER,
        2,
    )


def operations(results: Results, table: str) -> str:
    """Tables 14 and 15: FDR at 5 / 10 / 15 / 20%."""
    theirs = paper.IDENTIFY if table == "identify" else paper.SELECT
    variants = (ablation.PAPER,) if table == "identify" else (ablation.PAPER, ablation.CODE)
    columns = [(subject, variant) for subject in ablation.SINGLE for variant in variants]
    body = []
    for operation in paper.OPERATIONS:
        cells = []
        for subject, variant in columns:
            found = [plain(results.varied(subject, table, operation, variant, f"fdr_{p}")) for p in PERCENT]
            text = joined(found)
            if variant == ablation.CODE:
                rate = _rate(results, subject, table, operation)
                text += "" if rate is None else f" (faults {100 * rate:.1f})"
            cells.append(text)
        body.append([operation, *cells, f"*{' / '.join(f'{100 * value:.1f}' for value in theirs[operation])}*"])
    head = [f"{subject}, {variant}" if len(variants) > 1 else subject for subject, variant in columns]
    return markdown(["mutation", *head, f"*{paper.NAMES[ablation.SINGLE[0]]}*"], body)


def _rate(results: Results, subject: str, table: str, operation: str) -> float | None:
    faults, inputs = (
        results.varied(subject, table, operation, ablation.CODE, column) for column in ("faults", "inputs")
    )
    return faults.mean / inputs.mean if isinstance(faults, Repeated) and isinstance(inputs, Repeated) else None


def seconds(results: Results) -> str:
    """Fig. 6 in numbers."""

    def ours(subject: str, method: str) -> str:
        if isinstance(results.found(subject, method, "fdr_5"), str):
            return NOT_APPLICABLE
        value = results.seconds(subject, method)
        return NOT_RUN if value is None else f"{value:.1f}"

    return markdown(["seconds", *ORDER], [[name, *(ours(subject, name) for subject in ORDER)] for name in SHOWN])


def breakdown(results: Results) -> str:
    """Table 11: NSS with a tenth of the neurons, and with all."""
    body = []
    for subject in ORDER:
        ours = [results.varied(subject, "share", share, ablation.PAPER, "seconds") for share in ("0.1", "1.0")]
        theirs = paper.SECONDS.get(subject)
        beside = [f"*{theirs[0] + theirs[1]:.1f}*", f"*{theirs[2]:.1f}*"] if theirs else ["-", "-"]
        gini = results.seconds(subject, GINI)
        body.append([subject, *(plain(one, 1, 1) for one in ours), NOT_RUN if gini is None else f"{gini:.1f}", *beside])
    return markdown(["seconds", "10% of the neurons", "all neurons", GINI, "*paper, 10%*", "*paper, all*"], body)


def reasons(results: Results) -> str:
    """Why methods do not apply, each reason once."""
    found: dict[tuple[str, str], list[str]] = {}
    for row in results.detection:
        if row["status"] == "not applicable":
            where = found.setdefault((row["method"], row["reason"]), [])
            where += [row["subject"]] if row["subject"] not in where else []
    texts = [f"{method} on {', '.join(where)}: {reason}" for (method, reason), where in found.items()]
    return f"Not applicable (N/A): {'; '.join(texts)}." if texts else ""


def times(results: Results) -> str:
    """What each part took."""
    parts = {name: getattr(results, name) for name in ("detection", "partitions", "ablation", "retraining")}
    body = []
    for name, rows in parts.items():
        spent = [sum(number(row, column) or 0 for row in rows) for column in ("seconds", "cpu_seconds")]
        body.append([name, str(len(rows)), *(f"{value / 60:.1f}" for value in spent)])
    return markdown(["part", "units", "wall minutes", "processor minutes"], body)
