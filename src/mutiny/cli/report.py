"""``mutiny report``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from mutiny.cli.loading_message import loading
from mutiny.cli.options import Json, option, with_limit
from mutiny.cli.paths import quoted_path
from mutiny.cli.stored_command import checked_command
from mutiny.cli.streams import say
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, called

ResultFiles = Annotated[
    list[Path], typer.Argument(metavar="FILE...", help="Campaign files, such as digits.mutiny, or JSON results.")
]


@with_limit
@called("FILE", "file", "store")
def report(
    files: ResultFiles,
    out: Annotated[Path | None, option("HTML file for a report of all results.", None, "--out", "-o")] = None,
    json: Json = None,
) -> None:
    """Show the latest result in a file, or write an HTML report, without computing anything."""
    with loading():
        from mutiny.cli.report_page import page_for, parts_for, with_steps
        from mutiny.reports.files import check_distinct, check_suffix, check_writable, write_json
        from mutiny.reports.loading import is_json, matching_results, read_json, read_results
        from mutiny.reports.page.render import write_html
        from mutiny.reports.result_text import result_text
        from mutiny.reports.terminal import Output

    for file in files:
        check_path("FILE", file)
        if not file.is_file():
            raise BadInput("FILE", file, "a campaign file or a JSON result that exists")
    if out is not None:
        check_writable(out, "--out")
        if out.resolve() in [file.resolve() for file in files]:
            raise BadInput("--out", out, "another file than those it is made from")
        check_suffix(out, "--out", ".html", ".htm")
    if json is not None:
        check_writable(json, "--json")
        check_distinct({"--json": json, "--out": out, "FILE": files[0]})
        if len(files) > 1 or is_json(files[0]):
            raise BadInput("--json", json, "a single campaign file, the latest result of which is written")
    console = Output()
    if out is not None:
        results = read_results(files)
        for loaded in results:
            checked_command(loaded.command, loaded.file)
        matching, omitted = matching_results(results)
        write_html(out, page_for(matching, omitted=omitted))
        for sentence in omitted:
            console.print(f" {sentence}", highlight=False, markup=False)
        console.print(f" The report is in {quoted_path(out)}.", highlight=False, markup=False, soft_wrap=True)
    for file in files if out is None or json is not None else []:
        result, command = (read_json(file).result, None) if is_json(file) else _latest(file)
        if out is None:
            text = result_text(result, console.width)
            console.print(with_steps(text, result, parts_for(result, command, file), console.width), crop=False)
        if json is not None:
            write_json(json, _json(result))


def _latest(file: Path) -> tuple[Any, Mapping[str, Any] | None]:
    """The result of the latest finished campaign in a file, and its command if it was started by one."""
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.results import Result
    from mutiny.reports.loading import checked

    with SqliteStore(file, write=False) as store:
        if store.incomplete:
            say(store.incomplete)
        for campaign in reversed(store.campaigns()):
            result = store.outcome(campaign.id)
            if result is not None:
                result = checked(result, file) if isinstance(result, Result) else result
                return result, checked_command(campaign.command, file)
    raise BadInput("FILE", file, "a finished campaign", f"Finish it with: mutiny resume {quoted_path(file)}")


def _json(result: Any) -> Any:
    """The JSON that the verb's own ``--json`` writes."""
    from mutiny.core.json_values import to_plain
    from mutiny.verbs.locate.result import Location

    if isinstance(result, Location):
        return {**result.to_json(), "synthesis": None}  # campaigns do not keep synthesized inputs
    return result.to_json() if hasattr(result, "to_json") else to_plain(result)
