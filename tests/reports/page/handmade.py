"""Assessments by hand: as few numbers as a test needs."""

import numpy as np

from mutiny.core.records import KillBits, MutantRecord, OperatorRecord, SetSummary, Status, Verdict
from mutiny.core.results import AssessedSubject, SplitRecord, TaskRecord
from mutiny.core.stats import Interval
from mutiny.verbs.assess.result import Assessment, Score

SIZES = {"train": 100, "test": 40, "weak": 20}
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
    return Assessment(**values)


def bits(right, mutants):
    """From booleans: ``right`` (originals, inputs), ``mutants`` (repetitions, originals, inputs)."""
    right, mutants = np.asarray(right, bool), np.asarray(mutants, bool)
    return KillBits(np.packbits(right, axis=-1), np.packbits(mutants, axis=-1), right.shape[-1])
