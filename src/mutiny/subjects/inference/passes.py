"""What a model does on a whole data set: every input, no estimate."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, MutinyError
from mutiny.core.records import Bits
from mutiny.models import Forward
from mutiny.models.forward import steady
from mutiny.models.layers import Indices
from mutiny.models.layout import Layout, laid_out
from mutiny.models.placement import placement
from mutiny.models.torch_ops import tensors
from mutiny.subjects.data import Data
from mutiny.subjects.inference.condensed_outputs import by_columns, condense
from mutiny.subjects.tasks import Classification, Task

CHUNK = 4096
"""Outputs judged at once, unless they are large."""


@dataclass(frozen=True)
class Pace:
    """Inputs per forward pass and the layout of convolution weights. They change rounding, and nothing else."""

    batch_size: int = 256
    layout: Layout = "default"


@dataclass(frozen=True)
class Outcome:
    """Correctness of each input, one bit each, and the metric over all of them."""

    bits: Bits
    inputs: int
    metric: float

    @classmethod
    def of(cls, right: npt.NDArray[np.bool_], shares: npt.NDArray[np.float64] | Tensor) -> Outcome:
        """From each input's correctness and its share of the metric, ``(n,)`` both."""
        return cls(np.packbits(right), len(right), float(shares.sum()) / len(right))

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """``(inputs,)``."""
        return np.unpackbits(self.bits, count=self.inputs).astype(bool)


@dataclass(frozen=True)
class CleanPass:
    """What an original does on a data set.

    Attributes:
        outcome: correctness and metric.
        shares: each input's share of the metric (its loss, for regression), ``(n,)``.
        confidence: largest class probability, ``(n,)``; ``None`` for regression.
        condensed: what is kept of the outputs, ``(n, q)`` by columns, see `condensed_outputs`.
    """

    outcome: Outcome
    shares: npt.NDArray[np.float64]
    confidence: npt.NDArray[np.float64] | None
    condensed: Tensor


def first_call(forward: Forward, model: nn.Module, inputs: Any, name: str) -> Tensor:
    """Calls an original that has not proved itself; whatever it raises becomes an error that names the original."""
    try:
        return forward(model, inputs)
    except MutinyError:
        raise
    except Exception as error:
        shapes = ", ".join(f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}" for t in tensors(inputs))
        raise BadInput(
            name, f"{type(error).__name__}: {error}", f"a model that takes inputs such as {shapes}",
            "Give the subject data that fits, or a forward=lambda model, inputs: ... that calls the model.",
        ) from error  # fmt: skip


def check_rows(outputs: Tensor, inputs: int) -> None:
    """An error if there is not one row for each input."""
    if outputs.ndim == 0 or len(outputs) != inputs:
        squeezed = "A squeeze() without an axis also removes that of inputs where there is only one. " * (inputs == 1)
        raise BadInput(
            "model output", f"shape {tuple(outputs.shape)} for {inputs} inputs", "one row per input",
            f"{squeezed}Give the subject a forward=lambda model, inputs: ... that returns a row for each input.",
        )  # fmt: skip


def rows(
    call: Callable[[Any], Tensor], model: nn.Module, data: Data, pace: Pace, indices: Indices | None = None
) -> Iterator[Tensor]:
    """Outputs in order, about ``CHUNK`` at a time, of all inputs or of those at ``indices``."""
    put = placement(model).put
    count = len(data) if indices is None else len(indices)
    held, filled = torch.empty(0), 0
    with steady(), torch.inference_mode(), laid_out(model, pace.layout):
        for at in range(0, count, pace.batch_size):
            stop = min(at + pace.batch_size, count)
            batch = data.read(slice(at, stop) if indices is None else indices[at:stop])
            outputs = call(put(batch))
            check_rows(outputs, stop - at)
            if not filled:  # one block: many small ones that outlive their pass would tear the heap to pieces
                room = max(pace.batch_size, min(CHUNK, CHUNK * CHUNK // max(1, outputs[0].numel())))
                held = outputs.new_empty((min(room, count - at), *outputs.shape[1:]))
            held[filled : filled + len(outputs)] = outputs
            filled += len(outputs)
            if stop == count or filled + pace.batch_size > len(held):
                yield held[:filled]
                filled = 0


def evaluate(
    call: Callable[[Any], Tensor], model: nn.Module, data: Data, targets: Tensor, task: Task, pace: Pace
) -> Outcome:
    """Runs ``call`` (a patched model's forward) over ``data``. ``targets`` are those of the task, on the device."""
    correct, shares, start = [], [], 0
    for outputs in rows(call, model, data, pace):
        right, share = task.judge(outputs, targets[start : start + len(outputs)])
        correct.append(right)
        shares.append(share)
        start += len(outputs)
    return Outcome.of(torch.cat(correct).cpu().numpy(), torch.cat(shares))


def clean_pass(
    model: nn.Module, data: Data, targets: Tensor, task: Task, forward: Forward, pace: Pace, name: str
) -> CleanPass:
    """Runs an original over ``data``; outputs that are not finite are an error that names the original."""
    correct, shares, confidence, condensed, start = [], [], [], [], 0
    for outputs in rows(lambda inputs: first_call(forward, model, inputs, name), model, data, pace):
        if not bool(torch.isfinite(outputs).all()):
            bad = start + int((~torch.isfinite(outputs.reshape(len(outputs), -1)).all(dim=1)).nonzero()[0])
            raise BadInput(
                f"output of {name}", f"NaN or infinite for input {bad}", "finite numbers", "Retrain the model."
            )
        truth = targets[start : start + len(outputs)]
        right, part = task.judge(outputs, truth)
        correct.append(right.cpu().numpy())
        shares.append(part.cpu().numpy().astype(np.float64))
        condensed.append(condense(task, outputs, truth).cpu())
        if isinstance(task, Classification):
            if task.outputs == "probabilities":  # a few rows of logits can look like probabilities, never the reverse
                task.resolve(outputs)
            confidence.append(task.probabilities(outputs).amax(dim=1).double().cpu().numpy())
        start += len(outputs)
    share, sure = np.concatenate(shares), np.concatenate(confidence) if confidence else None
    return CleanPass(Outcome.of(np.concatenate(correct), share), share, sure, by_columns(torch.cat(condensed)))
