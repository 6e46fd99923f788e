"""``mutiny repair``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import WRITE, LabeledInputs, option
from mutiny.cli.streams import say

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.verbs.repair.result import Repair


@verb(aliases={"data": "inputs"})
def repair(
    invocation: Invocation,
    method: Annotated[
        str,
        option(
            'Repair method: "search" (new values for weights to blame), "scale" (factors for neurons) or "tune" '
            '(training of suspects), with optional parameters: "search(generations=50)".',
            complete=completion.repairs,
        ),
    ] = "search",
    target: Annotated[
        str,
        option(
            "Failures to repair: all, confusion (the most frequent one), or true and predicted class, such as 3,5.",
            complete=completion.words("all confusion"),
        ),
    ] = "all",
    inputs: LabeledInputs = None,
    layers: Annotated[
        str | None, option('Layers that may change: names or patterns joined by "+"; all by default.')
    ] = None,
    save: Annotated[Path | None, option("Safetensors file for the repaired weights.")] = None,
    patch: Annotated[Path | None, option("Safetensors file for the changed weights only.", WRITE)] = None,
    anyway: Annotated[
        bool, option("Write weights even if they are not shown to be a repair.", WRITE, "--anyway")
    ] = False,
) -> Repair:
    """Search for a weight patch that fixes failures; exit code 1 if none is found."""
    from mutiny.cli.invocation import split_names
    from mutiny.reports.repair_text import repair_text
    from mutiny.verbs.repair.files import SUFFIX
    from mutiny.verbs.repair.methods import as_repair
    from mutiny.verbs.repair.repair import repair

    invocation.check({"--save": save, "--patch": patch}, {"--save": SUFFIX, "--patch": SUFFIX})
    chosen = as_repair(method)
    subject, data = invocation.subject_and_inputs(inputs)
    with invocation.running() as runtime:
        result = repair(subject, chosen, target=target, data=data, layers=split_names(layers), **runtime)
    invocation.write_and_show(result, repair_text(result))
    if result.repaired or (anyway and result.patch.edits):
        _write(result, save, patch)
    elif save is not None or patch is not None:
        say(_reason(result))
    if not result.repaired and result.target["failures"]:
        raise typer.Exit(1)
    return result


def _reason(result: Repair) -> str:
    """Why no weights were written."""
    if not result.target["failures"]:
        return "there are no such failures, so no weights were written"
    if not result.patch.edits:
        return "no patch was found, so no weights were written"
    return "no repair was found, so no weights were written (use --anyway to write them)"


def _write(result: Repair, save: Path | None, patch: Path | None) -> None:
    from mutiny.reports.files import replacing
    from mutiny.verbs.repair.files import save_patch, save_weights

    if save is not None:
        with replacing(save) as part:
            save_weights(result.model(), part)
    if patch is not None and result.original is not None:
        with replacing(patch) as part:
            save_patch(result.patch, result.original, part)
