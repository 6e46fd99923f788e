"""From the options of ``mutiny select`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mutiny.cli.calling import Call, names_of
from mutiny.core.errors import BadInput
from mutiny.reports.curves import draw_curves
from mutiny.reports.files import write_text
from mutiny.reports.selection_text import selection_text
from mutiny.subjects import Subject
from mutiny.subjects.data import Data, as_pool, mutate
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import as_given
from mutiny.verbs.select.budget import check_budget
from mutiny.verbs.select.parsing import as_methods
from mutiny.verbs.select.result import Selection
from mutiny.verbs.select.select import select


def run_select(options: Mapping[str, Any]) -> Selection:
    """Runs ``select``, shows and writes the result."""
    call = Call("select", options)
    method, compare, pool, indices, plot, layers = call.take("method", "compare", "pool", "indices", "plot", "layers")
    call.check({"--indices": indices, "--plot": plot})
    if method is not None and compare is not None:
        raise BadInput("--method", method, "either --method or --compare", "Name it first in --compare.")
    check_budget(call.own["budget"])  # nonsense is refused before anything is loaded or trained
    wanted = compare or method
    methods = None if wanted is None else as_methods(wanted)
    subject = call.subject()
    inputs = _pool(pool, subject, call.own["seed"])
    labels = as_given(subject, inputs, None, None, None, "pool", pool=True).data.targets
    if plot is not None and unknown(labels, subject.task):
        raise BadInput("--plot", plot, "a pool whose labels are known", "Without labels nobody knows what is a fault.")
    with call.running() as how:
        result = select(subject, methods, pool=inputs, layers=names_of(layers), **how, **call.own)
    call.write(result)
    call.show(selection_text(result, call.console.width))
    if indices is not None:
        write_indices(indices, result.chosen.tolist(), result.names)
    if plot is not None:
        draw_curves(result, plot)
    return result


def write_indices(path: Path, which: Sequence[int], names: tuple[str, ...] | None) -> None:
    """One per line, with the names of files where there are any."""
    lines = [str(index) if names is None else f"{index}\t{names[index]}" for index in which]
    write_text(path, "".join(f"{line}\n" for line in lines))


def _pool(wanted: str | None, subject: Subject, seed: int) -> Data | None:
    if wanted is None:
        return None
    if wanted == "test":
        return subject.test
    if wanted == "mutated":
        return mutate(subject.test, seed)
    return as_pool(wanted)
