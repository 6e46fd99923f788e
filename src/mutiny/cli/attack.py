"""``mutiny attack``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import JUDGE, RUN, TEST, WRITE, LabeledInputs, option
from mutiny.cli.settings import Settings
from mutiny.core.errors import BadInput

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.verbs.attack.base import Attack
    from mutiny.verbs.attack.result import Robustness

CHOICE = Settings(
    "mutiny.verbs.attack.mutants",
    "Choice",
    JUDGE,
    {
        "count": "mutants",
        "kind": "kind",
        "operators": "operators",
        "ratios": "ratios",
        "iterations": "iterations",
        "floor": "floor",
    },
    complete={
        "kind": completion.words("diverse random similar"),
        "operators": completion.operators_on_trained_models,
    },
)
BatchSize = Annotated[int | None, option("Inputs per forward pass; 128 by default.", RUN)]
DISTANCE = "0.1"
"""Largest distance by default."""


@verb(CHOICE, aliases={"data": "inputs"}, shared={"batch_size": (BatchSize, None)})
def attack(
    invocation: Invocation,
    attack: Annotated[
        str,
        option(
            'Attack: "pgd", "fgsm", "carlini" or "autoattack", with optional parameters: '
            '"pgd(norm=l2, iterations=20)".',
            complete=completion.attacks,
        ),
    ] = "pgd",
    eps: Annotated[
        str | None, option("Largest distance from an input, or several: 0.1,0.2,0.3; 0.1 by default. Not for carlini.")
    ] = None,
    count: Annotated[int, option("Number of inputs to attack, drawn at random.")] = 500,
    inputs: LabeledInputs = None,
    beside: Annotated[
        str | None,
        option("Other attacks on the model alone, for comparison: autoattack.", complete=completion.attacks),
    ] = None,
    low: Annotated[float, option("Smallest value in an input.", TEST)] = 0.0,
    high: Annotated[float, option("Largest value in an input.", TEST)] = 1.0,
    combine: Annotated[
        str,
        option(
            "What is averaged over mutants: gradients, logits or probabilities.",
            JUDGE,
            complete=completion.words("gradients logits probabilities"),
        ),
    ] = "gradients",
    save: Annotated[Path | None, option("NPZ file for adversarial inputs.", WRITE)] = None,
    grid: Annotated[Path | None, option("Picture of some adversarial inputs: .png, .svg or .pdf.", WRITE)] = None,
) -> Robustness:
    """Measure robustness by attacking the model, alone and together with mutants of it."""
    from mutiny.reports.attack_text import attack_text
    from mutiny.reports.result_files import draw_adversarial, write_adversarial
    from mutiny.verbs.attack.attack import attack as run_attack
    from mutiny.verbs.attack.methods import as_attack, as_attacks

    invocation.check({"--save": save, "--grid": grid}, {"--save": ".npz"})
    method = as_attack(attack)
    others = as_attacks(() if beside is None else beside, "beside")
    distances = _distances(eps, method)
    ratios = tuple(_numbers(invocation.options["ratios"], "--ratios"))
    mutants = CHOICE.filled({**invocation.options, "ratios": ratios})
    subject, data = invocation.subject_and_inputs(inputs, grid)
    with invocation.running() as runtime:
        result = run_attack(
            subject,
            method,
            distances,
            mutants=mutants,
            combine=combine,  # type: ignore[arg-type]
            count=count,
            low=low,
            high=high,
            beside=others,
            data=data,
            **runtime,
        )
    invocation.write_and_show(result, attack_text(result))
    if save is not None:
        write_adversarial(save, result)
    if grid is not None:
        draw_adversarial(grid, result)
    return result


def _distances(text: str | None, method: Attack) -> list[float]:
    """The given distances, or the default; an error if the attack takes none."""
    if text is not None and not method.bounded:
        raise BadInput(
            "--eps", repr(text), f"no distance with {method.code}", "It finds the nearest one: leave out --eps."
        )
    return _numbers(DISTANCE if text is None else text, "--eps")


def _numbers(text: str, option: str) -> list[float]:
    """Numbers with commas, also fractions, as distances of pixels often are.

    >>> _numbers("8/255, 0.1", "--eps") == [8 / 255, 0.1]
    True
    """
    try:
        parts = [number.partition("/") for number in text.split(",")]
        return [float(above) / float(below or 1) for above, _, below in parts]
    except (ValueError, ZeroDivisionError):
        raise BadInput(option, repr(text), "numbers or fractions such as 0.1 or 8/255, with commas") from None
