"""Estimated work for one operator, and the time of a forward pass from which it follows."""

from __future__ import annotations

import time
from dataclasses import dataclass

import torch
from torch import nn

from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.models.in_use import in_use
from mutiny.models.view import PROBE_INPUTS, ModelView
from mutiny.subjects import Subject
from mutiny.subjects.data.seeded import seeded
from mutiny.subjects.training.loop import built

TIMED = 512
"""Number of items on which an epoch of training and a forward pass are timed."""


@dataclass(frozen=True)
class Planned:
    """Estimated work for one operator.

    Attributes:
        label: Label of the operator.
        level: Part that the operator changes.
        configurations: Number of mutants, over all searches.
        trainings: Number of trained networks.
        evaluations: Number of (instance, input) pairs; screening of large sets needs far fewer.
        seconds: Estimated time; ``None`` if nothing was timed.
        reason: Reason why the operator does not apply; empty if it does.
    """

    label: str
    level: str
    configurations: int = 0
    trainings: int = 0
    evaluations: int = 0
    seconds: float | None = None
    reason: str = ""


def timed_view(subject: Subject, seed: int) -> tuple[ModelView, float]:
    """View of the network for operators, and seconds of a forward pass per input."""
    if subject.recipe is not None and not subject.models:
        with seeded(seed):
            model = built(subject.recipe).eval()
    else:
        model = subject.models[0]
    with in_use(model, subject.forward):
        return _timed(model, subject)


def _timed(model: nn.Module, subject: Subject) -> tuple[ModelView, float]:
    put = placement(model).put
    size = min(TIMED, len(subject.test))
    inputs = put(subject.test.first(size))
    view = ModelView.of(model, put(subject.test.first(PROBE_INPUTS)), subject.forward)
    taken = []
    with steady(), torch.inference_mode():
        for _ in range(2):
            start = time.perf_counter()
            subject.forward(model, inputs)
            taken.append(time.perf_counter() - start)
    return view, min(taken) / size
