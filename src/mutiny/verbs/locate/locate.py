"""`locate`: which neurons are to blame for failures?"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch import nn

from mutiny.campaigns.run import Engine, Progress, Runtime, Silent, Store, run
from mutiny.core.checks import check_whole
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
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Location:
    """Ranks hidden neurons by how closely their activity follows the model's failures (DeepFault, Algorithm 1).

    One pass over the inputs counts, for every neuron and class, on how many failing and passing inputs it was active; a
    measure turns the counts into suspicion. A channel is one neuron; its value is the mean over its pixels.

    Args:
        subject: what is tested; or simply a model in evaluation mode, with ``data``.
        measure: of suspicion: ``"ochiai"``, ``"tarantula"``, ``"dstar(power=3)"`` and others, see `mutiny measures`.
        k: how many suspects; fewer if nothing is held against the others. Among equals, those of deeper layers come
            first.
        data: labeled inputs; the test set if not given. With ``oracle`` or ``against`` labels are not needed.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        label: only inputs of this class, also where suspects are silenced; the true one if it is known, otherwise the
            predicted one.
        by_class: whether suspects are also ranked for each class.
        active: when a neuron counts as active: a threshold, ``"quantile(share=0.9)"`` of its own values, or
            ``"scaled(threshold=0.5)"`` within its layer.
        at: ``"signal"``: after the layer's own normalization, activation and pooling; ``"output"``: straight from the
            multiplication, as DeepFault's code.
        silent: whether silence on failures is what is looked for.
        layers: names or patterns; all hidden layers if not given.
        oracle: a function from inputs and outputs to one bool per input: is this a failure?
        against: another model; answers fail where it gives another one.
        validate: silences the suspects, and so many times random neurons of the same layers; 0 leaves it out.
        seed: one seed, one answer.
        device: where to run; where the model is if not given.
        batch_size: inputs per forward pass; measured if not given.
        engine: where neurons are counted, in one pass that does not divide, and silenced, each draw by itself:
            ``"serial"`` (here), ``"processes"``, ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where trained originals are kept.
        progress: told what is being done.

    >>> import torch
    >>> x = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.5, 0.2]])
    >>> net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)).eval()
    >>> with torch.no_grad():
    ...     for layer in (net[0], net[2]):
    ...         _ = layer.weight.copy_(torch.eye(2)), layer.bias.zero_()
    >>> locate(net, k=1, data=(x, torch.tensor([0, 0, 0, 0])), validate=0).suspects[0].neuron  # it says 1, wrongly
    1
    """
    check_whole("k", k)
    check_whole("validate", validate, 0)
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
    runtime = Runtime(seed, device, batch_size, engine, workers, store, folder, progress or Silent())
    return run(verb, as_given(subject, data, None, task, forward, "data", pool=False), runtime)
