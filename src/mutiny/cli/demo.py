"""``mutiny demo``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mutiny.cli.assess import assess
from mutiny.cli.options import WRITE, Seed, option

if TYPE_CHECKING:
    from mutiny.verbs.assess.result import Assessment

PAGE = Path("mutiny-report.html")
SHIPPED = 10
"""Number of networks that come with the package, for seed 0."""


def demo(
    originals: Annotated[int, option("Number of networks to test.")] = 10,
    seed: Seed = 0,
    no_report: Annotated[bool, option("Do not write an HTML report.", WRITE, "--no-report")] = False,
) -> None:
    """Try it: inject faults into small digit classifiers and see which ones their tests notice."""
    from mutiny.core.checks import check_whole
    from mutiny.reports.terminal import Output

    check_whole("--originals", originals)
    check_whole("--seed", seed, 0)
    takes = "It takes about a minute."
    if originals > SHIPPED or seed:
        takes = "Networks that do not come with\n mutiny are trained first, so it takes longer than a minute."
    console = Output()
    console.print(
        f"\n [bold]mutiny[/]  Would a test set notice if a neural network went wrong?\n\n"
        f" This injects faults into {originals} small CNNs for the digits of scikit-learn, and\n"
        f" measures which of them 449 test images notice. {takes}",
        highlight=False,
    )
    options = {"subject": "digits", "operators": "WI,NI,GF,NEB,NS,LR", "originals": originals, "seed": seed}
    result = assess.run({**options, "no_store": True}, console)
    if not no_report:
        sentence = write_page(result, f"mutiny demo --originals {originals} --seed {seed}")
        console.print(f"\n {sentence}", highlight=False, markup=False)
    console.print(
        "\n Next: [bold]mutiny assess FILE.py:NAME[/] for your own model (the tutorial in the\n"
        "       documentation shows how), [bold]mutiny operators[/] for all faults, and\n"
        "       [bold]mutiny assess --help[/] for the options.\n",
        highlight=False,
    )


def write_page(result: Assessment, command: str) -> str:
    """Write the report of the demo to the working folder; return a sentence about the outcome."""
    from mutiny.cli.report_page import page_for
    from mutiny.core.errors import BadInput
    from mutiny.reports.loading import LoadedResult
    from mutiny.reports.page.render import write_html

    try:
        write_html(PAGE, page_for({"assess": LoadedResult(result)}, {"assess": command}))
    except BadInput as error:
        return f"The report was not written: {error}"
    return f"The same as an HTML report, with charts: {PAGE}"
