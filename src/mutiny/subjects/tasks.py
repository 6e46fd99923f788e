"""Tasks, which define what is correct: classification, or regression with a tolerance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from torch import Tensor

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.results import TaskRecord

if TYPE_CHECKING:
    from torch import Tensor

TELLING = 32
"""Number of outputs in one column from which on logits that all lie in 0..1, so all of class 1, are an error."""
Outputs = Literal["auto", "logits", "probabilities"]


@dataclass(frozen=True)
class Classification:
    """One of ``classes`` labels per input; correct means the largest output is the label; the metric is accuracy.

    Args:
        classes: Number of classes.
        outputs: Kind of the model's outputs. ``"auto"`` inspects them: numbers between 0 and 1, in rows that sum to 1,
            are probabilities, all others are logits; log-probabilities count as logits. A value that contradicts the
            outputs is an error. A two-class model may return one column: a logit, or the probability of class 1. If
            all logits may lie between 0 and 1, set ``"logits"``.

    >>> Classification(10).metric, Classification(10).higher_is_better
    ('accuracy', True)
    """

    classes: int
    outputs: Outputs = "auto"
    metric: ClassVar[str] = "accuracy"
    higher_is_better: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_whole("classes", self.classes, 2)
        object.__setattr__(self, "classes", int(self.classes))
        if self.outputs not in ("auto", "logits", "probabilities"):
            raise BadInput("outputs", repr(self.outputs), '"auto", "logits" or "probabilities"')

    def check_targets(self, targets: np.ndarray, split: str) -> np.ndarray:
        """Labels as ``(n,)`` int64 from class numbers or one-hot rows; errors name the split."""
        if targets.ndim == 2 and targets.shape[1] == 1:
            targets = targets[:, 0]
        if targets.ndim == 2 and targets.shape[1] == self.classes:
            if not (np.isin(targets, (0, 1)).all() and (targets.sum(axis=1) == 1).all()):
                raise BadInput(f"{split} labels", "a matrix that is not one-hot", "class numbers or one-hot rows")
            labels: np.ndarray = targets.argmax(axis=1).astype(np.int64)
            return labels
        if targets.ndim != 1:
            raise BadInput(f"{split} labels", f"shape {targets.shape}", f"shape (n,) or (n, {self.classes})")
        whole = targets.dtype.kind in "iub" or (
            targets.dtype.kind == "f" and bool((targets == np.round(targets)).all())
        )
        if not whole:
            raise BadInput(
                f"{split} labels",
                f"values of type {targets.dtype}",
                "whole numbers",
                "Use mutiny.Regression(tolerance=...) if the targets are real numbers.",
            )
        outside = (targets < 0) | (targets >= self.classes)
        if outside.any():
            where = int(np.flatnonzero(outside)[0])
            raise BadInput(
                f"{split} label at index {where}",
                f"{targets[where]:g}",
                f"a class between 0 and {self.classes - 1}",
                f"{int(outside.sum())} of {targets.size} labels are out of range; check Classification(classes=...).",
            )
        return targets.astype(np.int64)

    def resolve(self, outputs: Tensor) -> Classification:
        """This task with the kind of outputs determined from real outputs ``(n, classes)`` or ``(n,)``."""
        single = outputs.ndim == 1 or (outputs.ndim == 2 and outputs.shape[1] == 1)
        if single and self.classes != 2:
            raise BadInput(
                "model output",
                f"shape {tuple(outputs.shape)}",
                f"(n, {self.classes})",
                "A model with one output column fits Classification(2) or Regression.",
            )
        if not single and (outputs.ndim != 2 or outputs.shape[1] != self.classes):
            fix = "a forward=... that returns one row of class scores per input."
            if outputs.ndim == 2 and outputs.shape[1] > 1:
                columns = outputs.shape[1]
                fix = f"The network has {columns} outputs: write Classification({columns}), or give the subject {fix}"
            else:
                fix = f"Give the subject {fix}"
            raise BadInput("model output", f"shape {tuple(outputs.shape)}", f"(n, {self.classes})", fix)
        values = outputs.float()
        inside = bool(((values >= -1e-4) & (values <= 1 + 1e-4)).all())
        looks = inside if single else inside and bool(((values.sum(dim=1) - 1).abs() < 1e-2).all())
        seen: Outputs = "probabilities" if looks else "logits"
        if self.outputs == "auto":
            return Classification(self.classes, seen)
        if self.outputs != seen and not (self.outputs == "logits" and single and len(outputs) < TELLING):
            raise BadInput(
                "outputs",
                repr(self.outputs),
                f"{seen!r}, because that is what the model returns",
                f'State outputs="{seen}" in the task.',
            )
        return self

    def probabilities(self, outputs: Tensor) -> Tensor:
        """Class probabilities ``(n, classes)`` from the model's outputs."""
        outputs = outputs.float() if outputs.element_size() < 4 else outputs
        if outputs.ndim == 1 or outputs.shape[1] == 1:
            second = outputs.reshape(-1)
            second = second if self.outputs == "probabilities" else second.sigmoid()
            both = second.new_empty((len(second), 2))
            both[:, 0], both[:, 1] = 1 - second, second
            return both
        return outputs if self.outputs == "probabilities" else outputs.softmax(dim=1)

    def judge(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Per input: correct ``(n,)`` bool, and its share of the metric ``(n,)``. NaN outputs are wrong.

        Targets are classes ``(n,)``, or probabilities ``(n, classes)`` where labels are unknown. With probabilities,
        the share of an answer is its probability, and the most probable class is correct.

        >>> import torch
        >>> task, outputs = Classification(2, "logits"), torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> task.judge(outputs, torch.tensor([[0.75, 0.25], [0.25, 0.75]]))
        (tensor([ True, False]), tensor([0.7500, 0.2500], dtype=torch.float64))
        """
        predicted, classes = self.answers(outputs), most_probable(targets)
        correct = predicted == classes
        if targets.ndim == 1:
            return correct, correct.double()
        shares = targets.gather(1, predicted.clamp(min=0)[:, None])[:, 0].double()
        return correct, shares.masked_fill(predicted < 0, 0.0)

    def answers(self, outputs: Tensor) -> Tensor:
        """Predicted classes ``(n,)``; -1 for NaN.

        >>> import torch
        >>> Classification(3, "logits").answers(torch.tensor([[0.0, 2.0, 1.0], [torch.nan, 0.0, 0.0]])).tolist()
        [1, -1]
        """
        if outputs.ndim == 1 or outputs.shape[1] == 1:
            column = outputs.reshape(-1)
            threshold = 0.5 if self.outputs == "probabilities" else 0.0
            predicted, undefined = (column > threshold).long(), column.isnan()
        else:
            predicted, undefined = outputs.argmax(dim=1), outputs.isnan().any(dim=1)
        return predicted.masked_fill(undefined, -1)


@dataclass(frozen=True)
class Regression:
    """Real-valued targets; correct means that no output is off by more than ``tolerance``.

    Args:
        tolerance: Largest absolute error of any output of an input that counts as correct.
        metric: ``"mse"`` or ``"mae"``, which kill rules compare; lower is better.

    >>> Regression(tolerance=0.3).metric
    'mse'
    """

    tolerance: float
    metric: Literal["mse", "mae"] = "mse"
    higher_is_better: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not (isinstance(self.tolerance, Real) and np.isfinite(self.tolerance) and self.tolerance > 0):
            raise BadInput("tolerance", repr(self.tolerance), "a positive number, in the unit of the targets")
        if self.metric not in ("mse", "mae"):
            raise BadInput("metric", repr(self.metric), '"mse" or "mae"')

    def check_targets(self, targets: np.ndarray, split: str) -> np.ndarray:
        """Targets as ``(n, outputs)`` float64."""
        if targets.dtype.kind not in "iubf":
            raise BadInput(f"{split} targets", f"values of type {targets.dtype}", "numbers")
        if targets.ndim == 0 or not np.isfinite(targets).all():
            raise BadInput(f"{split} targets", "NaN or infinite values", "finite numbers")
        return targets.reshape(len(targets), -1).astype(np.float64)

    def resolve(self, outputs: Tensor) -> Regression:
        """Checks that outputs are real numbers, one row per input."""
        if outputs.ndim == 0 or not outputs.is_floating_point():
            raise BadInput("model output", f"{outputs.dtype} {tuple(outputs.shape)}", "real numbers, one row per input")
        return self

    def judge(self, outputs: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        """Per input: correct ``(n,)`` bool, and its share of the metric ``(n,)``. NaN outputs are wrong."""
        predicted = outputs.reshape(len(outputs), -1).double()
        if predicted.shape != targets.shape:
            raise BadInput(
                "model output", f"{predicted.shape[1]} numbers per input", f"{targets.shape[1]}, as in the targets"
            )
        errors = (predicted - targets).abs()
        losses = errors.square().mean(dim=1) if self.metric == "mse" else errors.mean(dim=1)
        return (errors <= self.tolerance).all(dim=1), losses


Task = Classification | Regression


def most_probable(targets: Tensor) -> Tensor:
    """Classes ``(n,)`` from targets of a classification, which may be probabilities ``(n, classes)``."""
    return targets if targets.ndim == 1 else targets.argmax(dim=1)


def task_record(task: Task) -> TaskRecord:
    """Record of a task in results."""
    kind = type(task).__name__.lower()
    if isinstance(task, Classification):
        return TaskRecord(kind, task.metric, classes=task.classes, outputs=task.outputs)
    return TaskRecord(kind, task.metric, tolerance=task.tolerance)


def task_identity(task: Task) -> dict[str, Any]:
    """Values that identify a task in hashes."""
    return {"kind": type(task).__name__, **asdict(task)}


def changed_answers(task: Task, before: Tensor, after: Tensor) -> tuple[Tensor, Tensor]:
    """Whether answers differ, ``(n,)`` bool, and distances between outputs, ``(n,)`` from 0 to 1; NaN counts as 1.

    For classification, an answer differs if the class does, and the distance is the total variation between the
    probabilities. For regression, an answer differs if some output moved by more than the tolerance, and the distance
    is ``d / (d + tolerance)`` with the largest move ``d``.

    >>> import torch
    >>> changed_answers(Classification(2, "probabilities"), torch.tensor([[0.75, 0.25]]), torch.tensor([[0.25, 0.75]]))
    (tensor([True]), tensor([0.5000], dtype=torch.float64))
    """
    if isinstance(task, Classification):
        old, new = task.probabilities(before).double(), task.probabilities(after).double()
        moved = (old - new).abs().sum(dim=1) / 2
        killed = (old.argmax(dim=1) != new.argmax(dim=1)) | moved.isnan()
    else:
        move = (after.double() - before.double()).reshape(len(before), -1).abs().amax(dim=1)
        killed, moved = ~(move <= task.tolerance), move / (move + task.tolerance)
    return killed, moved.nan_to_num(nan=1.0).clamp(max=1)
