"""From the options of ``mutiny attack`` to a finished command: load, run, show, write."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mutiny.cli.calling import Call
from mutiny.core.errors import BadInput
from mutiny.reports.attack_files import draw_adversarial, write_adversarial
from mutiny.reports.attack_text import attack_text
from mutiny.reports.grid import images
from mutiny.subjects.data import as_pool
from mutiny.subjects.given import as_given
from mutiny.verbs.attack.attack import attack
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.methods import as_attack, as_attacks
from mutiny.verbs.attack.mutants import Choice
from mutiny.verbs.attack.result import Robustness

DISTANCE = "0.1"
"""How far inputs may go if nothing is said."""


def run_attack(options: Mapping[str, Any]) -> Robustness:
    """Runs ``attack``, shows and writes the result."""
    call = Call("attack", options)
    inputs, save, grid = call.take("inputs", "save", "grid")
    call.check({"--save": save, "--grid": grid}, {"--save": ".npz"})
    own = call.own
    way = own["attack"] = as_attack(own["attack"])
    own["beside"] = as_attacks(own["beside"] or ())
    own["eps"] = _distances(own["eps"], way)
    count, kind, operators, ratios, iterations, floor = call.take(
        "mutants", "kind", "operators", "ratios", "iterations", "floor"
    )  # fmt: skip
    made = Choice(
        count=count, kind=kind, operators=operators, ratios=tuple(_numbers(ratios, "--ratios")), iterations=iterations,
        floor=floor,
    )  # fmt: skip
    subject = call.subject()
    inputs = None if inputs is None else as_pool(inputs, "--inputs")
    if grid is not None:
        images(as_given(subject, inputs, None, None, None, "--inputs", pool=False).data.first(1))
    with call.running() as how:
        result = attack(subject, data=inputs, mutants=made, **how, **own)
    call.write(result)
    call.show(attack_text(result))
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
