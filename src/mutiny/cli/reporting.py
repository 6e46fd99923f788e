"""From a campaign's file to its result on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.keeping import shown
from mutiny.cli.paging import check_out, page_for
from mutiny.core.errors import BadInput
from mutiny.core.records import to_plain
from mutiny.reports.attack_text import attack_text
from mutiny.reports.files import check_distinct, check_writable
from mutiny.reports.json import write_json
from mutiny.reports.location_text import location_text
from mutiny.reports.page.fitting import fitting
from mutiny.reports.page.render import write_html
from mutiny.reports.page.sources import Finding, is_json, read_json, read_sources
from mutiny.reports.page.text import answers_text
from mutiny.reports.repair_text import repair_text
from mutiny.reports.selection_text import selection_text
from mutiny.reports.strengthening_text import strengthening_text
from mutiny.reports.text import assessment_text
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.attack.result import Robustness
from mutiny.verbs.locate.result import Location
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.select.result import Selection
from mutiny.verbs.strengthen.result import Strengthening


def run_report(files: list[Path], json: Path | None, out: Path | None = None) -> None:
    """Prints the last result that each file has, whatever verb it is of, or writes a page of all of them."""
    for file in files:
        if not file.is_file():
            raise BadInput("file", file, "the file of a campaign, or a JSON result")
    if out is not None:
        check_out(out, files)
    if json is not None:
        check_writable(json, "--json")
        check_distinct({"--json": json, "--out": out, "FILE": files[0]})
        if len(files) > 1 or is_json(files[0]):
            raise BadInput("--json", json, "one campaign file to write the last result of")
    console = Console()
    if out is not None:
        findings, left = fitting(read_sources(files))
        write_html(out, page_for(findings, left=left))
        for sentence in left:
            console.print(f" {sentence}", highlight=False, markup=False)
        console.print(f" The report is in {shown(out)}.", highlight=False, markup=False, soft_wrap=True)
    for file in files if out is None or json is not None else []:
        result = read_json(file) if is_json(file) else _last(file)
        if out is None:
            console.print(result_text(result, console.width))
        if json is not None:
            write_json(json, _json(result))


def _last(file: Path) -> Any:
    with SqliteStore(file, write=False) as store:
        results = [found for each in store.campaigns() if (found := store.outcome(each.id)) is not None]
    if not results:
        raise BadInput("file", file, "a finished campaign", f"Finish it with: mutiny resume {shown(file)}")
    return results[-1]


def result_text(result: Any, width: int) -> RenderableType:
    """What the verb itself would show."""
    match result:
        case Finding():
            return answers_text(page_for({result.verb: result}))
        case Assessment():
            return assessment_text(result, width)
        case Selection():
            return selection_text(result, width)
        case Strengthening():
            return strengthening_text(result)
        case Location():
            return location_text(result)
        case Repair():
            return repair_text(result)
        case Robustness():
            return attack_text(result)
    return Text(str(result))


def _json(result: Any) -> Any:
    if isinstance(result, Location):
        return {**result.to_json(), "synthesis": None}  # inputs are not synthesised by campaigns
    return result.to_json() if hasattr(result, "to_json") else to_plain(result)
