"""The application that the commands belong to."""

from __future__ import annotations

import typer

from mutiny.cli import assess, demo, operators

app = typer.Typer(
    name="mutiny",
    help="Can you trust this neural network? Mutation testing and more for PyTorch models.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    rich_markup_mode="rich",
)


@app.callback()
def _version(
    version: bool = typer.Option(False, "--version", help="Show the version and leave.", is_eager=True),
) -> None:
    if version:
        from mutiny import __version__

        typer.echo(f"mutiny {__version__}")
        raise typer.Exit


app.command(name="demo")(demo.demo)
app.command(name="assess")(assess.assess)
app.command(name="operators")(operators.operators)
