"""`locate`: which neurons are to blame for failures?"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from torch import nn

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import Call, code_of, device_of, pace_of, threads_of
from mutiny.campaigns.schedule import ask
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened as kept_in
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.records import to_plain, versions
from mutiny.core.subject_records import LocatedSubject
from mutiny.models import Forward
from mutiny.models.capture import NeuronValue
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.given import as_given
from mutiny.subjects.tasks import Classification, Task, task_record
from mutiny.verbs.locate.ablation import Ablation, ablation
from mutiny.verbs.locate.activity import Activity, as_activity
from mutiny.verbs.locate.case import check_reading
from mutiny.verbs.locate.failures import Oracle
from mutiny.verbs.locate.measures import Measure, as_measure
from mutiny.verbs.locate.notes import notes_on_model, notes_on_suspects
from mutiny.verbs.locate.result import Location
from mutiny.verbs.locate.setup import opened
from mutiny.verbs.locate.spectrum import Spectrum, check_class
from mutiny.verbs.locate.suspects import Suspect, suspects
from mutiny.verbs.locate.worker import Bench

ALONE = "Too few others are left in the suspects' layers to compare with, so nobody was silenced: lower k."


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
        data: labelled inputs; the test set if not given. With ``oracle`` or ``against`` labels are not needed.
        task: if ``subject`` is a model; by default classification by the largest output.
        forward: how the model is called, if ``subject`` is a model.
        label: only inputs of this class, also where suspects are silenced; the true one if it is known, otherwise the
            predicted one.
        by_class: whether suspects are also ranked for each class.
        active: when a neuron counts as active: a threshold, ``"quantile(share=0.9)"`` of its own values, or
            ``"scaled(threshold=0.5)"`` within its layer.
        at: ``"signal"``: after the layer's own normalisation, activation and pooling; ``"output"``: straight from the
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
    start, progress = time.monotonic(), progress or Silent()
    judged, activity = as_measure(measure), as_activity(active)
    check_whole("k", k)
    check_whole("validate", validate, 0)
    check_reading(at)
    if layers is not None and not isinstance(layers, Sequence):
        raise BadInput("layers", repr(layers), "names or patterns of layers")
    given = as_given(subject, data, None, task, forward, "data", pool=False)
    with as_engine(engine, workers) as where, kept_in(store) as kept:
        settings = to_plain({
            "seed": seed,
            "at": at,
            "layers": [layers] if isinstance(layers, str) else None if layers is None else [*map(str, layers)],
            "failures": "oracle" if oracle else "against another model" if against is not None else "labels",
            "batch_size": batch_size,
            "device": device_of(given, device),
            "threads": threads_of(where),
        })  # fmt: skip
        how = {"active": activity, "oracle": oracle, "against": against}
        asked = {"measure": judged, "k": int(k), "label": label, "by_class": by_class, "silent": silent}
        call = Call.of("locate", given, settings, {**how, **asked, "validate": int(validate)}, kept, device=device)
        if call.outcome is not None:
            return cast(Location, call.outcome)
        case, state = opened(given, oracle, against, seed, device, batch_size, folder, progress)
        case.pace = pace_of(call.campaign) or case.pace
        model, task = case.model, case.task
        _check_classes(task, label, by_class)
        places = case.hidden(layers)
        unreadable = case.unreadable(places) if layers is None else ()
        running = Running(call.campaign, where, kept)
        settings |= {"batch_size": int(case.pace.batch_size)}
        running.settle({**settings, "layout": case.pace.layout})
        running.expect(1 + (2 + int(validate)) * bool(validate))
        told = progress
        basis = "" if kept is None else hash_of([call.basis, settings, case.pace.layout, *map(code_of, how.values())])

        async def plan() -> tuple[Spectrum, tuple[Suspect, ...], Ablation | None]:
            told.stage("counting", 1)
            counted: Spectrum = await ask(Job("count", [], basis, "what neurons do"))
            told.step()
            some = suspects(counted, judged, int(k), label, silent, guilty=True)
            one = None if label is None else int(label)
            checked = await ablation(case, some, counted, int(validate), told, one, basis) if validate else None
            return counted, some, checked

        ((spectrum, found, checked),) = running.run(Bench(case, places, activity, at), [plan()])
        check_untouched([model], [state])
        result = Location(
            subject=LocatedSubject(
                name=given.name,
                model=type(model).__name__,
                task=task_record(task),
                inputs=len(given.data),
                source=given.source,
                neurons=int(sum(spectrum.sizes)),
                layers=dict(zip(spectrum.layers, spectrum.sizes, strict=True)),
            ),
            settings={
                **settings,
                "layout": case.pace.layout,
                "k": int(k),
                "label": None if label is None else int(label),
                "by_class": by_class,
                "active": str(activity),
                "silent": silent,
                "validate": int(validate),
            },
            versions=versions(),
            measure=str(judged),
            suspects=found,
            by_class=_by_class(spectrum, judged, int(k), silent) if by_class else {},
            spectrum=spectrum,
            ablation=checked,
            failing=spectrum.failing(label),
            passing=spectrum.passing(label),
            notes=(
                *notes_on_suspects(spectrum, found, int(k), label, silent),
                *notes_on_model(case, len(given.subject.models) if given.subject else 1, unreadable),
                *([ALONE] if validate and found and checked is None else []),
            ),
            seconds=time.monotonic() - start,
            created=call.campaign.created,
        )
        running.finish(result)
        return result


def _check_classes(task: Task, label: Any, by_class: bool) -> None:
    for name, value, asked in (("label", label, label is not None), ("by_class", by_class, by_class)):
        if asked and not isinstance(task, Classification):
            raise BadInput(name, value, "a classifier, which has classes", f"Leave out {name} for regression.")
    if label is not None and isinstance(task, Classification):
        check_class("label", label, task.classes)


def _by_class(spectrum: Spectrum, measure: Measure, k: int, silent: bool) -> dict[int, tuple[Suspect, ...]]:
    return {group: suspects(spectrum, measure, k, group, silent, guilty=True) for group in range(spectrum.groups)}
