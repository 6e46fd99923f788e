"""How much does a network gain if the inputs that a method selects are labelled and trained on?"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from typing import cast as typed

import torch
from torch import nn

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import Call, code_of, device_of, threads_of
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.random import generator_for, seed_for
from mutiny.core.records import to_plain
from mutiny.models import Forward, ModelState, default_forward
from mutiny.models.placement import placement
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.data import Data, Mutation, as_pool
from mutiny.subjects.data.joined import Joined
from mutiny.subjects.data.labels import matched, unknown
from mutiny.subjects.given import Given
from mutiny.subjects.inference import determinism as steadiness
from mutiny.subjects.inference.output_kind import settle
from mutiny.subjects.inference.passes import Pace, evaluate
from mutiny.subjects.tasks import Classification, Task
from mutiny.subjects.training import Recipe
from mutiny.verbs.select.base import Order, Selector
from mutiny.verbs.select.budget import as_count
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.gains import CONTROL as CONTROL
from mutiny.verbs.select.gains import RANDOM, Retraining, gains
from mutiny.verbs.select.gains import Gain as Gain
from mutiny.verbs.select.parsing import as_methods, describe
from mutiny.verbs.select.ranking import Refused
from mutiny.verbs.select.roles import Protocol, Roles, some_of
from mutiny.verbs.select.trials import Plan, Start, check_some


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
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
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
        engine: where candidates are ranked and copies trained, each by itself: ``"serial"`` (here), ``"processes"``,
            ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
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
    check_whole("seed", seed, 0)
    pooled, asked = _labelled(subject, pool), as_methods(method)
    count, methods = _count(budget, len(pooled), protocol), as_methods([*asked, RANDOM])
    given = Given(subject.name, pooled, "the pool", subject.train, subject.task, subject.forward, subject, None)
    wanted = given.count(originals)
    with as_engine(engine, workers) as where, opened(store) as kept:
        settings = to_plain({
            "seed": seed, "protocol": protocol, "epochs": epochs, "learning_rate": learning_rate, "layers": layers,
            "train_inputs": train_inputs, "batch_size": batch_size, "device": device_of(given, device),
            "threads": threads_of(where),
        })  # fmt: skip
        decides = {"test": subject.test, "recipe": subject.recipe, "mutate": mutate}
        call = Call.of(
            "accuracy_after_retraining", given, settings,
            {**decides, "methods": [code_of(one) for one in methods], "budget": count, "repeats": repeats},
            kept, wanted, device,
        )  # fmt: skip
        if call.outcome is not None:
            return typed(Retraining, call.outcome)
        running = Running(call.campaign, where, kept)
        train_at_once(running, subject, wanted, seed, device, folder, progress)
        models = subject.ready(wanted, seed=seed, device=device, folder=folder, progress=progress)
        recipes = [further(model, subject.recipe, epochs, learning_rate) for model in models]
        states = [ModelState.of(model) for model in models]
        task = settle(subject.task, models, subject.train, subject.forward, batch_size)
        steadiness.check_all_constant(models, states)
        roles = Roles.of(pooled, subject, protocol)
        progress.stage("retraining", repeats * (1 + len(methods)) * epochs)
        running.expect(repeats * (2 + 2 * len(methods)))
        work = Trials(
            models, recipes, task, subject.train, subject.forward, roles, {describe(one): one for one in methods},
            seed, train_inputs, layers, mutate, batch_size,
        )  # fmt: skip
        basis = hash_of([call.basis, [code_of(one) for one in decides.values()]]) if call.basis else ""
        plan = Plan(
            basis, {describe(one): code_of(one) for one in methods}, [describe(one) for one in asked], count, epochs,
            progress,
        )  # fmt: skip
        told = running.run(work, [plan.trial(number) for number in range(repeats)])
        check_untouched(models, states)
        skipped = {name: reason for one in reversed(told) for name, reason in one.skipped.items()}
        check_some([describe(one) for one in asked], skipped)
        trials = [one.accuracies for one in told]
        fewest = [min(some) for some in zip(*(one.start.judges for one in told), strict=False)]
        names = ("epochs", "learning_rate", "batch_size", "optimizer")
        result = Retraining(
            protocol=protocol,
            budget=count,
            candidates=told[-1].start.candidates,
            judges=fewest[0],
            test_judges=fewest[1] if len(fewest) > 1 else 0,
            gains=gains(trials, 0),
            test_gains=gains(trials, 1) if len(fewest) > 1 else {},
            skipped=skipped,
            settings={
                "seed": seed,
                "repeats": repeats,
                "originals": len(models),
                "train_inputs": told[-1].start.train_inputs,
                **{name: getattr(recipes[0], name) for name in names},
            },
            notes=tuple(roles.notes(fewest[0])),
        )
        running.finish(result)
        return result


class Trials:
    """The work of retraining: candidates are ranked, and copies of a model trained and judged. Each task stands alone.

    The arguments are those of `accuracy_after_retraining`, made ready.
    """

    def __init__(
        self,
        models: Sequence[nn.Module],
        recipes: Sequence[Recipe],
        task: Task,
        train: Data,
        forward: Forward,
        roles: Roles,
        methods: Mapping[str, Selector],
        seed: int,
        train_inputs: int | None,
        layers: str | Sequence[str] | None,
        mutate: Mutation | None,
        batch_size: int,
    ) -> None:
        self.models, self.recipes, self.task, self.train, self.forward = models, recipes, task, train, forward
        self.roles, self.methods, self.seed, self.train_inputs = roles, methods, seed, train_inputs
        self.layers, self.mutate, self.batch_size = layers, mutate, batch_size
        self._evidence: dict[int, Evidence] = {}

    @torch.inference_mode(False)
    def __call__(self, task: Job) -> Any:
        """The result of a task; the first argument is the repeat."""
        number = task.arguments[0]
        own = self.seed if not number else seed_for(self.seed, "repeat", number)
        turn = number % len(self.models)
        candidates, judges = self.roles.drawn(generator_for(own, "retraining", "halves"))
        if task.kind == "rank":
            return self._ranked(task.given, number, turn, own, candidates)
        again = some_of(self.train, self.train_inputs, generator_for(own, "retraining", "train"))
        model = self.models[turn]
        if task.kind == "before":
            sizes = tuple(len(data) for data in judges)
            return Start(self._judged(model, judges), sizes, len(candidates), len(again))
        chosen = task.given
        data = again if chosen is None else Joined(again, candidates.subset(chosen))
        after = retrained(
            model, self.recipes[turn], data, self.task, seed_for(own, "retraining"), forward=self.forward
        )  # fmt: skip
        return self._judged(after, judges)

    def _ranked(self, name: str, number: int, turn: int, seed: int, candidates: Data) -> Order | Refused:
        if number not in self._evidence:
            models = (*self.models[turn:], *self.models[:turn])
            self._evidence = {
                number: Evidence(
                    models, self.task, candidates, self.train, forward=self.forward, seed=seed, layers=self.layers,
                    mutate=self.mutate, batch_size=self.batch_size,
                )
            }  # fmt: skip
        try:
            return self.methods[name].rank(self._evidence[number])[0]
        except (NotApplicable, BadInput) as reason:
            return Refused.of(reason)

    def _judged(self, model: nn.Module, judges: Sequence[Data]) -> list[float]:
        return [_accuracy(model, data, self.task, self.forward, self.batch_size) for data in judges]

    def __getstate__(self) -> dict[str, Any]:
        """What methods found out does not travel."""
        return {**self.__dict__, "_evidence": {}}


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
    with torch.enable_grad():
        return recipe.train(data, task, seed, forward=forward, device=placement(model).device, progress=progress)


def _accuracy(model: nn.Module, data: Data, task: Task, forward: Forward, batch_size: int) -> float:
    targets = torch.from_numpy(task.check_targets(data.targets, "judging")).to(placement(model).device)
    return evaluate(lambda x: forward(model, x), model, data, targets, task, Pace(batch_size)).metric


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
