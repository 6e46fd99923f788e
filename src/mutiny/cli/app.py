"""The application that the commands belong to."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny import __version__
from mutiny.cli.assess import assess
from mutiny.cli.attack import attack
from mutiny.cli.demo import demo
from mutiny.cli.errors import check_current_folder
from mutiny.cli.locate import locate
from mutiny.cli.measures import measures
from mutiny.cli.methods import methods
from mutiny.cli.operators import operators
from mutiny.cli.repair import repair
from mutiny.cli.report import report
from mutiny.cli.resume import resume
from mutiny.cli.select import select
from mutiny.cli.status import status
from mutiny.cli.strengthen import strengthen

app = typer.Typer(
    name="mutiny",
    help="Measure how well your tests guard a PyTorch network.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=True,
    rich_markup_mode="rich",
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"mutiny {__version__}")
        raise typer.Exit


@app.callback()
def _before_any_command(
    _version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    check_current_folder()  # libraries that mutiny loads end the process without it


app.command(rich_help_panel="Start")(demo)
for verb in (assess, select, strengthen, locate, repair, attack):
    app.command(verb.name, rich_help_panel="Test a network")(verb.callback())
for on_files in (report, status, resume):
    app.command(rich_help_panel="Campaign files")(on_files)
for listing in (operators, methods, measures):
    app.command(rich_help_panel="Lists")(listing)
