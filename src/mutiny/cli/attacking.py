"""From the options of ``mutiny attack`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.attacks.attack import attack
from mutiny.attacks.base import Attack
from mutiny.attacks.methods import as_attack, as_attacks
from mutiny.attacks.mutants import Choice
from mutiny.attacks.result import Robustness
from mutiny.checks import check_whole
from mutiny.cli.engaging import engaged, tell_where
from mutiny.errors import BadInput
from mutiny.reports.attack_files import draw_adversarial, write_adversarial
from mutiny.reports.attack_text import attack_text
from mutiny.reports.curves import check_picture
from mutiny.reports.files import check_writable
from mutiny.reports.grid import images
from mutiny.reports.json import write_json
from mutiny.subjects import load_subject
from mutiny.subjects.given import as_given

DISTANCE = "0.1"
"""How far inputs may go if nothing is said."""


def run_attack(
    name: str,
    data: Path | None,
    *,
    choice: Mapping[str, Any],
    inputs: str | None = None,
    json: Path | None = None,
    quiet: bool = False,
    threads: int = 1,
    save: Path | None = None,
    grid: Path | None = None,
    console: Console | None = None,
    command: Mapping[str, Any] | None = None,
    store: Path | None = None,
    engine: str | None = None,
    workers: int | None = None,
    address: str | None = None,
    **settings: Any,
) -> Robustness:
    """Runs ``attack``, shows and writes the result."""
    for option, path in (("--json", json), ("--save", save), ("--grid", grid)):
        if path is not None:
            check_writable(path, option)
    if grid is not None:
        check_picture(grid, "--grid")
    check_whole("--threads", threads)
    way = settings["attack"] = as_attack(settings["attack"])
    settings["beside"] = as_attacks(settings.get("beside") or ())
    settings["eps"] = _distances(settings["eps"], way)
    made = Choice(**{**choice, "ratios": _numbers(choice["ratios"], "--ratios")})
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    if grid is not None:
        images(as_given(subject, inputs, None, None, None, "--inputs", pool=False).data.first(1))
    with engaged(
        "attack", command, store=store, engine=engine, workers=workers, address=address, threads=threads, quiet=quiet
    ) as how:  # fmt: skip
        result = attack(subject, data=inputs, mutants=made, **how, **settings)
    if not quiet:
        console.print(attack_text(result))
        tell_where(console, store)
    if json is not None:
        write_json(json, result.to_json())
    if save is not None:
        write_adversarial(result, save)
    if grid is not None:
        draw_adversarial(result, grid)
    return result


def _distances(text: str | None, way: Attack) -> list[float]:
    """Those that were given, or 0.1; an error if the attack takes none."""
    if text is not None and not way.bounded:
        raise BadInput(
            "--eps", repr(text), f"no distance with {way.code}", "It looks for the nearest: leave out --eps."
        )
    return _numbers(DISTANCE if text is None else text, "--eps")


def _numbers(text: str, option: str) -> list[float]:
    """Also fractions, as distances of pixels often are.

    >>> _numbers("8/255, 0.1", "--eps") == [8 / 255, 0.1]
    True
    """
    try:
        parts = [one.partition("/") for one in text.split(",")]
        return [float(above) / float(below or 1) for above, _, below in parts]
    except (ValueError, ZeroDivisionError):
        raise BadInput(option, repr(text), "numbers or fractions such as 0.1 or 8/255, with commas") from None
