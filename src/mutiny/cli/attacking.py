"""From the options of ``mutiny attack`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import torch
from rich.console import Console

from mutiny.attacks.attack import attack
from mutiny.attacks.methods import NAMES, as_attack
from mutiny.attacks.mutants import Choice
from mutiny.attacks.result import Robustness
from mutiny.checks import check_whole
from mutiny.errors import BadInput
from mutiny.reports.attack_files import draw_adversarial, write_adversarial
from mutiny.reports.attack_text import attack_text
from mutiny.reports.curves import check_picture
from mutiny.reports.files import check_writable
from mutiny.reports.json import write_json
from mutiny.reports.progress import TerminalProgress
from mutiny.subjects import load_subject


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
    **settings: Any,
) -> Robustness:
    """Runs ``attack``, shows and writes the result."""
    for option, path in (("--json", json), ("--save", save), ("--grid", grid)):
        if path is not None:
            check_writable(path, option)
    if grid is not None:
        check_picture(grid, "--grid")
    check_whole("--threads", threads)
    settings["attack"] = as_attack(settings["attack"])
    settings["beside"] = NAMES.parse(settings["beside"]) if settings.get("beside") else ()
    settings["eps"] = [_number(one) for one in settings["eps"].split(",")]
    codes = tuple(code.strip() for code in choice["operators"].split(","))
    made = Choice(**{**choice, "operators": codes, "iterations": max(choice["iterations"], choice["count"])})
    torch.set_num_threads(threads)
    console = console or Console()
    subject = load_subject(name, data)
    with nullcontext() if quiet else TerminalProgress(Console(stderr=True)) as progress:
        result = attack(subject, data=inputs, mutants=made, progress=progress, **settings)
    if not quiet:
        console.print(attack_text(result))
    if json is not None:
        write_json(json, result.to_json())
    if save is not None:
        write_adversarial(result, save)
    if grid is not None:
        draw_adversarial(result, grid)
    return result


def _number(text: str) -> float:
    """Also a fraction, as distances of pixels often are.

    >>> _number("8/255") == 8 / 255
    True
    """
    try:
        above, _, below = text.partition("/")
        return float(above) / float(below or 1)
    except (ValueError, ZeroDivisionError):
        raise BadInput("--eps", repr(text), "numbers or fractions such as 0.1 or 8/255, with commas") from None
