"""From a campaign's file to its result on the screen."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType
from rich.text import Text

from mutiny.attacks.result import Robustness
from mutiny.cli.keeping import shown
from mutiny.errors import BadInput
from mutiny.localization.location import Location
from mutiny.mutation.assessment import Assessment
from mutiny.records import to_plain
from mutiny.repairs.result import Repair
from mutiny.reports.attack_text import attack_text
from mutiny.reports.files import check_writable
from mutiny.reports.json import write_json
from mutiny.reports.location_text import location_text
from mutiny.reports.repair_text import repair_text
from mutiny.reports.selection_text import selection_text
from mutiny.reports.text import assessment_text
from mutiny.selection.selection import Selection
from mutiny.stores.sqlite import SqliteStore


def run_report(file: Path, json: Path | None, console: Console | None = None) -> None:
    """Prints the last result that the file has, whatever verb it is of."""
    if not file.is_file():
        raise BadInput("file", file, "the file of a campaign")
    if json is not None:
        check_writable(json, "--json")
    with SqliteStore(file, write=False) as store:
        results = [found for each in store.campaigns() if (found := store.outcome(each.id)) is not None]
    if not results:
        raise BadInput("file", file, "a finished campaign", f"Finish it with: mutiny resume {shown(file)}")
    console = console or Console()
    console.print(result_text(results[-1], console.width))
    if json is not None:
        write_json(json, _json(results[-1]))


def result_text(result: Any, width: int) -> RenderableType:
    """What the verb itself would show."""
    match result:
        case Assessment():
            return assessment_text(result, width)
        case Selection():
            return selection_text(result, width)
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
