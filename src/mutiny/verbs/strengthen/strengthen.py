"""`strengthen`: which inputs would make the test set notice what slips through, and do they?"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from torch import nn

from mutiny.campaigns.campaign import Running
from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.memo import Call, code_of, device_of, threads_of
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.opening import opened
from mutiny.core.errors import BadInput
from mutiny.core.hashing import hash_of
from mutiny.core.progress import Progress, Silent
from mutiny.core.records import versions
from mutiny.core.subject_records import PoolRecord, StrengthenedSubject
from mutiny.faults import Operator
from mutiny.faults.evaluation import Screening
from mutiny.faults.naming import describe as label_of
from mutiny.faults.parsing import as_faults, as_operators
from mutiny.models import ModelState
from mutiny.models.state import check_untouched
from mutiny.subjects import Subject
from mutiny.subjects.data.joined import contents
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given, as_given
from mutiny.subjects.inference import determinism as steadiness
from mutiny.subjects.inference.output_kind import settle
from mutiny.subjects.inference.passes import Pace
from mutiny.subjects.tasks import Classification, task_record
from mutiny.verbs.assess.assess import assess
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.metrics import over_repeats
from mutiny.verbs.select.parsing import as_methods, describe, usual_method
from mutiny.verbs.strengthen.answers import Ints, losses, right
from mutiny.verbs.strengthen.assessed import check_fits, finished, ranges, spread, survivors
from mutiny.verbs.strengthen.context import Stage
from mutiny.verbs.strengthen.kill_table import Key, KillTable, is_exact, rules_of
from mutiny.verbs.strengthen.measuring import BEFORE, OWN, Scores, gains
from mutiny.verbs.strengthen.mutant_pool import POOL, TEST, Range
from mutiny.verbs.strengthen.notes import (
    notes_on_candidates,
    notes_on_judges,
    notes_on_measures,
    notes_on_mutants,
    notes_on_pool,
)
from mutiny.verbs.strengthen.plan import RANDOM_SUBSET, SUBSET, Plan, Told
from mutiny.verbs.strengthen.result import NONE, Smaller, Strengthening
from mutiny.verbs.strengthen.subset import Subset, smallest_subset
from mutiny.verbs.strengthen.validation import budgets_of, check_left, check_wishes, tie_break_of
from mutiny.verbs.strengthen.worker import Bench

MUTANTS = 5
"""Of each operator, for choosing and again for judging, unless told otherwise."""
CANDIDATES = 20
"""Inputs synthesised where the pool is not enough, unless told otherwise."""


def strengthen(
    subject: Subject,
    pool: Any = None,
    budget: str | float | Sequence[str | float] = 0.05,
    *,
    operators: str | Iterable[str | Operator] | None = None,
    originals: int | None = None,
    assessment: Assessment | None = None,
    methods: str | Selector | Iterable[str | Selector] | None = None,
    tie_break: str | Selector | None = None,
    mutants: int = MUTANTS,
    repeats: int = 5,
    minimise: bool = False,
    synthesize: int = CANDIDATES,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    exact: bool = False,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: Path | None = None,
    progress: Progress | None = None,
) -> Strengthening:
    """Proposes inputs of a pool that kill the most surviving mutants per label, and measures what they are worth.

    Survivors come from an assessment of the subject: the one given, a finished one under the same seed in ``store``, or
    one that is made first. Inputs are chosen greedily: again and again the one that brings the mutants nearest to being
    killed, by the assessment's own rule, as the originals' belief about its label predicts. Labels of the pool are
    never read for that. Where they are known, the choice is measured: on mutants of other seeds, which it knows nothing
    about, before and after, beside what other methods choose with as many labels.

    Args:
        subject: what is tested.
        pool: inputs to choose from, with or without targets; the subject's pool if not given.
        budget: how many inputs to label: ``50``, ``0.01`` or ``"1%"`` of the pool, or several: ``("1%", "5%")``.
        operators: faults on trained models, as for `assess`; those of the assessment in the store if not given.
        originals: how many; those of the assessment if not given.
        assessment: to start from.
        methods: of `select`, to compare with; ``random`` and the method that ``select`` takes if not given.
        tie_break: a method of `select` that decides among equals and fills the budget where nothing else helps.
        mutants: of each operator, spread over the strengths that the training set kills: so many choose, and so many
            others judge.
        repeats: of the measurement, each with mutants of its own and a part of the pool of its own.
        minimise: whether a small part of the test set that kills as much is looked for.
        synthesize: how many inputs are made for survivors that the pool cannot kill; 0 leaves it out. They have no
            label, and count in no score.
        seed: one seed, one answer.
        device: where to run; where the models are if not given.
        batch_size: of the assessment, if there is none yet.
        exact: the same.
        engine: where choosing and judging run: ``"serial"`` (here), ``"processes"``, ``"ray"``, or an engine.
        workers: how many processes.
        store: a file that remembers what is done, and in which the assessment is looked for.
        folder: where trained originals are kept.
        progress: told what is being done.

    >>> import torch
    >>> from torch import nn
    >>> x = torch.randn(400, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> easy = x[150:250].sum(1).abs() > 2
    >>> subject = Subject(net, task=Classification(2), train=(x[:150], y[:150]),
    ...     test=(x[150:250][easy], y[150:250][easy]), pool=(x[250:], y[250:]))
    >>> found = strengthen(subject, budget=10, operators="WI(ratio=0.3)", repeats=2)
    >>> len(found.chosen), found.gain("strengthen", 10).gain.mean > 0
    (10, True)
    """
    start, progress = time.monotonic(), progress or Silent()
    check_wishes(subject, assessment, mutants, repeats, synthesize, seed)
    wanted = None if operators is None else as_operators(operators)
    given = as_given(subject, pool, None, None, None, "pool", pool=True)
    there = given.source != "the test set"
    if not there and not minimise:
        raise BadInput(
            "pool", None, "inputs to choose from", "Give pool=..., with labels or without; or minimise=True."
        )
    budgets = budgets_of(budget, len(given.data)) if there else ()
    fresh, twins, copies = _fresh(subject, given) if there else (NONE, 0, 0)
    check_left(budgets, len(fresh))
    tie = None if tie_break is None else tie_break_of(tie_break)
    asked_for = None if methods is None else as_methods(methods)
    with as_engine(engine, workers) as where, opened(store) as kept:
        labels = None if wanted is None else [*map(label_of, wanted)]
        result = assessment or finished(kept, subject, labels, originals, seed, device)
        if result is None:
            result = assess(
                subject, wanted, originals=originals, seed=seed, device=device, exact=exact, batch_size=batch_size,
                engine=where, store=kept, folder=folder, progress=progress,
            )  # fmt: skip
        check_fits(result, subject)
        count = result.subject.originals
        usual = usual_method(subject.task, count)
        tie = tie or tie_break_of(usual)
        rivals = {describe(one): one for one in asked_for or as_methods(f"random,{usual}")}
        settings = {
            "seed": int(seed),
            "mutants": int(mutants),
            "batch_size": int(result.settings["batch_size"]),
            "layout": result.settings["layout"],
            "device": device_of(given, device),
            "threads": threads_of(where),
        }
        asked = {
            "budget": list(budgets), "repeats": int(repeats), "minimise": bool(minimise), "synthesize": int(synthesize)
        }  # fmt: skip
        identity = {
            "test": "" if kept is None else subject.test.fingerprint(),
            "assessment": hash_of({name: one for name, one in result.to_json().items() if name != "timing"}),
            "methods": [code_of(one) for one in rivals.values()],
            "tie_break": tie,
        }
        call = Call.of("strengthen", given, settings, {**asked, **identity}, kept, count, device)
        if call.outcome is not None:
            return cast(Strengthening, call.outcome)
        running = Running(call.campaign, where, kept)
        first = result.settings["seed"]
        models = subject.ready(count, seed=first, device=device, folder=folder, progress=progress)
        states = [ModelState.of(model) for model in models]
        stage = _stage(subject, given, result, models, there, int(seed))
        steadiness.check_all_constant(models, states)
        faults = as_faults(result.settings["operators"] if wanted is None else wanted)
        known = ranges(result, [one for one in faults if isinstance(one, Operator)])
        alive = tuple(key for key in survivors(result) if key[0] in {one.label for one in known})
        every = {describe(tie): tie, **rivals}
        judges = tuple(number for number, one in enumerate(known) if stage.renews(one.operator))
        plan = Plan(
            hash_of([call.basis, settings, identity["test"], identity["assessment"]]), int(seed), first, tuple(known),
            {name: code_of(one) for name, one in every.items()}, describe(tie), budgets, fresh,
            int(mutants), len(subject.test), judges, progress,
        )  # fmt: skip
        bench = Bench(stage, known, every)
        steps = plan.steps(len(alive) > 0, len(rivals), int(repeats), stage.labels is not None, minimise)
        progress.stage("strengthening the tests", steps)
        running.expect(steps)
        subset = _subset(stage, result, known, plan, running, bench, int(seed)) if minimise and known else None
        told: Told
        (told,) = running.run(
            bench,
            [plan.all([*spread(alive, int(mutants))], list(rivals), int(repeats),
                      None if subset is None else subset.indices, stage.labels is not None, int(synthesize))],
        )  # fmt: skip
        check_untouched(models, states)
        final = _result(stage, given, result, told, subset, list(rivals), budgets, alive)
        missing = unknown(given.data.targets, stage.task)
        final = replace(
            final,
            settings={**settings, **asked, "operators": [one.label for one in known], "methods": list(rivals),
                      "tie_break": describe(tie), "assessment": _settings_of(result)},
            notes=(
                *notes_on_mutants(result, known, alive),
                *notes_on_pool(told.proposal, budgets[-1] if budgets else 0, describe(tie), stage.labels is not None,
                               missing if missing < len(given.data) else 0, twins, copies),
                *notes_on_candidates(() if told.proposal is None else told.proposal.beyond, told.made, told.unmade,
                                     bool(synthesize)),
                *notes_on_judges([one.label for number, one in enumerate(known) if number not in judges]),
                *notes_on_measures(told.repeats, len(told.trials), told.skipped),
            ),
            seconds=time.monotonic() - start,
            created=call.campaign.created,
        )  # fmt: skip
        running.finish(final)
        return final


def _fresh(subject: Subject, given: Given) -> tuple[Ints, int, int]:
    """Inputs of the pool that are new, each content once; how many are tests already, and how many are copies."""
    own, tests = contents(given.data)[:, 0], contents(subject.test)[:, 0]
    twins, first = np.isin(own, tests), np.zeros(len(own), bool)
    first[np.unique(own, return_index=True)[1]] = True
    return np.flatnonzero(first & ~twins), int(twins.sum()), int((~first & ~twins).sum())


def _stage(
    subject: Subject, given: Given, result: Assessment, models: Sequence[nn.Module], there: bool, seed: int
) -> Stage:
    """Originals, sets of inputs and the assessment's rules."""
    task = settle(subject.task, models, subject.train, subject.forward)
    pace = Pace(int(result.settings["batch_size"]), result.settings["layout"])
    evidence = Evidence(
        models, task, given.data, subject.train, forward=subject.forward, seed=seed, pace=pace
    )  # fmt: skip
    splits = {"train": subject.train, "test": subject.test, **({POOL: given.data} if there else {})}
    screening = result.settings["screening"]
    labelled = there and not unknown(given.data.targets, task)
    return Stage(
        evidence, splits, *rules_of(result), None if screening is None else Screening(**screening),
        task.check_targets(given.data.targets, POOL) if labelled else None,
    )  # fmt: skip


def _subset(
    stage: Stage, result: Assessment, known: Sequence[Range], plan: Plan, running: Running, bench: Bench, seed: int
) -> Subset:
    """The smallest part of the test set; the assessment's own mutants are run again if it did not keep all answers."""
    numbers = {one.label: number for number, one in enumerate(known)}
    records = [one for one in result.operators if one.label in numbers]
    kept = is_exact(result) and isinstance(stage.task, Classification)
    mutants = {
        numbers[one.label]: [m.strength for m in one.mutants if m.guiding_set == TEST and m.same_as is None]
        for one in records
    }
    (rows,) = running.run(bench, [plan.table(None if kept else mutants)])
    own, task = stage.originals.test, stage.task
    table = KillTable(
        right(task, own, stage.targets), losses(task, own, stage.targets), (), stage.rule, stage.search,
        task.higher_is_better,
    )  # fmt: skip
    known_rows = KillTable.of(replace(result, operators=tuple(records))).rows if kept else ()
    table = table.of_rows([*known_rows, *rows])
    return smallest_subset(table, seed, records)


def _result(
    stage: Stage,
    given: Given,
    result: Assessment,
    told: Told,
    subset: Subset | None,
    rivals: Sequence[str],
    budgets: tuple[int, ...],
    alive: tuple[Key, ...],
) -> Strengthening:
    """All but settings, notes and times."""
    proposal, trials = told.proposal, told.trials
    measured = bool(trials) and proposal is not None and stage.labels is not None
    who = [OWN, *(name for name in rivals if name not in told.skipped)]
    task, tried = stage.task, () if proposal is None else proposal.mutants
    return Strengthening(
        subject=StrengthenedSubject(
            name=given.name,
            model=type(stage.evidence.model).__name__,
            originals=len(stage.evidence.models),
            task=task_record(task),
            test=len(stage.targets),
            pool=PoolRecord(len(given.data), given.source, stage.labels is not None)
            if POOL in stage.splits
            else None,
        ),
        settings={},
        versions=versions(),
        score=result.score,
        survivors=alive,
        tried=tuple(key for key in alive if key in tried),
        budgets=() if proposal is None else budgets,
        order=NONE if proposal is None else proposal.order,
        useful=0 if proposal is None else proposal.useful,
        predicted={} if proposal is None else {budget: proposal.predicted(budget, alive) for budget in budgets},
        beyond=() if proposal is None else proposal.beyond,
        candidates=told.made,
        before=over_repeats([one[BEFORE] for one in trials]) if measured else None,
        measured=tuple(gains(trials, who, budgets)) if measured else (),
        subset=subset,
        smaller=_smaller(trials) if subset is not None and trials else None,
        notes=(),
        seconds=0.0,
        created="",
        names=given.data.names,
    )  # fmt: skip


def _smaller(trials: Sequence[Scores]) -> Smaller:
    each = {name: [one[name] for one in trials] for name in (BEFORE, SUBSET, RANDOM_SUBSET)}
    lost = [whole - part for whole, part in zip(each[BEFORE], each[SUBSET], strict=True)]
    return Smaller(*map(over_repeats, (*each.values(), lost)))


def _settings_of(result: Assessment) -> dict[str, Any]:
    return {name: result.settings[name] for name in ("seed", "operators", "rule", "search", "weak", "screening")}
