"""From the options of ``mutiny locate`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mutiny.cli.calling import Call, names_of
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.models.activation_gradients import Scale
from mutiny.reports.grid import images
from mutiny.reports.location_text import location_text, synthesis_text
from mutiny.reports.synthesis import draw_grid, write_synthesis
from mutiny.subjects.data import as_pool
from mutiny.subjects.given import as_given
from mutiny.verbs.locate.activity import as_activity
from mutiny.verbs.locate.locate import locate
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.synthesize import synthesize


def run_locate(options: Mapping[str, Any]) -> Location:
    """Runs ``locate``, shows and writes the result."""
    call = Call("locate", options)
    inputs, save, grid, layers, wanted, rms = call.take("inputs", "save", "grid", "layers", "synthesize", "rms")
    check_whole("--synthesize", wanted, 0)
    call.check({"--save": save, "--grid": grid}, {"--save": ".npz"})
    _check_wishes(wanted, {"--save": save, "--grid": grid}, rms)
    own = call.own
    own["measure"], own["active"] = as_measure(own["measure"]), as_activity(own["active"])
    subject = call.subject()
    inputs = None if inputs is None else as_pool(inputs, "--inputs")
    if grid is not None:
        images(as_given(subject, inputs, None, None, None, "--inputs", pool=False).data.first(1))
    with call.running() as how:
        result = locate(subject, data=inputs, layers=names_of(layers), **how, **own)
    call.show(location_text(result))
    new = None
    if wanted and (result.suspects or save or grid):  # without suspects there is a sentence, and no file
        same = {name: own[name] for name in ("at", "seed", "device", "batch_size")}
        way: Scale = "rms" if rms else "none"
        try:
            with call.progress() as progress:
                new = synthesize(subject, result, wanted, ascent=way, data=inputs, progress=progress, **same)
        except Exception:
            call.write(result, synthesis=None)  # what was located is not lost
            raise
    call.write(result, synthesis=None if new is None else new.to_json())
    if new is None:
        if wanted and not call.quiet:
            call.console.print(" Nothing was synthesised, for nobody is suspicious.\n")
        return result
    if not call.quiet:
        call.console.print(synthesis_text(new))
    if save is not None:
        write_synthesis(new, save)
    if grid is not None:
        draw_grid(new, grid, f"{result.subject.name}: inputs that exercise the suspects ({result.measure})")
    return result


def _check_wishes(synthesized: int, outputs: Mapping[str, Path | None], rms: bool) -> None:
    """What needs synthesised inputs."""
    for option, path in outputs.items():
        if path is not None and not synthesized:
            raise BadInput(option, path, "synthesised inputs", "Add --synthesize 100.")
    if rms and not synthesized:
        raise BadInput("--rms", "given", "inputs to synthesise", "Add --synthesize 100.")
