"""Is the suspicion justified? Suspects are silenced, and so are random neurons of the same layers."""

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
    """What silencing some neurons does.

    Attributes:
        mended: failing inputs that no longer fail.
        broken: passing inputs that fail now.
    """

    mended: int
    broken: int


@dataclass(frozen=True)
class Ablation:
    """Suspects against random neurons of the same layers.

    Attributes:
        failing: inputs that fail with all neurons in place; of one class, if suspects of one were asked for.
        passing: inputs that pass.
        suspects: what silencing the suspects does.
        random: the same for each draw of other neurons, as many of each layer.
        p_mended: how likely so many neurons drawn at random mend as many failures.
        p_broken: how likely they break as many passing inputs.
    """

    failing: int
    passing: int
    suspects: Effect
    random: tuple[Effect, ...]
    p_mended: float
    p_broken: float


def silenced(view: ModelView, neurons: Mapping[str, Ints]) -> Patch:
    """A patch that makes all readers of these neurons see 0, see `mutiny.faults.neurons.neuron_scaling`."""
    edits = [
        edit
        for name, units in neurons.items()
        if len(units)
        for edit in scale_neurons(view, view.layer(name), units, 0.0, "outgoing", biases=False)
    ]
    return Patch(tuple(edits), next(iter(neurons), ""))


def by_layer(suspects: Iterable[Suspect]) -> dict[str, Ints]:
    """The neurons of each layer.

    >>> by_layer([])
    {}
    """
    found: dict[str, list[int]] = {}
    for one in suspects:
        found.setdefault(one.layer, []).append(one.neuron)
    return {name: np.array(sorted(units), np.int64) for name, units in found.items()}


async def ablation(
    session: Session, suspects: Sequence[Suspect], spectrum: Spectrum, draws: int, label: int | None = None
) -> Ablation | None:
    """Silences the suspects, then ``draws`` times as many others of the same layers, on all inputs or one class.

    A part of the plan of `locate`.

    Returns:
        ``None`` if some layer has no other neurons left to compare with.
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
    named = [("suspects", chosen), *((f"others, draw {number + 1},", one) for number, one in enumerate(drawn))]
    found, *random = await together(effect(name, neurons) for name, neurons in named)
    p_mended = (1 + sum(one.mended >= found.mended for one in random)) / (draws + 1)
    p_broken = (1 + sum(one.broken >= found.broken for one in random)) / (draws + 1)
    return Ablation(int(before.sum()), int((~before).sum()), found, tuple(random), p_mended, p_broken)
