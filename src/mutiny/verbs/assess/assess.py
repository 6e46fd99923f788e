"""`assess`: would the test set notice if the network went wrong?"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, Literal, TypedDict, Unpack, overload

from torch import nn

from mutiny.campaigns.run import Engine, Runtime, Store
from mutiny.core.checks import check_flag
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.faults.evaluation import Screening
from mutiny.faults.parsing import Fault
from mutiny.models import Forward
from mutiny.subjects import Subject
from mutiny.subjects.given import as_subject
from mutiny.subjects.tasks import Task
from mutiny.verbs.assess.assess_notice import assess_notice
from mutiny.verbs.assess.judges.base import Judge
from mutiny.verbs.assess.muff import KillRule, MuffAssessment, Savings, Search, WeakSet, assess_muff
from mutiny.verbs.assess.result import Assessment

JudgeGiven = Judge | str | Callable[..., object]
"""A judge as users give it."""
METHODS = ("notice", "muff")
BELONGS: Mapping[str, Mapping[str, str]] = {
    "notice": {
        "seeds": "The number of random choices",
        "judge": "A judge",
        "false_alarms": "The rate of false alarms of gates",
    },
    "muff": {
        "rule": "The kill rule",
        "search": "The search for mutants",
        "weak": "The weak test set",
        "screening": "The confidence of screening",
        "savings": "The choice of trainings to share",
    },
}
"""Arguments that only one method has, and what they are."""


class CommonArguments(TypedDict, total=False):
    """Arguments of both methods; see `assess`."""

    data: Any
    train: Any
    validation: Any
    task: Task | None
    forward: Forward | None
    originals: int | None
    exact: bool
    seed: int
    device: str | None
    batch_size: int | None
    threads: int
    engine: str | Engine | None
    workers: int | None
    store: str | Path | Store | None
    folder: str | Path | None
    progress: Progress | None


@overload
def assess(
    subject: Subject | nn.Module,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    method: Literal["notice"] = "notice",
    seeds: int | None = None,
    judge: JudgeGiven | Sequence[JudgeGiven] | None = None,
    false_alarms: float | None = None,
    **common: Unpack[CommonArguments],
) -> Assessment: ...


@overload
def assess(
    subject: Subject | nn.Module,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    method: Literal["muff"],
    rule: KillRule | None = None,
    search: Search | None = None,
    weak: WeakSet | None = None,
    screening: Screening | None = None,
    savings: Savings | None = None,
    **common: Unpack[CommonArguments],
) -> MuffAssessment: ...


def assess(
    subject: Subject | nn.Module,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    method: str = "notice",
    data: Any = None,
    train: Any = None,
    validation: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    originals: int | None = None,
    seeds: int | None = None,
    judge: JudgeGiven | Sequence[JudgeGiven] | None = None,
    false_alarms: float | None = None,
    rule: KillRule | None = None,
    search: Search | None = None,
    weak: WeakSet | None = None,
    exact: bool = False,
    screening: Screening | None = None,
    savings: Savings | None = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Assessment | MuffAssessment:
    """Measures which faults in a trained network its test set notices.

    By default, the answer is the notice rate: of the faults that cost between half a point and eight accuracy points on
    inputs that are independent of the test set, the share that the test set notices. With ``method="muff"``, it is the
    mutation score of MUFF's Algorithm 1, guided by train, test and weak set.

    Args:
        subject: Subject to test, or a model in evaluation mode with ``data``.
        operators: Codes, text such as ``"WI,NI(ratio=0.1)"``, or instances. By default all operators on trained models.
            With ``method="muff"``, ``"all"`` adds the operators before training, which need a recipe.
        method: ``"notice"`` for the notice rate, ``"muff"`` for the paper's procedure.
        data: Test set ``(inputs, targets)``, if ``subject`` is a model.
        train: Training set ``(inputs, targets)``, if ``subject`` is a model.
        validation: Validation set ``(inputs, targets)``, if ``subject`` is a model.
        task: Task, if ``subject`` is a model; classification by the largest output by default.
        forward: Function that calls the model, if ``subject`` is a model.
        originals: Number of originals to use or train.
        seeds: Random choices of weights or neurons for each operator and original; by default so many that there are
            ten over all originals. Method ``"notice"`` only.
        judge: What decides whether a fault is noticed: a `Judge`, its name such as ``"paired(alpha=0.01)"``, a gate
            such as ``"accuracy >= 0.97"`` or ``"drop <= 0.5pt"``, a function ``judge(predict, test)`` that returns
            ``True`` if the network is acceptable, the name of one such as ``"checks.py:acceptable"``, or several of
            these. The first one decides the headline; the paired test is the default, and is always asked as well.
            Method ``"notice"`` only.
        false_alarms: Largest rate of false alarms of the bounds that are advised for gates; 1% by default. Method
            ``"notice"`` only.
        rule: Rule that decides when a mutant is killed. Method ``"muff"`` only.
        search: Limits and precision of the search for mutants. Method ``"muff"`` only.
        weak: Definition of the weak test set, unless the subject has one. Method ``"muff"`` only.
        screening: Confidence required to stop before all inputs are evaluated, unless ``exact``. Method ``"muff"``
            only.
        exact: Evaluate every fault on every input, and train every instance of a fault before training, instead of
            only as many as the answer needs.
        savings: Trainings that may be shared or left out. Method ``"muff"`` only.
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job. Small networks are fastest with one; results may differ by rounding.
        engine: Engine that evaluates and trains mutants: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        An `Assessment`, or a `MuffAssessment` with ``method="muff"``. Apart from times, it is the same on every engine
        and after any interruption.

    >>> import torch
    >>> x = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> sets = {"data": (x[:100], y[:100]), "validation": (x[100:], y[100:])}
    >>> result = assess(net, "GF", seeds=5, **sets)
    >>> 0.1 < result.notice.rate < 0.8
    True
    >>> assess(net, "WI(ratio=0.3)", method="muff", data=(x[:100], y[:100]), train=(x[100:], y[100:])).operators[0].code
    'WI'
    """
    if method not in METHODS:
        raise BadInput("method", repr(method), f"one of {', '.join(METHODS)}")
    check_flag("exact", exact)
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    bare = isinstance(subject, nn.Module)
    subject = as_subject(subject, data, train, task, forward, validation)
    count = subject.count(originals)
    if method == "muff":
        _refuse("notice", seeds=seeds, judge=judge, false_alarms=false_alarms)
        options = {"rule": rule, "search": search, "weak": weak, "screening": screening, "savings": savings}
        return assess_muff(subject, operators, count, exact, runtime, bare, **options)
    _refuse("muff", rule=rule, search=search, weak=weak, screening=screening, savings=savings)
    return assess_notice(subject, operators, count, exact, runtime, seeds=seeds, judge=judge, false_alarms=false_alarms)


def _refuse(method: str, **arguments: Any) -> None:
    """Raises `BadInput` for arguments of the method that was not chosen."""
    for name, value in arguments.items():
        if value is not None:
            raise other_method(name, short_repr(value), BELONGS[method][name], method, f'method="{method}"')


def other_method(name: str, value: object, what: str, method: str, typed: str) -> BadInput:
    """The error for an argument of the method that was not chosen.

    Args:
        name: Name of the argument, as the user typed it.
        value: Its value.
        what: What the argument is.
        method: Method that has it.
        typed: That method, as the user would type it.

    >>> str(other_method("--beta", 0.3, "The kill rule", "muff", "--method muff"))
    "--beta=0.3: expected only with --method muff. The kill rule belongs to MUFF's procedure: add --method muff."
    """
    whose, fix = ("MUFF's procedure", "add") if method == "muff" else ("the notice rate", "use")
    return BadInput(name, value, f"only with {typed}", f"{what} belongs to {whose}: {fix} {typed}.")


def short_repr(value: object) -> str:
    """A value in a message; of a record only its class."""
    return f"{type(value).__name__}(...)" if is_dataclass(value) else repr(value)[:60]
