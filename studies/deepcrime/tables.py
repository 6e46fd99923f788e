"""Tables of the page: ours, and beside it the paper's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from studies.deepcrime import paper, spectra
from studies.deepcrime.lab import SETS
from studies.deepcrime.paper import MUFF, TOOLS
from studies.deepcrime.results import PAIRS, CsvRow, Results
from studies.deepcrime.subjects import ORDER
from studies.muff.paper import DATA, NAMES
from studies.muff.results import mean, of_paper, sensitivity_of
from studies.muff.tables import cell
from studies.store import number
from studies.writing import NOT_RUN, markdown, percent


def _number(value: float | None, digits: int = 3) -> str:
    return NOT_RUN if value is None else f"{value:,.{digits}g}" if value < 1000 else f"{value:,.0f}"


def _short(row: CsvRow, column: str) -> str:
    value = number(row, column)
    return "-" if value is None else f"{value:.4g}"


def subjects(results: Results) -> str:
    """Data, networks and originals."""
    body = []
    for name in ORDER:
        row, (train, test, network, performance) = results.subject(name), DATA[NAMES[name]]
        theirs = f"*{train:,} / {test:,}; {network}; {performance}*"
        if row is None:
            body.append([name, *[NOT_RUN] * 5, theirs])
            continue
        means = [f"{_short(row, f'{split}_metric')} (sd {_short(row, f'{split}_sd')})" for split in SETS[:2]]
        body.append(
            [
                name,
                f"{int(row['train']):,} / {int(row['test']):,} / {int(row['weak']):,}",
                f"{row['network']}, {int(row['weights']):,} weights",
                f"{row['originals']} x {row['epochs']} epochs, learning rate {row['learning_rate']}",
                f"{row['metric']} {' / '.join(means)}",
                " / ".join(percent(float(row[f"{split}_right"])) for split in SETS[:2]),
                theirs,
            ]
        )
    head = ["subject", "train / test / weak inputs", "network", "originals", "metric, train / test"]
    return markdown([*head, "right, train / test", "*paper*"], body)


def side_by_side(results: Results) -> str:
    """Sensitivity and seconds per mutant of the three tools."""
    body = []
    for subject in ORDER:
        theirs = NAMES[subject]
        for tool in TOOLS:
            ours, cost = results.sensitivity(subject, tool), results.cost(subject, tool)
            ran = bool(results.of_tool(subject, tool))
            seconds = paper.SECONDS[theirs]
            body.append(
                [
                    subject,
                    tool,
                    "no value" if ours is None and ran else cell(ours),
                    f"*{cell(paper.AVERAGES[theirs][tool])}*",
                    NOT_RUN if cost is None else _number(cost.per_mutant),
                    _times(results.times(subject, tool)),
                    f"*{seconds[tool]:,}*",
                    f"*{_times(seconds[tool] / seconds['MUFF'])}*",
                ]
            )
    head = ["subject", "tool", "mean sensitivity", "*paper*", "processor seconds per mutant", "times MUFF's"]
    return markdown([*head, "*seconds per mutant*", "*times MUFF's*"], body)


def _times(value: float | None) -> str:
    return NOT_RUN if value is None else f"{value:.3g}x"


def sensitivity(results: Results) -> str:
    """Table VI."""
    head = [name for subject in ORDER for name in (subject, f"*{NAMES[subject]}*")]
    body = []
    for tool, codes in TOOLS.items():
        for code in codes:
            cells = []
            for subject in ORDER:
                theirs = of_paper(paper.SENSITIVITY, subject, code)
                cells += [cell(sensitivity_of(results.row(subject, code))), f"*{cell(theirs)}*"]
            body.append([tool, code, *cells])
        means = []
        for subject in ORDER:
            ours = results.sensitivity(subject, tool)
            means += ["-" if ours is None else cell(ours), f"*{cell(paper.AVERAGES[NAMES[subject]][tool])}*"]
        body.append([tool, "mean", *means])
    return markdown(["tool", "operator", *head], body)


def unstable(results: Results) -> str:
    """Table VII's last column, and the mean share of unstable configurations of each tool."""
    body = []
    for subject in ORDER:
        rows, theirs = results.of_tool(subject, "DeepCrime"), paper.UNSTABLE[NAMES[subject]]
        ours = _listed(results.unstable(subject)) or "none"
        shares = [mean([number(row, "unstable") for row in results.of_tool(subject, tool)]) for tool in TOOLS]
        body.append([subject, ours if rows else NOT_RUN, f"*{_listed(theirs)}*", *(cell(one, 1) for one in shares)])
    return markdown(["subject", "unstable operators", "*paper*", *(f"mean share, {tool}" for tool in TOOLS)], body)


def _listed(shares: dict[str, float]) -> str:
    return ", ".join(f"{code} ({percent(share, 0)})" for code, share in shares.items())


def details(results: Results) -> str:
    """What stands behind Tables VI and VII for each operator of DeepCrime that applies."""
    body = []
    for subject in ORDER:
        for row in results.of_tool(subject, "DeepCrime"):
            strengths = [_short(row, f"weakest_{split}") for split in SETS]
            kills = "/".join(
                cell(value, 0) if (value := number(row, f"killability_{split}")) is not None else "-" for split in SETS
            )
            power, score = number(row, "instability_train"), number(row, "score")
            body.append(
                [
                    subject,
                    row["operator"],
                    row["configurations"],
                    row["strength"] or "-",
                    *strengths,
                    kills,
                    "-" if score is None else cell(score, 0),
                    cell(number(row, "unstable"), 0),
                    "-" if power is None else cell(power, 0),
                    row["trainings"],
                    f"{float(row['cpu_seconds']):,.0f}",
                ]
            )
    head = ["subject", "operator", "mutants", "searched", *(f"weakest: {split}" for split in SETS)]
    head += ["killability, train/test/weak", "score", "RSE above 5%", "power below 0.8", "trainings"]
    return markdown([*head, "processor seconds"], body) if body else NOT_RUN


def cost(results: Results) -> str:
    """Table VIII in full."""
    body = []
    for subject in ORDER:
        for tool in TOOLS:
            found = results.cost(subject, tool)
            if found is None:
                body.append([subject, tool, *[NOT_RUN] * 7])
                continue
            each = found.cpu_seconds / found.trainings if found.trainings else None
            body.append(
                [
                    subject,
                    tool,
                    str(found.operators),
                    f"{found.mutants:,}",
                    f"{found.trainings:,}",
                    _number(found.per_mutant),
                    _number(found.seconds / found.mutants),
                    _number(found.cpu_seconds / found.operators),
                    "-" if each is None else _number(each),
                ]
            )
    head = ["subject", "tool", "operators", "mutants", "trainings", "processor seconds per mutant"]
    return markdown([*head, "wall seconds per mutant", "processor seconds per operator", "per training"], body)


def saved(results: Results) -> str:
    """Trainings in several ways."""
    body = []
    for subject in ORDER:
        found, made = results.trainings(subject), results.cost(subject, "DeepCrime")
        if found is None or made is None:
            body.append([subject, *[NOT_RUN] * 7])
            continue
        sizes = ", ".join(f"{count} with {size}" for size, count in found.sizes.items())
        fewer = [_times(found.plain / count) if count else "-" for count in (made.trainings, found.grouped)]
        body.append(
            [
                subject,
                f"{found.plain:,}",
                f"{found.each:,}",
                f"{made.trainings:,}",
                fewer[0],
                f"{found.grouped:,}",
                fewer[1],
                sizes,
            ]
        )
    head = ["subject", "plain", "one per configuration", "made", "times fewer than plain", "in groups"]
    return markdown([*head, "times fewer than plain", "mutants decided"], body)


def distances(results: Results) -> str:
    """Fig. 4 in numbers: medians, and how many pairs of mutants stand behind them."""
    body = []
    for subject in ORDER:
        for span in (spectra.ALL, spectra.ORIGINALS):
            for epsilon in spectra.EPSILONS:
                found = results.distances_of(subject, span, epsilon)
                cells = [_median(found[pair]) if pair in found else "-" if found else NOT_RUN for pair in PAIRS]
                body.append([subject, span, epsilon, *cells])
    return markdown(["subject", "range of", "epsilon", *PAIRS], body)


def _median(values: npt.NDArray[np.float64]) -> str:
    return f"{np.median(values):.3g} ({len(values):,})"


def compared(results: Results) -> str:
    """What the distances come from."""
    texts = [
        f"{row['subject']}: {row['inputs']} inputs, {row['bins']} bins, {row['instances']} instances of each of "
        f"{' and '.join(f'{row[code]} mutants of {code}' for code in MUFF)} and of {row['DC']} of the {row['killed']} "
        f"mutants of DeepCrime that train kills; activations from {_short(row, 'low')} to {_short(row, 'high')}, those "
        f"of the originals from {_short(row, 'low_originals')} to {_short(row, 'high_originals')}"
        + (f"; {row['left_out']} instances without finite activations are left out" if int(row["left_out"]) else "")
        for row in results.spectra
    ]
    return f"What was compared. {'. '.join(texts)}." if texts else ""


def times(results: Results) -> str:
    """What each part took."""
    parts = {tool: [r for r in results.operators if r["operator"] in codes] for tool, codes in TOOLS.items()}
    parts["spectra"] = results.spectra
    body = [
        [
            name,
            str(len(rows)),
            *(f"{sum(number(r, c) or 0 for r in rows) / 60:.1f}" for c in ("seconds", "cpu_seconds")),
        ]
        for name, rows in parts.items()
    ]
    return markdown(["part", "units", "wall minutes", "processor minutes"], body)
