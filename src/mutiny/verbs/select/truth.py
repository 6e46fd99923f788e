"""What the labels of a pool say, where they are known after all, and what a careful reader should know of the pool."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

from mutiny.subjects.data import MutatedData
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import Given
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.select import metrics
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.quality import Truth, quality


def truth_of(evidence: Evidence) -> Truth | None:
    """Which answers are wrong, if all labels are known; only here targets of the pool are read."""
    if unknown(evidence.pool.targets, evidence.task):
        return None
    task, outputs = evidence.task, evidence.outputs()
    targets = task.check_targets(evidence.pool.targets, "pool")
    wrong = ~task.judge(outputs, torch.from_numpy(targets))[0].numpy()
    if isinstance(task, Regression):
        return Truth(wrong)
    return Truth(wrong, metrics.fault_types(targets, evidence.predicted()), task.classes)


def references(truth: Truth | None, budget: int) -> dict[str, dict[str, float | None]]:
    """What no method can beat, and what all should."""
    if truth is None:
        return {}
    ideal = quality(metrics.ideal_order(truth.wrong), truth, budget)
    random = {"fdr": metrics.expected_fdr(truth.wrong), "apfd": metrics.expected_apfd(truth.wrong), "rauc": None}
    best = None
    if truth.types is not None and ideal.rauc is not None:
        area = metrics.expected_rauc(truth.types, classes=truth.classes)
        random["rauc"] = None if area is None else area.value
        best = quality(metrics.ideal_type_order(truth.types), truth, budget).rauc
    return {
        "ideal": {"fdr": ideal.fdr, "apfd": ideal.apfd, "rauc": best.value if best else None},
        "random": random,
    }


def notes(given: Given, truth: Truth | None, evidence: Evidence, repeatable: bool) -> Iterator[str]:
    """What a careful reader should know."""
    if given.source == "the test set":
        yield "The pool is the test set, for the subject has no pool."
    if isinstance(given.data, MutatedData):
        yield "The pool is made of benign mutations; their clean originals are known."
    if given.task != evidence.task and evidence.task == Classification(2, "probabilities") and _single(evidence):
        yield (
            "All outputs lie between 0 and 1, so they are taken for probabilities of class 1. If they are logits, say "
            'so: Classification(2, outputs="logits").'
        )
    if not repeatable:
        yield f"{UNSTEADY}, so the same seed may choose other inputs."
    missing = unknown(given.data.targets, evidence.task)
    if 0 < missing < len(given.data):
        yield f"Only {len(given.data) - missing} of {len(given.data)} labels are known, so they are not used."
    elif missing and given.data.classes is not None:
        folders = ", ".join(given.data.classes[:5])
        yield (
            f"The pool's class folders ({folders}) are not known as classes, so its labels are not used. Call folders "
            f"as those of the training data, or by the number of the class."
        )
    if truth is None:
        return
    if not truth.wrong.any():
        yield "The model gets every input of the pool right, so no order can find a fault."
    elif truth.wrong.all():
        yield "The model gets every input of the pool wrong, so every order is as good."
    if truth.types is not None and len(np.unique(evidence.pool.targets)) == 1:
        yield f"All inputs of the pool have the label {evidence.pool.targets.flat[0]}."


def _single(evidence: Evidence) -> bool:
    """Whether the model returns one number for two classes."""
    outputs = evidence.outputs()
    return outputs.ndim == 1 or outputs.shape[1] == 1
