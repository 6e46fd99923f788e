"""Losses by name, for each kind of task and model output, and penalties on the weights of layers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from torch import Tensor, nn
from torch.nn import functional

from mutiny.core.errors import BadInput
from mutiny.subjects.tasks import Classification, Task
from mutiny.subjects.training.initializers import matrices

Loss = Callable[[Tensor, Tensor], Tensor]
TINY = 1e-7
"""Lower limit of numbers before a logarithm or a division, as in Keras."""


def _percentage(outputs: Tensor, wanted: Tensor) -> Tensor:
    return 100 * ((wanted - outputs).abs() / wanted.abs().clamp_min(TINY)).mean()


def _logarithmic(outputs: Tensor, wanted: Tensor) -> Tensor:
    return functional.mse_loss(outputs.clamp_min(TINY).log1p(), wanted.clamp_min(TINY).log1p())


def _log_cosh(outputs: Tensor, wanted: Tensor) -> Tensor:
    error = outputs - wanted
    return (error + functional.softplus(-2 * error) - math.log(2)).mean()


def _poisson(outputs: Tensor, wanted: Tensor) -> Tensor:
    return (outputs - wanted * outputs.clamp_min(TINY).log()).mean()


def _bce(outputs: Tensor, wanted: Tensor) -> Tensor:
    return functional.binary_cross_entropy(outputs.clamp(0, 1), wanted)


DISTANCES: dict[str, Loss] = {
    "mse": functional.mse_loss,
    "mae": functional.l1_loss,
    "huber": functional.huber_loss,
    "log_cosh": _log_cosh,
    "mape": _percentage,
    "msle": _logarithmic,
    "poisson": _poisson,
}
"""Distances between outputs and targets, element by element, as Keras defines them."""
CLASSIFICATION = ("cross_entropy", "hinge", "squared_hinge", "bce", *DISTANCES)
REGRESSION = tuple(DISTANCES)


def loss_for(task: Task, outputs: Tensor, name: str | None = None) -> Loss:
    """The loss ``name`` as a function of outputs and targets.

    For classification, targets are ``(n,)`` int64: ``cross_entropy`` (default) of logits, or the negative log of
    the clamped probability if the model returns probabilities; ``hinge`` and ``squared_hinge`` are multi-class margin
    losses; all others compare probabilities with one-hot targets, as Keras does. For regression, targets are
    ``(n, k)``: the task's metric (default), or one of `REGRESSION`.

    Args:
        task: Task; with ``outputs="auto"``, ``outputs`` shows whether the model returns logits or probabilities.
        outputs: First batch of model outputs.
        name: Name of the loss; ``None`` for the default.

    >>> import torch
    >>> logits = torch.tensor([[2.0, 0.0]])
    >>> on_logits = loss_for(Classification(2), logits)
    >>> on_probabilities = loss_for(Classification(2), logits.softmax(dim=1))
    >>> torch.allclose(on_logits(logits, torch.tensor([0])), on_probabilities(logits.softmax(1), torch.tensor([0])))
    True
    """
    if not isinstance(task, Classification):
        return _regression_loss(_known(name or task.metric, REGRESSION, "regression"))
    if task.outputs == "auto" and (outputs.ndim == 1 or outputs.shape[1] == 1):
        raise BadInput(
            "outputs",
            "'auto'",
            "'logits' or 'probabilities' to train a model with one output column",
            'Before training they cannot be told apart: use Classification(2, outputs="logits") or "probabilities".',
        )
    return _classification_loss(
        _known(name or "cross_entropy", CLASSIFICATION, "classification"), task.resolve(outputs)
    )


def _known(name: str, names: tuple[str, ...], kind: str) -> str:
    if name not in names:
        raise BadInput("loss", repr(name), f"for {kind}, one of {', '.join(names)}", "Or give a function.")
    return name


def _regression_loss(name: str) -> Loss:
    compare = DISTANCES[name]

    def loss(outputs: Tensor, targets: Tensor) -> Tensor:
        flat = outputs.reshape(len(outputs), -1)
        if flat.shape != targets.shape:
            raise BadInput("model output", f"{flat.shape[1]} numbers per input", f"{targets.shape[1]}, as the targets")
        return compare(flat, targets.to(flat.dtype))

    return loss


def _classification_loss(name: str, task: Classification) -> Loss:
    def cross_entropy(outputs: Tensor, targets: Tensor) -> Tensor:
        if outputs.ndim == 1 or outputs.shape[1] == 1:
            column, wanted = outputs.reshape(-1), targets.to(outputs.dtype)
            if task.outputs == "logits":
                return functional.binary_cross_entropy_with_logits(column, wanted)
            return functional.binary_cross_entropy(column.clamp(0, 1), wanted)
        if task.outputs == "logits":
            return functional.cross_entropy(outputs, targets)
        return functional.nll_loss(outputs.clamp_min(1e-12).log(), targets)

    def distance(outputs: Tensor, targets: Tensor) -> Tensor:
        probabilities = task.probabilities(outputs)
        wanted = functional.one_hot(targets, probabilities.shape[1]).to(probabilities.dtype)
        return (_bce if name == "bce" else DISTANCES[name])(probabilities, wanted)

    def hinge(outputs: Tensor, targets: Tensor) -> Tensor:
        scores = outputs if outputs.ndim == 2 and outputs.shape[1] > 1 else task.probabilities(outputs)
        return functional.multi_margin_loss(scores, targets, p=2 if name == "squared_hinge" else 1)

    return {"cross_entropy": cross_entropy, "hinge": hinge, "squared_hinge": hinge}.get(name, distance)


def penalties(model: nn.Module, wanted: Mapping[str, tuple[float, float]]) -> Callable[[], Tensor] | None:
    """Function that computes the sum of ``l1 |w| + l2 w^2`` over the weights of the named layers, without biases.

    Returns ``None`` if no layer is named.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 1))
    >>> _ = model[0].weight.data.copy_(torch.tensor([[1.0, -2.0]]))
    >>> penalties(model, {"0": (0.1, 0.01)})().item()
    0.35...
    """
    terms = [(weight, *sizes) for layer, sizes in wanted.items() for weight in matrices(model, layer)]
    if not terms:
        return None

    def penalty() -> Tensor:
        each = [l1 * weight.abs().sum() + l2 * weight.square().sum() for weight, l1, l2 in terms]
        total: Tensor = sum(each[1:], each[0])
        return total

    return penalty
