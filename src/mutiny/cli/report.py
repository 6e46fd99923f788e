"""``mutiny report``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from mutiny.cli.loading import loading
from mutiny.cli.options import Json, option
from mutiny.cli.paths import quoted_path
from mutiny.core.errors import BadInput

if TYPE_CHECKING:
    from rich.console import RenderableType

ResultFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Campaign files, such as digits.mutiny, or JSON results.")
]


def report(
    files: ResultFiles,
    out: Annotated[Path | None, option("HTML file for a report of all results.", None, "--out", "-o")] = None,
    json: Json = None,
) -> None:
    """Show the latest result of a file again, or write an HTML report; nothing is computed."""
    with loading():
        from rich.console import Console

        from mutiny.cli.report_page import check_out, page_for
        from mutiny.reports.files import check_distinct, check_writable
        from mutiny.reports.json import write_json
        from mutiny.reports.loading import is_json, read_json, read_results
        from mutiny.reports.page.matching import matching_results
        from mutiny.reports.page.render import write_html

    for file in files:
        if not file.is_file():
            raise BadInput("FILE", file, "a campaign file or a JSON result")
    if out is not None:
        check_out(out, files)
    if json is not None:
        check_writable(json, "--json")
        check_distinct({"--json": json, "--out": out, "FILE": files[0]})
        if len(files) > 1 or is_json(files[0]):
            raise BadInput("--json", json, "a single campaign file, the latest result of which is written")
    console = Console()
    if out is not None:
        findings, left = matching_results(read_results(files))
        write_html(out, page_for(findings, left=left))
        for sentence in left:
            console.print(f" {sentence}", highlight=False, markup=False)
        console.print(f" The report is in {quoted_path(out)}.", highlight=False, markup=False, soft_wrap=True)
    for file in files if out is None or json is not None else []:
        result = read_json(file).result if is_json(file) else _latest(file)
        if out is None:
            console.print(result_text(result, console.width))
        if json is not None:
            write_json(json, _json(result))


def _latest(file: Path) -> Any:
    """The result of the latest finished campaign in a file."""
    from mutiny.campaigns.stores.sqlite import SqliteStore

    with SqliteStore(file, write=False) as store:
        results = [result for each in store.campaigns() if (result := store.outcome(each.id)) is not None]
    if not results:
        raise BadInput("FILE", file, "a finished campaign", f"Finish it with: mutiny resume {quoted_path(file)}")
    return results[-1]


def result_text(result: Any, width: int) -> RenderableType:
    """The text that the verb itself would show."""
    from rich.text import Text

    from mutiny.reports.assess_text import assess_text
    from mutiny.reports.attack_text import attack_text
    from mutiny.reports.locate_text import locate_text
    from mutiny.reports.repair_text import repair_text
    from mutiny.reports.select_text import select_text
    from mutiny.reports.strengthen_text import strengthen_text
    from mutiny.verbs.assess.result import Assessment
    from mutiny.verbs.attack.result import Robustness
    from mutiny.verbs.locate.result import Location
    from mutiny.verbs.repair.result import Repair
    from mutiny.verbs.select.result import Selection
    from mutiny.verbs.strengthen.result import Strengthening

    match result:
        case Assessment():
            return assess_text(result, width)
        case Selection():
            return select_text(result, width)
        case Strengthening():
            return strengthen_text(result)
        case Location():
            return locate_text(result)
        case Repair():
            return repair_text(result)
        case Robustness():
            return attack_text(result)
    return Text(str(result))


def _json(result: Any) -> Any:
    from mutiny.core.json_values import to_plain
    from mutiny.verbs.locate.result import Location

    if isinstance(result, Location):
        return {**result.to_json(), "synthesis": None}  # campaigns do not keep synthesized inputs
    return result.to_json() if hasattr(result, "to_json") else to_plain(result)
