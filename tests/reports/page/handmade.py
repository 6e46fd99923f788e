"""Assessments by hand: as few numbers as a test needs."""

import re
from itertools import pairwise

import numpy as np

from mutiny.core.records import FaultRecord, KillBits, MutantRecord, OperatorRecord, SetSummary, Status, Verdict
from mutiny.core.results import AssessedSubject, SplitRecord, TaskRecord
from mutiny.core.stats import Interval
from mutiny.verbs.assess.muff.result import MuffAssessment, Score
from mutiny.verbs.assess.notice import FalseAlarms, GroupRate, Notice, NoticedBin, OperatorRate, PlannedSize
from mutiny.verbs.assess.notice import ReferenceRecord as Reference
from mutiny.verbs.assess.result import Assessment

SIZES = {"train": 100, "test": 40, "weak": 20}
EDGES = (0.5, 1.0, 2.0, 4.0, 8.0)
KILLED, SURVIVED, UNSTABLE = Verdict.KILLED, Verdict.SURVIVED, Verdict.UNSTABLE


def summary(found, verdicts=()):
    return SetSummary(found, (), verdicts.count(KILLED), verdicts.count(SURVIVED), verdicts.count(UNSTABLE), 5.0, "")


def mutant(operator, strength, split, verdict, **more):
    values = {"instances": 5, "metric_mean": 0.9, "metrics": ((0.9, 0.9),), "searched": True, **more}
    return MutantRecord(operator, strength, split, verdict, **values)


def operator(label="WI", verdicts=None, score=0.5, strength="factor", **more):
    """An operator from ``{set: {strength: verdict}}``."""
    verdicts = verdicts or {}
    mutants = [mutant(label, s, split, v) for split, each in verdicts.items() for s, v in each.items()]
    weakest = {
        split: min((s for s, v in each.items() if v is KILLED and s is not None), default=None)
        for split, each in verdicts.items()
    }
    sets = {split: summary(weakest[split], list(each.values())) for split, each in verdicts.items()}
    values = {
        "code": label,
        "title": f"title of {label}",
        "label": label,
        "parameters": {},
        "strength": strength,
        "bounds": (0.0, 1.0) if strength else None,
        "status": Status.NOT_KILLABLE if score is None else Status.SCORED,
        "score": score,
        "sets": sets,
        "mutants": tuple(mutants),
        **more,
    }
    return OperatorRecord(**values)


def assessment(
    *operators, interval=(0.4, 0.6), name="toy", originals=5, classes=3, kills=None, labels=None, facts=None, **more
):
    scores = [one.score for one in operators if one.score is not None]
    value = float(np.mean(scores)) if scores else None
    between = None if interval is None or value is None else Interval(*interval, 0.95, "bootstrap over originals")
    task = TaskRecord("classification", "accuracy", classes, "logits")
    if classes is None:
        task = TaskRecord("regression", "mse", tolerance=0.3)
    splits = {split: SplitRecord(inputs, 0.95, 0.01, (0.95,)) for split, inputs in SIZES.items()}
    values = {
        "subject": AssessedSubject(name, "Toy", originals, task, splits, ("fc",), **(facts or {})),
        "settings": {
            "seed": 0,
            "operators": [one.label for one in operators],
            "rule": {"test": "glm", "alpha": 0.05, "effect": "cohen-d", "beta": 0.5},
            "search": {"k_max": 5, "rse": 0.05, "precision": 0.0005},
            "weak": {"share": 0.5},
            "screening": {"confidence": 0.999},
        },
        "versions": {"mutiny": "0.1.0", "torch": "2.13.0"},
        "evaluation": {"evaluated": 1000, "pairs": 1000, "verdicts": {"exact": 12}},
        "score": Score(value, between, len(scores), len(operators)),
        "operators": tuple(operators),
        "notes": (),
        "seconds": 1.5,
        "created": "2026-01-02T03:04:05+0000",
        "kills": kills or {},
        "labels": labels,
        **more,
    }
    return MuffAssessment(**values)


def bits(right, mutants):
    """From booleans: ``right`` (originals, inputs), ``mutants`` (repetitions, originals, inputs)."""
    right, mutants = np.asarray(right, bool), np.asarray(mutants, bool)
    return KillBits(np.packbits(right, axis=-1), np.packbits(mutants, axis=-1), right.shape[-1])


def fault(operator, cost, noticed, original=0, seed=0, hits=None, strength=0.25):
    parameter = None if strength is None else "ratio"
    p_value = 0.001 if noticed else 0.5
    return FaultRecord(
        operator,
        f"{operator}(ratio={strength})",
        parameter,
        strength,
        original,
        seed,
        cost,
        noticed,
        p_value,
        hits=hits,
    )


def group(faults, kind=GroupRate, **more):
    """The rate of some faults, counted one by one."""
    bins = []
    for low, high in pairwise(EDGES):
        inside = [one for one in faults if low <= one.cost < high]
        noticed = sum(one.noticed for one in inside)
        bins.append(NoticedBin(low, high, len(inside), noticed, noticed / len(inside) if inside else None))
    rates = [each.rate for each in bins if each.rate is not None]
    return kind(sum(rates) / len(rates) if rates else None, None, tuple(bins), **more)


def rated(faults, interval=(0.58, 0.91), originals=10, reasons=None, failed=(), name="toy", classes=3, **more):
    """An assessment with a notice rate from ``{operator: [(cost, noticed), ...]}``, or from faults."""
    records = {
        label: [one if isinstance(one, FaultRecord) else fault(label, *one, original=n) for n, one in enumerate(each)]
        for label, each in faults.items()
    }
    everything = [one for each in records.values() for one in each]
    reasons = reasons or {}
    operators = {}
    for label, each in records.items():
        drastic = [one for one in each if one.cost >= EDGES[-1]]
        operators[label] = group(
            each,
            OperatorRate,
            title=f"title of {label}",
            harmless=sum(one.cost < EDGES[0] for one in each),
            drastic=len(drastic),
            missed_drastic=sum(not one.noticed for one in drastic),
            reason=reasons.get(label, ""),
            failed=label in failed,
        )
    hit = {one.hits for one in everything if one.hits is not None}
    overall = group(everything)
    notice = Notice(
        rate=overall.rate,
        interval=None if interval is None or overall.rate is None else Interval(*interval, 0.95, "jackknife-t"),
        bins=overall.bins,
        false_alarms=FalseAlarms(20, 1, 0.05),
        plan=(PlannedSize(2.0, 400, 350, 450), PlannedSize(1.0, 830, 700, 990), PlannedSize(0.5, None)),
        reference=more.pop("reference", Reference("validation", 2000, 0.95)),
        resampled="originals" if originals > 1 else "random choices",
        operators=operators,
        classes={str(one): group([each for each in everything if each.hits == one]) for one in sorted(hit)},
    )
    task = TaskRecord("classification", "accuracy", classes, "logits")
    splits = {"test": SplitRecord(449, 0.95, 0.01, (0.95,)), "validation": SplitRecord(1000, 0.95, 0.01, (0.95,))}
    values = {
        "subject": AssessedSubject(name, "Toy", originals, task, splits, ("fc",), **more.pop("facts", {})),
        "settings": {"method": "notice", "seed": 0, "seeds": 1, "alpha": 0.05, "operators": [*faults]},
        "versions": {"mutiny": "0.1.0", "torch": "2.13.0"},
        "notice": notice,
        "faults": tuple(everything),
        "evaluation": {"evaluated": 1000, "everything": 4000},
        "notes": (),
        "seconds": 1.5,
        "created": "2026-01-02T03:04:05+0000",
        **more,
    }
    return Assessment(**values)


def without_spans(path):
    """The text of a page in which commands are not divided into words."""
    return re.sub("</?span>", "", path.read_text())
