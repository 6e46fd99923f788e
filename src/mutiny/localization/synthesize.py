"""`synthesize`: inputs that exercise suspicious neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mutiny.checks import check_whole
from mutiny.data import Data
from mutiny.data.balls import NORMS
from mutiny.data.base import CHUNK
from mutiny.data.nested import concatenate, leaves
from mutiny.errors import BadInput
from mutiny.localization.ablation import by_layer
from mutiny.localization.case import Case, check_reading
from mutiny.localization.failures import Oracle
from mutiny.localization.location import Location
from mutiny.localization.opening import opened
from mutiny.localization.spectrum import Ints
from mutiny.localization.suspects import Suspect
from mutiny.localization.synthesis import Ascent, Keeps, Synthesis, synthesis
from mutiny.models import Forward
from mutiny.models.ascent import Scale
from mutiny.models.capture import Said
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import generator_for
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.task import Task

RANGE = 0.1
"""Share of the inputs' range that a change may span if nothing is said (DeepFault)."""


def synthesize(
    subject: Subject | nn.Module,
    suspects: Location | Sequence[Suspect],
    count: int = 100,
    *,
    ascent: Ascent | Scale | None = None,
    at: Said = "signal",
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    oracle: Oracle | None = None,
    against: nn.Module | None = None,
    keeps: Keeps | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Changes inputs that pass so that suspects say more, and sees whether they fail now (DeepFault, Algorithm 2).

    Args:
        subject: what is tested, or a model with ``data``.
        suspects: what `locate` found; with ``by_class=True`` each input exercises the suspects of its own class, and
            classes without suspects are left out.
        count: inputs to change, spread evenly over the classes; all that pass if there are fewer.
        ascent: how. By default one step, as in the paper, of a tenth of the inputs' range at most, within that range;
            ``"rms"`` is the same with gradients divided by their root mean square.
        at: ``"signal"``: what suspects say after normalisation, activation and pooling rises; ``"output"``: what they
            say before, as in DeepFault's code, where leaky activations cannot hide a silent neuron.
        data: labelled inputs; the test set if not given.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        oracle: tells failures, as for `locate`; it sees the new inputs.
        against: another model; answers fail where it gives another one.
        keeps: a function from originals and new inputs to one bool per input: does it still have the label of its
            original? Asked once, after the last step. Those that lost it stay in the result, but are no success.
        seed: of the choice of inputs.
        device: where to run; where the model is if not given.
        batch_size: inputs per forward pass; measured if not given.
        folder: where trained originals are kept.
        progress: told what is being done.
    """
    progress = progress or Silent()
    check_whole("count", count)
    check_reading(at)
    if keeps is not None and not callable(keeps):
        raise BadInput("keeps", repr(keeps), "a function of originals and new inputs")
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    case, state = opened(given, oracle, against, seed, device, batch_size, folder, progress)
    if not isinstance(ascent, Ascent):
        ascent = replace(usual(given.data), scale=ascent or "none")
    chosen = _chosen(case, count)
    parts = _groups(case, suspects, chosen)
    if not parts:
        raise BadInput(
            "suspects", "none", "at least one neuron to exercise", "Where nothing fails nobody is suspicious."
        )
    progress.stage("synthesizing", len(parts))
    found = []
    for indices, neurons in parts:
        found.append(synthesis(case, indices, neurons, ascent, at, keeps))
        progress.step()
    check_untouched([case.model], [state])
    return joined(found)


def usual(data: Data) -> Ascent:
    """One step of at most a tenth of the inputs' range, (0, 1) or (0, 255) where they lie in there."""
    low, high = np.inf, -np.inf
    for batch in data.batches(CHUNK):
        for _, leaf in leaves(batch):
            if leaf.is_floating_point():
                low, high = min(low, float(leaf.min())), max(high, float(leaf.max()))
    if low >= 0 and high <= 255:
        low, high = 0.0, 1.0 if high <= 1 else 255.0
    return Ascent(step=high - low, distance=RANGE * (high - low), low=low, high=high)


def _chosen(case: Case, count: int) -> Ints:
    """Inputs that pass, as many of each class."""
    passing = np.flatnonzero(~case.failed())
    if not len(passing):
        raise BadInput("data", "inputs that all fail", "some that pass, which can be made to fail")
    shuffled = generator_for(case.seed, "synthesize", "inputs").permutation(passing)
    if case.targets is None:
        return np.sort(shuffled[:count])
    labels = case.targets.numpy()[shuffled]
    turn = np.empty(len(labels), np.int64)  # the first of each class, then the second of each, ...
    for label in np.unique(labels):
        here = np.flatnonzero(labels == label)
        turn[here] = np.arange(len(here))
    return np.sort(shuffled[np.argsort(turn, kind="stable")[:count]])


def _groups(case: Case, found: Location | Sequence[Suspect], chosen: Ints) -> list[tuple[Ints, dict[str, Ints]]]:
    """Inputs, and which neurons they should exercise: the suspects of their class where there are any."""
    everyone = found.suspects if isinstance(found, Location) else tuple(found)
    parts = []
    if isinstance(found, Location) and found.by_class and case.targets is not None:
        labels = case.targets.numpy()[chosen]
        parts = [(chosen[labels == label], by_layer(some)) for label, some in found.by_class.items() if some]
        parts = [part for part in parts if len(part[0])]
    return parts or ([(chosen, by_layer(everyone))] if everyone else [])


def joined(parts: Sequence[Synthesis]) -> Synthesis:
    """Several as one."""
    first = parts[0]
    return replace(
        first,
        indices=np.concatenate([one.indices for one in parts]),
        originals=concatenate([one.originals for one in parts]),
        inputs=concatenate([one.inputs for one in parts]),
        failed=np.concatenate([one.failed for one in parts]),
        kept=np.concatenate([one.kept for one in parts]),
        raised=np.concatenate([one.raised for one in parts]),
        distances={norm: np.concatenate([one.distances[norm] for one in parts]) for norm in NORMS},
    )
