"""`locate`: which neurons are most likely to blame for failures?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.checks import check_flag, check_whole
from mutiny.core.errors import BadInput
from mutiny.models import Forward
from mutiny.models.capture import NeuronValue
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.subjects.tasks import Task
from mutiny.verbs.locate.activity import Activity, as_activity
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.measures import Measure, as_measure
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import check_failures, check_reading
from mutiny.verbs.locate.verb import Locate


def locate(
    subject: Subject | nn.Module,
    measure: str | Measure = "ochiai",
    k: int = 10,
    *,
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    label: int | None = None,
    by_class: bool = False,
    active: str | float | Activity = 0.0,
    at: NeuronValue = "signal",
    silent: bool = False,
    layers: str | Sequence[str] | None = None,
    oracle: Oracle | None = None,
    against: nn.Module | None = None,
    validate: int = 20,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Location:
    """Ranks hidden neurons by how closely their activity follows the model's failures (DeepFault, Algorithm 1).

    One pass over the inputs counts, for every neuron and class, the failing and the passing inputs on which it was
    active; a measure turns the counts into a score. A channel is one neuron; its value is the mean over its positions.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data``.
        measure: Suspiciousness measure: ``"ochiai"``, ``"tarantula"``, ``"dstar(power=3)"`` and others, see
            `mutiny measures`.
        k: Number of suspects; fewer if the other neurons are not suspicious. Ties go to deeper layers.
        data: Labeled inputs; the test set by default. With ``oracle`` or ``against`` no labels are needed.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        label: Class of the inputs to use, also for silencing: the true class if known, otherwise the predicted one.
        by_class: Also rank suspects for each class.
        active: Condition for an active neuron: a threshold, ``"quantile(share=0.9)"`` of its own values, or
            ``"scaled(threshold=0.5)"`` within its layer.
        at: Where activity is read: ``"signal"``, after the layer's normalization, activation and pooling; or
            ``"output"``, directly after the multiplication by weights, as in DeepFault's code.
        silent: Rank neurons that are silent on failures.
        layers: Names or patterns of layers; all hidden layers by default.
        oracle: Function from inputs and outputs to one bool per input that says whether it is a failure.
        against: Another model; an answer is a failure if the two models disagree.
        validate: Number of random sets of neurons to silence, for comparison with the suspects; 0 for no silencing.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that counts (one job) and silences (one job per set of neurons): ``"serial"``, ``"processes"``,
            ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Location`. Apart from times, it is the same on every engine and after any interruption.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]])
    >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).eval()
    >>> with torch.no_grad():
    ...     for layer in (net[0], net[2]):
    ...         _ = layer.weight.copy_(torch.eye(2)), layer.bias.zero_()
    >>> locate(net, k=1, data=(x, torch.zeros(4, dtype=torch.long)), validate=0).suspects[0].neuron  # favors class 1
    1
    """
    check_whole("k", k)
    check_whole("validate", validate, 0)
    check_flag("by_class", by_class)
    check_flag("silent", silent)
    check_reading(at)
    check_failures(oracle, against)
    if layers is not None and not isinstance(layers, Sequence):
        raise BadInput("layers", repr(layers), "names or patterns of layers")
    verb = Locate(
        measure=as_measure(measure),
        k=int(k),
        label=label,
        by_class=by_class,
        active=as_activity(active),
        at=at,
        silent=silent,
        layers=layers,
        oracle=oracle,
        against=against,
        validate=int(validate),
    )
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    return run(verb, as_given(subject, data, None, task, forward, "data", pool=False), runtime)
