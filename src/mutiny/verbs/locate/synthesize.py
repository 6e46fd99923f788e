"""`synthesize`: inputs on which suspicious neurons are more active."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Progress, Runtime, run
from mutiny.core.checks import check_whole
from mutiny.models import Forward
from mutiny.models.activation_gradients import Scale
from mutiny.models.capture import NeuronValue
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.subjects.tasks import Task
from mutiny.verbs.locate.ascent import Ascent, check_ascent
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import check_failures, check_function, check_reading
from mutiny.verbs.locate.suspects import Suspect
from mutiny.verbs.locate.synthesis import Keeps, Synthesis
from mutiny.verbs.locate.synthesis_verb import Synthesize, check_suspects


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
    threads: int = 1,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Synthesis:
    """Changes passing inputs so that suspects become more active, and evaluates them (DeepFault, Algorithm 2).

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data``.
        suspects: Result of `locate`, or suspects from it. After ``locate(label=...)`` only inputs of that class are
            changed; after ``locate(by_class=True)`` each input activates the suspects of its own class, and classes
            without suspects are left out.
        count: Number of inputs to change, spread evenly over the classes; all that pass if there are fewer.
        ascent: Step, distance and range of the change. By default one step of at most a tenth of the range of the data,
            within that range; ``"rms"`` also divides gradients by their root mean square.
        at: Where activity is read: ``"signal"``, after normalization, activation and pooling; or ``"output"``, before
            them, as in DeepFault's code, where a leaky activation does not shrink the gradient of a silent neuron.
        data: Labeled inputs; the test set by default.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        oracle: Function from inputs and outputs to one bool per input that says whether it is a failure.
        against: Another model; an answer is a failure if the two models disagree.
        keeps: Function from originals and new inputs to one bool per input that says whether the new input keeps the
            label of its original; called once per batch, after the last step. Inputs that lose their label stay in the
            result, but do not count as successes.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Synthesis` with originals, new inputs and their outcomes.
    """
    check_whole("count", count)
    check_reading(at)
    check_failures(oracle, against)
    check_suspects(suspects)
    check_ascent(ascent)
    check_function("keeps", keeps, "originals and new inputs")
    verb = Synthesize(suspects, int(count), ascent, at, oracle, against, keeps)
    runtime = Runtime(seed, device, batch_size, threads, folder=folder, progress=progress)
    return run(verb, as_given(subject, data, None, task, forward, "data", pool=False), runtime)
