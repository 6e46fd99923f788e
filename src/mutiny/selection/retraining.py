"""How much does a network gain if the inputs that a method selects are labelled and trained on?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.checks import check_whole
from mutiny.data import Data, Mutation, as_pool
from mutiny.data.joined import Joined
from mutiny.data.labels import matched, unknown
from mutiny.errors import BadInput, NotApplicable
from mutiny.evaluation.exact import Pace, cast, evaluate, placement
from mutiny.evaluation.settling import settle
from mutiny.models import Forward, ModelState, default_forward
from mutiny.models.state import check_untouched
from mutiny.progress import Progress, Silent
from mutiny.random import generator_for, seed_for
from mutiny.selection.base import Order, Selector
from mutiny.selection.budget import as_count
from mutiny.selection.evidence import Evidence
from mutiny.selection.metrics import Repeated, over_repeats
from mutiny.selection.parsing import as_methods, describe
from mutiny.selection.roles import Protocol, Roles, some_of
from mutiny.subjects import Subject
from mutiny.task import Classification, Task
from mutiny.training import Recipe

CONTROL, RANDOM = "none", "random"
"""Trained further without new inputs, and with any: without these two beside it, a gain means nothing."""
BEFORE = "before"
Trial = dict[str, list[float]]
"""Accuracy before, and after retraining by each method: on inputs of the pool and, if they judge, of the test set."""


@dataclass(frozen=True)
class Gain:
    """Accuracy on one set of inputs, over repeats.

    Attributes:
        before: of the original.
        after: of its copy that was trained further.
        gain: the difference, repeat by repeat.
        beyond_control: by how much the gain exceeds that of the control, repeat by repeat.
    """

    before: Repeated
    after: Repeated
    gain: Repeated
    beyond_control: Repeated


@dataclass(frozen=True)
class Retraining:
    """What `accuracy_after_retraining` found; ``print`` shows a table.

    Attributes:
        budget: how many of the ``candidates`` were labelled.
        judges: inputs of the pool that judge; the fewest, if repeats differ.
        test_judges: the same of the test set; 0 if it does not judge.
        gains: on the pool's judges, by method; ``none`` is the control.
        test_gains: likewise on the test set's; empty if it does not judge.
        skipped: methods that do not apply here, and why.
        settings: of retraining.
        notes: what a careful reader should know.
    """

    protocol: Protocol
    budget: int
    candidates: int
    judges: int
    test_judges: int
    gains: Mapping[str, Gain]
    test_gains: Mapping[str, Gain]
    skipped: Mapping[str, str]
    settings: Mapping[str, Any]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        lines = [f"{self.budget} of {self.candidates} candidates labelled, {self.settings['epochs']} more epochs"]
        lines += _table(f"{self.judges} inputs of the pool judge", self.gains)
        lines += _table(f"{self.test_judges} inputs of the test set judge", self.test_gains)
        lines += [f"skipped {name}: {reason}" for name, reason in self.skipped.items()]
        return "\n".join([*lines, *self.notes])


@torch.inference_mode(False)  # training needs gradients, also where the caller wants none
def accuracy_after_retraining(
    subject: Subject,
    method: str | Selector | Iterable[str | Selector] = "deepgini",
    budget: str | float = 0.05,
    *,
    protocol: Protocol = "split",
    pool: Any = None,
    epochs: int = 3,
    learning_rate: float | None = None,
    train_inputs: int | None = None,
    layers: str | Sequence[str] | None = None,
    mutate: Mutation | None = None,
    originals: int | None = None,
    repeats: int = 3,
    seed: int = 0,
    device: str | None = None,
    batch_size: int = 256,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Retraining:
    """Adds the inputs that each method selects to the training data, trains a copy of the model further, and compares.

    NSS, section 4.3.4 and Table 10. Beside the methods always stand ``random`` and the control ``none``: a copy that is
    trained for as many epochs without any new input. How copies are trained: see `further`.

    Args:
        subject: what is tested; its models stay as they are, and retrained copies are not kept.
        method: one or several, as for `mutiny.select`.
        budget: how many candidates are labelled: ``500``, or a share of the candidates, ``0.05`` or ``"5%"``.
        protocol: ``"split"``, without leakage: a random half of the pool are candidates, the other half judges and is
            never trained on. The test set judges too, unless all of it is in the pool. An input does not judge if it,
            or the original that `mutiny.mutate` made it from, has the same content as a training input, a candidate or
            a candidate's original. Copies that were changed elsewhere cannot be recognised.
            ``"paper"``: all of the pool are candidates, and all of the pool and of the test set judge. This leaks:
            inputs that were trained on, or the originals of such mutants, are among those that judge.
        pool: inputs with labels; the subject's pool, or else its test set, if not given.
        epochs: of retraining; the paper's are 40.
        learning_rate: of retraining.
        train_inputs: how many training inputs, drawn at random, are used again; all if not given.
        layers: where to read features, as for `mutiny.select`.
        mutate: how inputs are changed where a method changes them.
        originals: how many of the subject's originals take part, each repeat with the next one as the model under test;
            all there are if not given, or one that is trained.
        repeats: each with another split, order of training and, if there are several, original.
        seed: one seed, one answer.
        device: where to run; where the models are if not given.
        batch_size: inputs per forward pass in ranking and judging.
        folder: where originals are kept that the subject's recipe trains.
        progress: told what is being done.

    >>> def cut(x):  # one number per input; class 1 begins at -1
    ...     return x[:, None], (x > -1).long()
    >>> known = torch.cat([torch.linspace(-3.1, -1.9, 50), torch.linspace(1.9, 3.1, 50)])
    >>> new = torch.cat([torch.linspace(-3, -2, 180), torch.linspace(2, 3, 180), torch.linspace(0, 0.3, 40)])
    >>> net = nn.Linear(1, 2).eval()
    >>> with torch.no_grad():  # class 1 begins at 0.5
    ...     _ = net.weight.copy_(torch.tensor([[-2.0], [2.0]])), net.bias.copy_(torch.tensor([1.0, -1.0]))
    >>> subject = Subject(net, task=Classification(2), train=cut(known), test=cut(new))
    >>> print(accuracy_after_retraining(subject, "deepgini", "10%", epochs=100, learning_rate=0.01))
    20 of 200 candidates labelled, 100 more epochs
    200 inputs of the pool judge
                before   after           gain   beyond control
      none       89.3%   89.3%     +0.0 ± 0.0
      deepgini   89.3%  100.0%    +10.7 ± 2.6      +10.7 ± 2.6
      random     89.3%   89.3%     +0.0 ± 0.0       +0.0 ± 0.0
    All of the test set is in the pool, so it does not judge for itself.
    """
    progress = progress or Silent()
    _check_settings(subject, protocol, repeats=repeats, batch_size=batch_size, train_inputs=train_inputs)
    given, asked = _labelled(subject, pool), as_methods(method)
    count, methods = _count(budget, len(given), protocol), as_methods([*asked, RANDOM])
    wanted = originals if originals is not None else len(subject.models) or 1
    models = subject.ready(wanted, seed=seed, device=device, folder=folder, progress=progress)
    recipes = [further(model, subject.recipe, epochs, learning_rate) for model in models]
    states = [ModelState.of(model) for model in models]
    task = settle(subject.task, models, subject.train, subject.forward, batch_size)
    roles = Roles.of(given, subject, protocol)
    skipped: dict[str, str] = {}
    trials, sizes = list[Trial](), list[list[int]]()
    progress.stage("retraining", repeats * (1 + len(methods)) * epochs)
    for number in range(repeats):
        own, turn = seed if not number else seed_for(seed, "repeat", number), number % len(models)
        tested, others = models[turn], (*models[turn + 1 :], *models[:turn])
        candidates, judges = roles.drawn(generator_for(own, "retraining", "halves"))
        orders = _orders(methods, asked, skipped, Evidence(
            (tested, *others), task, candidates, subject.train,
            forward=subject.forward, seed=own, layers=layers, mutate=mutate, batch_size=batch_size,
        ))  # fmt: skip
        again = some_of(subject.train, train_inputs, generator_for(own, "retraining", "train"))
        trial = {BEFORE: [_accuracy(tested, data, task, subject.forward, batch_size) for data in judges]}
        for name in (CONTROL, *orders):
            data = again if name == CONTROL else Joined(again, candidates.subset(orders[name][:count]))
            after = retrained(
                tested, recipes[turn], data, task, seed_for(own, "retraining"),
                forward=subject.forward, progress=_stepping(progress, name),
            )  # fmt: skip
            trial[name] = [_accuracy(after, data, task, subject.forward, batch_size) for data in judges]
        progress.step(done=epochs * len(skipped))
        trials.append(trial)
        sizes.append([len(data) for data in judges])
    check_untouched(models, states)
    fewest = [min(some) for some in zip(*sizes, strict=False)]
    told = ("epochs", "learning_rate", "batch_size", "optimizer")
    return Retraining(
        protocol=protocol,
        budget=count,
        candidates=len(candidates),
        judges=fewest[0],
        test_judges=fewest[1] if len(fewest) > 1 else 0,
        gains=_gains(trials, 0),
        test_gains=_gains(trials, 1) if len(fewest) > 1 else {},
        skipped=skipped,
        settings={
            "seed": seed,
            "repeats": repeats,
            "originals": len(models),
            "train_inputs": len(again),
            **{name: getattr(recipes[0], name) for name in told},
        },
        notes=tuple(roles.notes(fewest[0])),
    )


def further(
    model: nn.Module, recipe: Recipe | None = None, epochs: int = 3, learning_rate: float | None = None
) -> Recipe:
    """A recipe that starts from a copy of ``model``.

    It is the given one at a tenth of its learning rate; without one it is the paper's: SGD with Nesterov momentum 0.99
    at a learning rate of 0.001, with a cosine schedule in place of steps, and batches of 128.

    >>> further(nn.Linear(1, 2), Recipe(lambda: nn.Linear(1, 2), learning_rate=0.05)).learning_rate
    0.005
    """
    if not any(parameter.requires_grad for parameter in model.parameters()):
        raise BadInput("model", "one without trainable parameters", "some to train", "Use model.requires_grad_().")
    usual = recipe or Recipe(
        type(model), batch_size=128, learning_rate=1e-2, optimizer="sgd",
        optimizer_settings={"momentum": 0.99, "nesterov": True}, schedule="cosine",
    )  # fmt: skip
    rate = usual.learning_rate / 10 if learning_rate is None else learning_rate
    return replace(usual, build=partial(copy.deepcopy, model), epochs=epochs, learning_rate=rate)


def retrained(
    model: nn.Module,
    recipe: Recipe,
    data: Data,
    task: Task,
    seed: int,
    *,
    forward: Forward = default_forward,
    progress: Callable[[int, int], None] | None = None,
) -> nn.Module:
    """A copy of the model in evaluation mode, trained by the recipe that `further` made, on the model's device."""
    device, dtype = placement(model)

    def call(network: nn.Module, inputs: Any) -> Tensor:
        return forward(network, cast(inputs, dtype))

    with torch.enable_grad():
        return recipe.train(data, task, seed, forward=call, device=device, progress=progress)


def _orders(
    methods: Sequence[Selector], asked: Sequence[Selector], skipped: dict[str, str], evidence: Evidence
) -> dict[str, Order]:
    """The candidates in each method's order; a method that does not apply is noted and not asked again."""
    orders = {}
    for method in methods:
        name = describe(method)
        try:
            if name not in skipped:
                orders[name], _ = method.rank(evidence)
        except (NotApplicable, BadInput) as reason:
            skipped[name] = str(reason).rstrip(".")
    if all(describe(method) in skipped for method in asked):
        reasons = " ".join(f"{name}: {reason}." for name, reason in skipped.items())
        raise BadInput("method", ", ".join(skipped), "at least one that applies here", reasons)
    return orders


def _accuracy(model: nn.Module, data: Data, task: Task, forward: Forward, batch_size: int) -> float:
    targets = torch.from_numpy(task.check_targets(data.targets, "judging")).to(placement(model)[0])
    return evaluate(lambda x: forward(model, x), model, data, targets, task, Pace(batch_size)).metric


def _gains(trials: Sequence[Trial], judges: int) -> dict[str, Gain]:
    """By method; one that was skipped in some repeat is not in the last."""
    table = {name: np.array([trial[name][judges] for trial in trials]) for name in trials[-1]}
    before, control = table.pop(BEFORE), table[CONTROL]
    return {
        name: Gain(*map(over_repeats, (before, after, after - before, after - control)))
        for name, after in table.items()
    }


def _table(title: str, gains: Mapping[str, Gain]) -> Iterator[str]:
    if not gains:
        return
    wide = max(map(len, gains))
    yield title
    yield f"  {'':{wide}}{'before':>8}{'after':>8}{'gain':>15}{'beyond control':>17}"
    for name, one in gains.items():
        beyond = "" if name == CONTROL else _points(one.beyond_control)
        line = f"  {name:{wide}}{one.before.mean:8.1%}{one.after.mean:8.1%}{_points(one.gain):>15}{beyond:>17}"
        yield line.rstrip()


def _points(value: Repeated) -> str:
    """In percentage points, with half of the interval's width."""
    spread = "" if value.interval is None else f" ± {50 * value.interval.width:.1f}"
    return f"{round(100 * value.mean, 1) + 0.0:+.1f}{spread}"  # no minus before zero


def _stepping(progress: Progress, name: str) -> Callable[[int, int], None]:
    return lambda _done, _total: progress.step(name)


def _check_settings(subject: object, protocol: str, **counts: int | None) -> None:
    if not isinstance(subject, Subject):
        raise BadInput(
            "subject", type(subject).__name__, "a mutiny.Subject", "Retraining needs the training data and the task."
        )
    if not isinstance(subject.task, Classification):
        raise BadInput("task", type(subject.task).__name__, "Classification: regression has no accuracy")
    if protocol not in ("split", "paper"):
        raise BadInput("protocol", repr(protocol), '"split" or "paper"')
    for name, value in counts.items():
        check_whole(name, 1 if value is None else value)


def _labelled(subject: Subject, pool: Any) -> Data:
    """The pool that was given, or the subject's own, with all its labels."""
    found = as_pool(pool) if pool is not None else subject.pool
    found = matched(subject.test if found is None else found, subject.train, subject.task)
    missing = unknown(found.targets, subject.task)
    if missing:
        raise BadInput(
            "pool", f"{missing} of {len(found)} inputs without a label", "labels, to train on and to judge by",
            "Give pool=(inputs, labels); mutiny.select does without.",
        )  # fmt: skip
    for name, data in (("pool", found), ("train", subject.train), ("test", subject.test)):
        subject.task.check_targets(data.targets, name)
    return found


def _count(budget: str | float, size: int, protocol: Protocol) -> int:
    """How many candidates are labelled."""
    as_count(budget, size)  # its errors speak of the pool
    candidates = size // 2 if protocol == "split" else size
    try:
        count = as_count(budget, candidates)
    except BadInput:
        count = candidates + 1
    if count > candidates:
        raise BadInput(
            "budget", budget, f"at most {candidates}, half of the pool, for the other half judges",
            "Label fewer, or give a larger pool.",
        )  # fmt: skip
    return count
