"""The ways in which mutiny reads stores and results, as commands do."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from random import Random
from typing import Any

import mutiny
from fuzz.corpus import VERBS, command_of
from fuzz.mutate import rarely
from mutiny.cli.assess_bar import earlier_assessment
from mutiny.cli.command import VerbCommand
from mutiny.cli.report import report
from mutiny.cli.resume import resume
from mutiny.cli.status import status
from mutiny.faults.parsing import as_operators


def of_store(draw: Random, path: Path) -> Callable[[], None]:
    """A way to read a store."""
    ways = [of_status, of_report, of_result, of_against, of_salvage, of_resume, of_resume, of_trust]
    way = of_page if rarely(draw) else draw.choice(ways)
    return lambda: way(path)


def of_json(draw: Random, path: Path) -> Callable[[], None]:
    """A way to read a JSON result."""
    way = of_page if rarely(draw) else draw.choice([of_report, of_report, of_result, of_against])
    return lambda: way(path)


def of_status(path: Path) -> None:
    """``mutiny status``."""
    status(path)


def of_report(path: Path) -> None:
    """``mutiny report``."""
    report([path])


def of_page(path: Path) -> None:
    """``mutiny report -o``."""
    report([path], out=path.with_name("page.html"))


def of_result(path: Path) -> None:
    """``mutiny.load_result``, and what a notebook shows."""
    result = mutiny.load_result(path)
    result.to_json()
    result.tables()
    result.metrics()
    result._repr_html_()


def of_against(path: Path) -> None:
    """``mutiny assess --against``."""
    earlier_assessment(path, as_operators("GF,WI"), 0)


def of_salvage(path: Path) -> None:
    """``mutiny resume --salvage``, and a look at what was saved."""
    resume_stopped(path, salvage=True)
    for saved in path.parent.glob("*-salvaged*"):
        status(saved)


def of_resume(path: Path) -> None:
    """``mutiny resume``."""
    resume_stopped(path)


def of_trust(path: Path) -> None:
    """``mutiny resume --trust``."""
    resume_stopped(path, trust=True)


def resume_stopped(path: Path, salvage: bool = False, trust: bool = False) -> None:
    """Resumes a campaign up to the point where its command would run: with trust, a mutated file could name any.

    Raises:
        AssertionError: A command would run that is neither trusted nor one of those with a proof in the corpus.
    """

    def stop(verb: VerbCommand, options: Mapping[str, Any]) -> None:
        said = {name: value for name, value in options.items() if name not in ("store", "no_store", "quiet")}
        if not trust:
            proven = [(name, command_of(name, path)["arguments"]) for name in VERBS]
            assert (verb.name, said) in proven, f"resume would run {verb.name} with {said}"
        raise Stopped

    run, VerbCommand.run = VerbCommand.run, stop  # type: ignore[method-assign,assignment]
    try:
        with suppress(Stopped):
            resume(path, salvage=salvage, trust=trust)
    finally:
        VerbCommand.run = run  # type: ignore[method-assign]


class Stopped(Exception):
    """A command was about to run."""
