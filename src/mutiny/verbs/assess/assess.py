"""`assess`: would the test set notice if the network went wrong?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.jobs import Job
from mutiny.campaigns.memo import begun, code_of, pace_of, recalled, threads_of
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.schedule import ask
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, NotApplicable
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.records import MutantRecord, OperatorRecord, Status, to_plain, versions
from mutiny.core.stats import holm
from mutiny.faults import Operator
from mutiny.faults.evaluation import Runner, Screening
from mutiny.faults.naming import describe
from mutiny.faults.parsing import Fault, as_faults
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.models import ModelState
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.inference import determinism as steadiness
from mutiny.verbs.assess.identity import basis_of, campaign_of
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.operator_run import OperatorRun
from mutiny.verbs.assess.preflight import preflight
from mutiny.verbs.assess.result import Assessment, Score, classes_of, describe_subject, notes, spent
from mutiny.verbs.assess.savings import Savings
from mutiny.verbs.assess.score_interval import score_interval
from mutiny.verbs.assess.search import Search, within
from mutiny.verbs.assess.trainer import Trainer
from mutiny.verbs.assess.training_run import TrainingRun
from mutiny.verbs.assess.weak_set import WeakSet
from mutiny.verbs.assess.worker import Bench

PREFLIGHT = 2000
"""Inputs per split that the pre-flight asks first, unless everything is exact."""


def assess(
    subject: Subject,
    operators: str | Iterable[str | Fault] | None = None,
    *,
    originals: int | None = None,
    seed: int = 0,
    rule: KillRule | None = None,
    search: Search | None = None,
    weak: WeakSet | None = None,
    device: str | None = None,
    exact: bool = False,
    screening: Screening | None = None,
    savings: Savings | None = None,
    batch_size: int | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Assessment:
    """Mutation testing of trained models: MUFF's Algorithm 1 for each operator, guided by train, test and weak set.

    Args:
        subject: what is tested.
        operators: codes, text such as ``"WI,NI(ratio=0.1)"``, or instances; all on trained models if not given,
            ``"all"`` for those before training, too, which need a recipe.
        originals: how many originals to use or train.
        seed: one seed, one answer.
        rule: when a mutant is killed.
        search: how mutants are searched.
        weak: how the weak test set is made, unless the subject has one.
        device: where to evaluate; where the models are if not given.
        exact: whether to evaluate every mutant on every input of a large set, and to train every instance of a fault
            before training, not only as many as the verdict needs.
        screening: how sure a verdict must be before the remaining inputs are left out, unless ``exact``.
        savings: what need not be trained.
        batch_size: inputs per forward pass; measured once per model and device if not given.
        engine: where mutants are evaluated and trained: ``"serial"`` (here), ``"processes"``, ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done: the same call, interrupted or not, never does it again.
        folder: where trained originals are kept.
        progress: told what is being done.

    Returns:
        An `Assessment`, the same on every engine and after any interruption, but for the times.

    >>> import torch
    >>> from torch import nn
    >>> from mutiny import Classification
    >>> x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> subject = Subject(net, task=Classification(2), train=(x[:150], y[:150]), test=(x[150:], y[150:]))
    >>> assess(subject, "WI(ratio=0.3)").operators[0].status
    <Status.SCORED: 'scored'>
    """
    for name, value, kind in (
        ("subject", subject, Subject),
        ("rule", rule or KillRule(), KillRule),
        ("search", search or Search(), Search),
        ("weak", weak or WeakSet(), WeakSet),
        ("screening", screening or Screening(), Screening),
        ("savings", savings or Savings(), Savings),
    ):
        if not isinstance(value, kind):
            raise BadInput(name, repr(value)[:60], f"a {kind.__name__}")
    start, progress = time.monotonic(), progress or Silent()
    wanted = as_faults(operators)
    labels = _labels(wanted)
    search, weak = search or Search(), weak or WeakSet()
    screening = None if exact else screening or Screening()
    savings = replace(savings or Savings(), first_group=None) if exact else savings or Savings()
    count = subject.count(originals)
    rule = (rule or KillRule()).resolve(count)
    _check_settings(wanted, search, count, seed, batch_size)
    seed, batch_size = int(seed), None if batch_size is None else int(batch_size)
    subject.check()
    _check_faults(wanted, search, subject)
    with as_engine(engine, workers) as where, opened(store) as kept:
        settings = {
            "seed": seed,
            "operators": labels,
            "rule": to_plain(rule),
            "search": to_plain(search),
            "weak": to_plain(weak) if subject.weak is None else "given",
            "screening": to_plain(screening),
            "savings": to_plain(savings),
            "batch_size": batch_size,
            "device": subject.device(device),
            "threads": threads_of(where),
        }
        fingerprints = subject.fingerprints(originals, seed=seed, device=device)
        campaign = campaign_of(subject, fingerprints, wanted, settings)
        before = begun(kept, campaign.id)
        before = None if before is None else replace(before, network=campaign.network)
        found = recalled(kept, before)
        if found is not None and found.complete:
            return found  # type: ignore[no-any-return]
        running = Running(before or campaign, where, kept)
        train_at_once(running, subject, count, seed, device, folder, progress)
        models = subject.ready(originals, seed=seed, device=device, folder=folder, progress=progress)
        pace = pace_of(running.campaign)
        untouched = [ModelState.of(model) for model in models]
        runner = Runner(models, subject.task, subject.splits(), subject.forward, seed, batch_size, pace)
        steadiness.check_all_constant(models, untouched)
        settings |= {"batch_size": runner.pace.batch_size, "layout": runner.pace.layout}
        running.settle(settings)
        basis = basis_of(subject, fingerprints, settings)
        _prepare(runner, subject, weak, rule, progress, screening, running, basis)
        trainer = _trainer(subject, runner, folder, savings)
        runs: list[OperatorRun | TrainingRun] = []
        for operator, label in zip(wanted, labels, strict=True):
            own = hash_of([basis, code_of(operator)])
            if isinstance(operator, TrainingOperator):
                runs.append(TrainingRun(runner, trainer, operator, label, rule, search, basis))
            else:
                runs.append(OperatorRun(runner, operator, label, rule, search, screening, own))
        progress.stage("searching mutants", sum(run.steps for run in runs))
        running.expect(count * len(subject.splits()) + sum(run.tasks for run in runs))
        judges = {run.label: run.judge for run in runs if isinstance(run, OperatorRun)}
        bench = Bench(runner, judges, trainer)
        records = _adjusted(running.run(bench, [run.plan(progress) for run in runs]))
        check_untouched(models, untouched)
        scored = [(run, record) for run, record in zip(runs, records, strict=True) if record.status is Status.SCORED]
        values = [record.score for _, record in scored if record.score is not None]
        better = runner.task.higher_is_better
        interval = score_interval([run.scored() for run, _ in scored], rule, better, seed)
        result = Assessment(
            subject=describe_subject(subject, runner),
            settings=settings,
            versions=versions(),
            evaluation=spent(runner, records),
            score=Score(float(np.mean(values)) if values else None, interval, len(values), len(records)),
            operators=tuple(records),
            notes=tuple(notes(runner, rule, records)),
            seconds=time.monotonic() - start,
            created=running.campaign.created,
            trainings=sum(trainer.counted.values()) if trainer else 0,
            kills={key: bits for run in runs for key, bits in run.kills().items()},
            labels=classes_of(runner),
        )
        running.finish(result)
        return result


def _labels(operators: Sequence[Fault]) -> list[str]:
    labels = [describe(operator) for operator in operators]
    twice = sorted({label for label in labels if labels.count(label) > 1})
    if twice:
        raise BadInput("operators", ", ".join(twice), "each operator once", "Vary a parameter that is not searched.")
    return labels


def _check_settings(
    operators: Sequence[Fault], search: Search, originals: int, seed: int, batch_size: int | None
) -> None:  # fmt: skip
    """Whatever can be refused before anything is trained or run."""
    check_whole("seed", seed, 0)
    check_whole("batch_size", 1 if batch_size is None else batch_size)
    for operator in operators:
        if isinstance(operator, Operator) and operator.strength is not None:
            search.bounds(operator.bounds)
    if search.k_max * originals < search.min_instances:
        raise BadInput(
            "k_max", search.k_max, f"at least {-(-search.min_instances // originals)} with {originals} original(s)",
            f"With fewer than min_instances={search.min_instances} instances no mutant is ever stable.",
        )  # fmt: skip


def _check_faults(operators: Sequence[Fault], search: Search, subject: Subject) -> None:
    """The same for faults before training; which of them do not apply is told later."""
    if subject.recipe is None:
        return
    program = Program(subject.recipe, subject.train, subject.task, subject.forward)
    for operator in operators:
        if isinstance(operator, TrainingOperator):
            with suppress(NotApplicable):
                operator.configurations(program)
                if operator.strength is not None:
                    within(operator.span(program), search)


def _prepare(
    runner: Runner,
    subject: Subject,
    weak: WeakSet,
    rule: KillRule,
    progress: Progress,
    screening: Screening | None,
    running: Running,
    basis: str,
) -> None:
    """Clean passes, the weak set, and the pre-flight."""
    count = len(runner.models)
    progress.stage("clean passes and pre-flight", count * len(runner.splits) + 1)

    async def clean(original: int, split: str) -> None:
        name = f"original {original + 1} on {split}"
        runner.keep(original, split, await ask(Job("clean", (original, split), basis, name)))
        progress.step(name)

    passes = [clean(original, split) for split in runner.splits for original in range(count)]
    running.run(Bench(runner), passes)
    if "weak" not in runner.splits and len(subject.test) >= 2:
        chosen = weak.choose([runner.clean(original, "test") for original in range(count)])
        runner.add_split("weak", subject.test.subset(chosen))
    preflight(runner, rule, ("train", "test"), PREFLIGHT if screening else None)
    progress.step("pre-flight")


def _trainer(subject: Subject, runner: Runner, folder: Path | None, savings: Savings) -> Trainer | None:
    """What trains faulty programs; ``None`` if there is no recipe."""
    if subject.recipe is None:
        return None
    program = Program(subject.recipe, subject.train, subject.task, subject.forward)
    return Trainer(program, runner, None if folder is None else folder / "mutants", savings)


def _adjusted(records: Sequence[OperatorRecord]) -> list[OperatorRecord]:
    """Adds Holm-adjusted p-values over all mutants of all operators judged on the same set."""
    adjusted: dict[int, float] = {}
    for split in {mutant.guiding_set for record in records for mutant in record.mutants}:
        tested = [
            m
            for r in records
            for m in r.mutants
            if m.guiding_set == split and m.p_value is not None and m.same_as is None
        ]
        values = holm([mutant.p_value for mutant in tested if mutant.p_value is not None])
        adjusted.update({id(mutant): float(value) for mutant, value in zip(tested, values, strict=True)})

    def with_adjusted(mutant: MutantRecord) -> MutantRecord:
        return replace(mutant, p_adjusted=adjusted.get(id(mutant)))

    return [replace(record, mutants=tuple(map(with_adjusted, record.mutants))) for record in records]
