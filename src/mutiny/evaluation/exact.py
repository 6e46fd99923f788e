"""What a model does on a whole data set: every input, no estimate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.data import Data
from mutiny.errors import BadInput, MutinyError
from mutiny.models import Forward
from mutiny.models.calls import replace_tensors, tensors
from mutiny.models.forward import steady
from mutiny.records import Bits
from mutiny.task import Classification, Task


@dataclass(frozen=True)
class Outcome:
    """Correctness of each input, one bit each, and the metric over all of them."""

    bits: Bits
    inputs: int
    metric: float

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
    """

    outcome: Outcome
    shares: npt.NDArray[np.float64]
    confidence: npt.NDArray[np.float64] | None


def placement(model: nn.Module) -> tuple[torch.device, torch.dtype | None]:
    """Device of the model, and the type to which real-valued inputs are cast (``None``: leave them)."""
    parameters = list(model.parameters())
    kinds = {p.dtype for p in parameters if p.is_floating_point()}
    device = parameters[0].device if parameters else torch.device("cpu")
    return device, kinds.pop() if len(kinds) == 1 else None


def cast(inputs: Any, dtype: torch.dtype | None) -> Any:
    """Real-valued inputs in the model's type."""
    return inputs if dtype is None else replace_tensors(inputs, lambda t: t.to(dtype) if t.is_floating_point() else t)


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


def _pass(
    call: Callable[[Any], Tensor], model: nn.Module, data: Data, batch_size: int, take: Callable[[Tensor, int], None]
) -> None:
    device, dtype = placement(model)
    start = 0
    with steady(), torch.inference_mode():
        for inputs in data.batches(batch_size, device):
            outputs = call(cast(inputs, dtype))
            size = min(batch_size, len(data) - start)
            if outputs.ndim == 0 or len(outputs) != size:
                raise BadInput("model output", f"shape {tuple(outputs.shape)} for {size} inputs", "one row per input")
            take(outputs, start)
            start += size


def evaluate(
    call: Callable[[Any], Tensor], model: nn.Module, data: Data, targets: Tensor, task: Task, batch_size: int
) -> Outcome:
    """Runs ``call`` (a patched model's forward) over ``data``. ``targets`` are those of the task, on the device."""
    correct, shares = np.empty(len(data), bool), np.empty(len(data))

    def take(outputs: Tensor, start: int) -> None:
        right, part = task.judge(outputs, targets[start : start + len(outputs)])
        correct[start : start + len(outputs)] = right.cpu().numpy()
        shares[start : start + len(outputs)] = part.cpu().numpy()

    _pass(call, model, data, batch_size, take)
    return Outcome(np.packbits(correct), len(correct), float(shares.sum()) / len(correct))


def clean_pass(
    model: nn.Module, data: Data, targets: Tensor, task: Task, forward: Forward, batch_size: int, name: str
) -> CleanPass:
    """Runs an original over ``data``; outputs that are not finite are an error that names the original."""
    correct, shares, confidence = [], [], []

    def take(outputs: Tensor, start: int) -> None:
        if not bool(torch.isfinite(outputs).all()):
            bad = start + int((~torch.isfinite(outputs.reshape(len(outputs), -1)).all(dim=1)).nonzero()[0])
            raise BadInput(
                f"output of {name}", f"NaN or infinite for input {bad}", "finite numbers", "Retrain the model."
            )
        right, part = task.judge(outputs, targets[start : start + len(outputs)])
        correct.append(right.cpu().numpy())
        shares.append(part.cpu().numpy().astype(np.float64))
        if isinstance(task, Classification):
            if task.outputs == "probabilities":  # a few rows of logits can look like probabilities, never the reverse
                task.resolve(outputs)
            confidence.append(task.probabilities(outputs).amax(dim=1).double().cpu().numpy())

    _pass(lambda inputs: first_call(forward, model, inputs, name), model, data, batch_size, take)
    right, share = np.concatenate(correct), np.concatenate(shares)
    outcome = Outcome(np.packbits(right), len(right), float(share.sum()) / len(right))
    return CleanPass(outcome, share, np.concatenate(confidence) if confidence else None)
