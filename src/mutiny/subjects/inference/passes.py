"""Forward passes of models over a data set, and checks of what they return."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, MutinyError
from mutiny.core.memory_errors import is_out_of_memory
from mutiny.core.records import Bits
from mutiny.models import Forward, ModelState
from mutiny.models.capture import rows_of
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.models.layers import Indices
from mutiny.models.layout import Layout, laid_out
from mutiny.models.torch_ops import tensors
from mutiny.subjects.data import Data
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.inference.condensed_outputs import by_columns, condense
from mutiny.subjects.tasks import Classification, Task

CHUNK = 4096
"""Number of outputs judged at once, unless they are large."""
INSPECTED, BATCH = 512, 256
"""Number of inputs, spread over the data, whose outputs `settle` inspects, and the batch size."""
REPEATED = 64
"""Number of inputs on which a model must repeat its answers."""
UNSTEADY = "The model gives different answers to the same inputs (dropout or noise in its forward pass?)"
"""Note about a model that does not repeat its answers, without the full stop."""


@dataclass(frozen=True)
class Pace:
    """Batch size and memory layout of convolution weights. They affect speed and rounding only."""

    batch_size: int = 256
    layout: Layout = "default"


@dataclass(frozen=True)
class Outcome:
    """Correctness of each input, as packed bits, and the metric over all of them."""

    bits: Bits
    inputs: int
    metric: float

    @classmethod
    def of(cls, right: npt.NDArray[np.bool_], shares: npt.NDArray[np.float64] | Tensor) -> Outcome:
        """From each input's correctness and its share of the metric, ``(n,)`` both."""
        return cls(np.packbits(right), len(right), float(shares.sum()) / len(right))

    @property
    def correct(self) -> npt.NDArray[np.bool_]:
        """Correctness of each input, ``(inputs,)``."""
        return np.unpackbits(self.bits, count=self.inputs).astype(bool)


@dataclass(frozen=True)
class CleanPass:
    """Result of an original, without a patch, on a data set.

    Attributes:
        outcome: Correctness and metric.
        shares: Share of each input in the metric (for regression, its loss), ``(n,)``.
        confidence: Largest class probability, ``(n,)``; ``None`` for regression.
        condensed: Condensed outputs, ``(n, q)`` in column-major order, see `condensed_outputs`.
    """

    outcome: Outcome
    shares: npt.NDArray[np.float64]
    confidence: npt.NDArray[np.float64] | None
    condensed: Tensor


def first_call(forward: Forward, model: nn.Module, inputs: Any, name: str) -> Tensor:
    """Calls an original for the first time; any exception becomes an error that names the original."""
    try:
        return forward(model, inputs)
    except MutinyError:
        raise
    except Exception as error:
        if is_out_of_memory(error):  # says nothing about the data
            raise
        shapes = ", ".join(f"{str(t.dtype).removeprefix('torch.')} {tuple(t.shape)}" for t in tensors(inputs))
        fix = "Give the subject data that fits, or a forward=lambda model, inputs: ... that calls the model."
        expected = f"a model that takes inputs such as {shapes}"
        raise BadInput(name, f"{type(error).__name__}: {error}", expected, fix) from error


def check_rows(outputs: Tensor, inputs: int) -> None:
    """Raises an error unless the outputs have one row per input."""
    if outputs.ndim == 0 or len(outputs) != inputs:
        fix = "Give the subject a forward=lambda model, inputs: ... that returns a row for each input."
        if inputs == 1:
            fix = f"A squeeze() without an axis also removes the axis of a single input. {fix}"
        raise BadInput("model output", f"shape {tuple(outputs.shape)} for {inputs} inputs", "one row per input", fix)


def rows(
    call: Callable[[Any], Tensor], model: nn.Module, data: Data, pace: Pace, indices: Indices | None = None
) -> Iterator[Tensor]:
    """Yields outputs in order, about ``CHUNK`` at a time, for all inputs or for those at ``indices``."""
    put = placement(model).put
    count = len(data) if indices is None else len(indices)
    held, filled = torch.empty(0), 0
    with steady(), torch.inference_mode(), laid_out(model, pace.layout):
        for at in range(0, count, pace.batch_size):
            stop = min(at + pace.batch_size, count)
            batch = data.read(slice(at, stop) if indices is None else indices[at:stop])
            outputs = call(put(batch))
            check_rows(outputs, stop - at)
            if not filled:  # one block for many batches: small tensors that outlive their pass fragment the heap
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
    """Runs ``call``, the forward of a patched model, over ``data``; ``targets`` are in the task's form."""
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
    """Runs an original over ``data``; non-finite outputs raise an error that names the original."""
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


def settle(
    task: Task, models: Sequence[nn.Module], data: Data, forward: Forward, batch_size: int | None = None
) -> Task:
    """The task with its kind of outputs resolved; all models are inspected, so that contradictions show early."""
    some = data.subset(np.unique(np.linspace(0, len(data) - 1, INSPECTED).astype(np.int64)))
    resolved: list[Task] = []
    for index, model in enumerate(models):
        put = placement(model).put
        outputs = []
        with steady(), torch.inference_mode():
            for inputs in some.batches(batch_size or BATCH):
                outputs.append(first_call(forward, model, put(inputs), f"models[{index}]"))
                check_rows(outputs[-1], rows_of(inputs))
        resolved.append(task.resolve(torch.cat(outputs)))
        if resolved[index] != resolved[0]:
            fix = "Set outputs=... in the task if they return the same thing."
            raise BadInput(
                f"models[{index}]", f"outputs that fit {resolved[index]}", f"{resolved[0]}, as models[0]", fix
            )
    return resolved[0]


def repeats(model: nn.Module, data: Data, forward: Forward) -> bool:
    """Whether the model gives the same answers to the same inputs, up to rounding."""
    inputs = placement(model).put(data.first(REPEATED))
    with torch.inference_mode():
        once, again = (first_call(forward, model, _copied(inputs), "model") for _ in range(2))
    return once.shape == again.shape and torch.allclose(once, again, rtol=1e-3, atol=1e-5, equal_nan=True)


def _copied(inputs: Any) -> Any:
    """A copy of the inputs, for models that write into them."""
    return map_leaves(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, inputs)


def check_constant(model: nn.Module, before: ModelState, name: str = "model") -> None:
    """Raises an error if forward passes have changed the model since ``before``."""
    changed = before.difference(ModelState.of(model))
    if changed is not None:
        shown = f"a model whose forward pass writes to {changed}"
        raise BadInput(name, shown, "a model that its forward pass does not change", "Write in training mode only.")


def check_all_constant(models: Sequence[nn.Module], before: Sequence[ModelState]) -> None:
    """Calls `check_constant` for several originals, named by their index."""
    for number, (model, state) in enumerate(zip(models, before, strict=True)):
        check_constant(model, state, f"models[{number}]")
