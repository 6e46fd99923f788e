"""From the options of ``mutiny repair`` to a finished command: load, run, show, write, exit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer

from mutiny.cli.calling import Call, names_of
from mutiny.reports.files import replacing
from mutiny.reports.repair_text import repair_text
from mutiny.subjects.data import as_pool
from mutiny.verbs.repair.files import SUFFIX, save_patch, save_weights
from mutiny.verbs.repair.methods import as_repair
from mutiny.verbs.repair.repair import repair
from mutiny.verbs.repair.result import Repair


def run_repair(options: Mapping[str, Any]) -> Repair:
    """Runs ``repair``, shows and writes the result, and exits with 1 if there are failures but no repair."""
    call = Call("repair", options)
    inputs, save, patch, anyway, layers = call.take("inputs", "save", "patch", "anyway", "layers")
    call.check({"--save": save, "--patch": patch}, {"--save": SUFFIX, "--patch": SUFFIX})
    call.own["method"] = as_repair(call.own["method"])
    subject = call.subject()
    inputs = None if inputs is None else as_pool(inputs, "--inputs")
    with call.running() as how:
        result = repair(subject, data=inputs, layers=names_of(layers), **how, **call.own)
    call.write(result)
    call.show(repair_text(result))
    if result.repaired or (anyway and result.patch.edits):
        _write(result, save, patch)
    elif save is not None or patch is not None:
        typer.echo(f"mutiny: {_reason(result)}", err=True)
    if not result.repaired and result.target["failures"]:
        raise typer.Exit(1)
    return result


def _reason(result: Repair) -> str:
    """Why no weights were written."""
    if not result.target["failures"]:
        return "nothing fails in this way, so no weights were written"
    if not result.patch.edits:
        return "no patch was found, so no weights were written"
    return "no repair, so no weights were written (--anyway writes them all the same)"


def _write(result: Repair, save: Path | None, patch: Path | None) -> None:
    if save is not None:
        with replacing(save) as part:
            save_weights(result.model(), part)
    if patch is not None and result.original is not None:
        with replacing(patch) as part:
            save_patch(result.patch, result.original, part)
