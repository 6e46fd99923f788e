"""From the options of ``mutiny strengthen`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from mutiny.cli.calling import Call
from mutiny.cli.keeping import shown
from mutiny.cli.selecting import write_indices
from mutiny.core.errors import BadInput
from mutiny.faults.parsing import as_operators
from mutiny.reports.candidates import write_candidates
from mutiny.reports.strengthening_text import strengthening_text
from mutiny.verbs.select.parsing import as_methods
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.strengthen import strengthen
from mutiny.verbs.strengthen.validation import check_budgets


def run_strengthen(options: Mapping[str, Any]) -> Strengthening:
    """Runs ``strengthen``, shows and writes the result."""
    call = Call("strengthen", options)
    indices, tests, save, compare = call.take("indices", "tests", "save", "compare")
    own = call.own
    call.check({"--indices": indices, "--tests": tests, "--save": save}, {"--save": ".npz"})
    if tests is not None and not own["minimise"]:
        raise BadInput("--tests", tests, "a smaller test set to write", "Add --minimise.")
    if save is not None and not own["synthesize"]:
        raise BadInput("--save", save, "synthesised inputs", "Leave out --synthesize 0.")
    check_budgets(own["budget"])  # nonsense is refused before anything is loaded or trained
    if own["operators"] is not None:
        own["operators"] = as_operators(own["operators"])
    for wanted in (compare, own["tie_break"]):
        if wanted is not None:
            as_methods(wanted)
    subject = call.subject()
    with call.running() as how:
        result = strengthen(subject, methods=compare, **how, **own)
    call.write(result)
    call.show(strengthening_text(result))
    if indices is not None:
        write_indices(indices, result.order.tolist(), result.names)
    if tests is not None and result.subset is not None and len(result.subset):
        write_indices(tests, sorted(result.subset.indices.tolist()), subject.test.names)
    elif tests is not None:
        typer.echo(f"mutiny: no mutant is killed, so no tests are enough: {shown(tests)} was not written", err=True)
    if save is not None and result.candidates is not None:
        write_candidates(result.candidates, save)
    elif save is not None:
        typer.echo(f"mutiny: nothing was synthesised, so {shown(save)} was not written", err=True)
    return result
