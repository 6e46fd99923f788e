"""`synthesize`: inputs that exercise suspicious neurons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from torch import nn

from mutiny.campaigns.runtime import Runtime
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress, Silent
from mutiny.models import Forward, ModelState
from mutiny.models.activation_gradients import Scale
from mutiny.models.capture import NeuronValue
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.data.balls import NORMS
from mutiny.subjects.data.nested import concatenate
from mutiny.subjects.given import as_given
from mutiny.subjects.inference.passes import check_constant, repeats
from mutiny.subjects.tasks import Task
from mutiny.verbs.locate.ascent import Ascent, usual
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import check_failures, check_reading, model_under_test
from mutiny.verbs.locate.suspects import Suspect
from mutiny.verbs.locate.synthesis import Keeps, Synthesis, synthesis
from mutiny.verbs.locate.synthesis_inputs import accused, check_neurons, chosen, exercises


def synthesize(
    subject: Subject | nn.Module,
    suspects: Location | Sequence[Suspect],
    count: int = 100,
    *,
    ascent: Ascent | Scale | None = None,
    at: NeuronValue = "signal",
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
        suspects: what `locate` found; with ``label=...`` only inputs of that class are changed; with ``by_class=True``
            each input exercises the suspects of its own class, and classes without suspects are left out.
        count: inputs to change, spread evenly over the classes; all that pass if there are fewer.
        ascent: how. By default one step, as in the paper, of a tenth of the inputs' range at most, within that range;
            ``"rms"`` is the same with gradients divided by their root mean square.
        at: ``"signal"``: what suspects say after normalization, activation and pooling rises; ``"output"``: what they
            say before, as in DeepFault's code, where leaky activations cannot hide a silent neuron.
        data: labeled inputs; the test set if not given.
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
    everyone = accused(suspects)
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    check_failures(oracle, against)
    runtime = Runtime(seed, device, batch_size, folder=folder, progress=progress)
    model = given.originals(1, runtime.seed, device, folder, progress)[0]
    state = ModelState.of(model)
    repeatable = repeats(model, given.data, given.forward)
    check_constant(model, state)
    case = model_under_test(given, model, repeatable, oracle, against, seed, device, batch_size)
    if not isinstance(ascent, Ascent):
        ascent = replace(usual(given.data), scale=ascent or "none")
    ascent = ascent.fitted(given.data)
    check_neurons(case, everyone)
    label = suspects.settings.get("label") if isinstance(suspects, Location) else None
    parts = exercises(case, suspects, chosen(case, count, label))
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
    return replace(joined(found), settings={"count": int(count), "seed": seed, "label": label, **found[0].settings})


def joined(parts: Sequence[Synthesis]) -> Synthesis:
    """Several as one."""
    labels = [one.labels for one in parts if one.labels is not None]
    return replace(
        parts[0],
        indices=np.concatenate([one.indices for one in parts]),
        originals=concatenate([one.originals for one in parts]),
        inputs=concatenate([one.inputs for one in parts]),
        failed=np.concatenate([one.failed for one in parts]),
        kept=np.concatenate([one.kept for one in parts]),
        raised=np.concatenate([one.raised for one in parts]),
        distances={norm: np.concatenate([one.distances[norm] for one in parts]) for norm in NORMS},
        labels=np.concatenate(labels) if labels else None,
    )
