"""Ablation: the effect of silencing the suspects, compared with random neurons of the same layers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.campaigns.schedule import ask, together
from mutiny.campaigns.session import Session
from mutiny.core.random import generator_for
from mutiny.faults.neurons.neuron_scaling import scale_neurons
from mutiny.models import ModelView, Patch
from mutiny.verbs.locate.spectrum import Ints, Spectrum
from mutiny.verbs.locate.suspects import Suspect

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Effect:
    """Effect of silencing some neurons.

    Attributes:
        mended: Number of failing inputs that pass now.
        broken: Number of passing inputs that fail now.
    """

    mended: int
    broken: int


@dataclass(frozen=True)
class Ablation:
    """Effect of silencing the suspects, and of silencing random neurons of the same layers.

    Attributes:
        failing: Number of inputs that fail before any neuron is silenced; of one class, if ``label`` was given.
        passing: Number of inputs that pass.
        suspects: Effect of silencing the suspects.
        random: Effect of each random draw of other neurons, the same number per layer.
        p_mended: Probability that a random draw fixes at least as many failures.
        p_broken: Probability that a random draw breaks at least as many passing inputs.
    """

    failing: int
    passing: int
    suspects: Effect
    random: tuple[Effect, ...]
    p_mended: float
    p_broken: float


def silenced(view: ModelView, neurons: Mapping[str, Ints]) -> Patch:
    """A patch that replaces the signals of these neurons by 0, see `mutiny.faults.neurons.neuron_scaling`."""
    edits = [
        edit
        for name, units in neurons.items()
        if len(units)
        for edit in scale_neurons(view, view.layer(name), units, 0.0, "outgoing", biases=False)
    ]
    return Patch(tuple(edits), next(iter(neurons), ""))


def by_layer(suspects: Iterable[Suspect]) -> dict[str, Ints]:
    """Indices of the suspects in each layer, in ascending order.

    >>> by_layer([])
    {}
    """
    neurons: dict[str, list[int]] = {}
    for suspect in suspects:
        neurons.setdefault(suspect.layer, []).append(suspect.neuron)
    return {name: np.array(sorted(units), np.int64) for name, units in neurons.items()}


async def ablation(
    session: Session, suspects: Sequence[Suspect], spectrum: Spectrum, draws: int, label: int | None = None
) -> Ablation | None:
    """Silences the suspects, then ``draws`` random sets of other neurons of the same layers; a part of `Locate.plan`.

    Args:
        session: The running call.
        suspects: Neurons to silence.
        spectrum: Counts of all neurons.
        draws: Number of random draws.
        label: Class of the inputs to evaluate; all inputs by default.

    Returns:
        ``None`` if a layer has too few other neurons for the comparison.
    """
    chosen, sizes = by_layer(suspects), dict(zip(spectrum.layers, spectrum.sizes, strict=True))
    others = {name: np.setdiff1d(np.arange(sizes[name]), units) for name, units in chosen.items()}
    if not chosen or any(len(others[name]) < len(units) for name, units in chosen.items()):
        return None
    progress = session.progress
    progress.stage("silencing suspects", draws + 2)
    before: Bools = await ask(session.job("before", [label], "failures before"))
    progress.step()

    async def effect(name: str, neurons: Mapping[str, Ints]) -> Effect:
        decides = [label, [[layer, units.tolist()] for layer, units in neurons.items()]]
        after: Bools = await ask(session.job("silence", decides, f"{name} silenced", given=(label, dict(neurons))))
        progress.step()
        return Effect(int((before & ~after).sum()), int((~before & after).sum()))

    drawn = []
    for draw in range(draws):
        rng = generator_for(session.seed, "locate", "random neurons", draw)
        drawn.append(
            {name: np.sort(rng.choice(others[name], len(units), replace=False)) for name, units in chosen.items()}
        )
    named = [("suspects", chosen), *((f"others, draw {number},", neurons) for number, neurons in enumerate(drawn, 1))]
    actual, *random = await together(effect(name, neurons) for name, neurons in named)
    p_mended = (1 + sum(other.mended >= actual.mended for other in random)) / (draws + 1)
    p_broken = (1 + sum(other.broken >= actual.broken for other in random)) / (draws + 1)
    return Ablation(int(before.sum()), int((~before).sum()), actual, tuple(random), p_mended, p_broken)
