"""``mutiny compare``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import WRITE, option
from mutiny.cli.streams import say

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.verbs.compare.result import Comparison

RECORDED = "or recorded answers: a .csv, .jsonl or .npz file"
Before = Annotated[
    str,
    typer.Argument(
        metavar="A",
        help=f"What it was before: a built-in subject, FILE.py:NAME or MODULE:NAME; {RECORDED}.",
        autocompletion=completion.subjects,
    ),
]
After = Annotated[
    str,
    typer.Argument(
        metavar="B",
        help=f"What it is now: a subject; a model or function in a file, FILE.py:NAME; an .onnx file; {RECORDED}.",
        autocompletion=completion.subjects,
    ),
]


@verb(aliases={"a": "subject", "slices": "slice"}, subject=Before)
def compare(
    invocation: Invocation,
    b: After,
    margin: Annotated[
        str | None,
        option("Largest loss that does not matter: 0.5pt (accuracy points), 1% (of the mean score of A) or 0.01."),
    ] = None,
    slice: Annotated[str | None, option('Columns of recorded answers to slice by, joined by "+".')] = None,
    alpha: Annotated[float, option("Level of the one-sided tests; the interval has the level 1 - 2 alpha.")] = 0.05,
    higher_is_better: Annotated[
        bool | None,
        option("Direction of scores; higher is better by default.", None, "--higher-is-better/--lower-is-better"),
    ] = None,
    strict: Annotated[bool, option("Exit with code 1 also if it cannot be told.", None, "--strict")] = False,
    junit: Annotated[Path | None, option("JUnit XML file, for CI servers.", WRITE)] = None,
    summary: Annotated[Path | None, option("Markdown file for a summary.", WRITE)] = None,
) -> Comparison:
    """Tell whether a change made the network worse: an export, a quantization, a retraining; exit code 1 if so."""
    from mutiny.cli.invocation import split_names
    from mutiny.core.stats.comparison import ComparisonVerdict, check_alpha
    from mutiny.reports.compare_ci_reports import write_comparison_reports
    from mutiny.reports.compare_text import compare_text
    from mutiny.verbs.compare.answer_files import is_answers_file
    from mutiny.verbs.compare.compare import compare
    from mutiny.verbs.compare.margin import as_margin

    invocation.check({"--junit": junit, "--summary": summary})
    check_alpha(alpha)
    as_margin(margin)
    subject = invocation.options["subject"]
    a: Any = subject if is_answers_file(subject) else invocation.subject()
    other = _other(b, invocation)
    with invocation.running() as runtime:
        result = compare(
            a,
            other,
            margin=margin,
            alpha=alpha,
            higher_is_better=higher_is_better,
            slices=split_names(slice),
            **runtime,
        )
    invocation.write_and_show(result, compare_text(result))
    write_comparison_reports(result, junit, summary, strict)
    if result.fails(strict):
        raise typer.Exit(1)
    if result.verdict is ComparisonVerdict.CANNOT_TELL and not invocation.quiet:
        say("it cannot be told whether B is worse (this passes without --strict)")
    return result


def _other(name: str, invocation: Invocation) -> Any:
    """What B names: a path for answers and ONNX, otherwise what is loaded."""
    from mutiny.core.errors import called
    from mutiny.subjects.builtin import BUILTIN
    from mutiny.subjects.loading import load_network
    from mutiny.verbs.compare.answer_files import is_answers_file

    if is_answers_file(name) or Path(name).suffix.lower() == ".onnx":
        return name
    with called("b", "name"):
        return load_network(name, invocation.options["data"] if name in BUILTIN else None)
