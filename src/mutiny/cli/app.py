"""The application that the commands belong to."""

from __future__ import annotations

from typing import Annotated

import typer

from mutiny import __version__
from mutiny.cli import (
    assess,
    attack,
    demo,
    locate,
    measures,
    methods,
    operators,
    repair,
    report,
    resume,
    select,
    status,
    strengthen,
)

app = typer.Typer(
    name="mutiny",
    help="Can you trust this neural network? Mutation testing and more for PyTorch models.",
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
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and leave.", callback=_show_version, is_eager=True)
    ] = False,
) -> None:
    pass


app.command(name="demo")(demo.demo)
app.command(name="assess")(assess.assess)
app.command(name="select")(select.select)
app.command(name="strengthen")(strengthen.strengthen)
app.command(name="locate")(locate.locate)
app.command(name="repair")(repair.repair)
app.command(name="attack")(attack.attack)
app.command(name="resume")(resume.resume)
app.command(name="status")(status.status)
app.command(name="report")(report.report)
app.command(name="operators")(operators.operators)
app.command(name="methods")(methods.methods)
app.command(name="measures")(measures.measures)
