"""The model and the inputs under attack."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.models import Forward, ModelView, Patch
from mutiny.models.forward import steady
from mutiny.models.layer_inputs import LayerInputRecorder
from mutiny.models.layers import Layer
from mutiny.models.placement import placement
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.data.balls import NORMS, distances
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.inference.passes import check_rows
from mutiny.subjects.tasks import Classification
from mutiny.verbs.attack.base import Attack, Batch, answers
from mutiny.verbs.attack.ensemble import BPDA, DIFFERENTIABLE, Ensemble
from mutiny.verbs.attack.result import Assault
from mutiny.verbs.attack.similarity import Representation

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
ALIKE = 1e-3
"""What a layer reads of an input may differ by this share of the largest, whatever else is in the batch."""


class AttackedModel:
    """The model and the inputs under attack.

    Args:
        model: in evaluation mode.
        data: labeled inputs.
        task: settled.
        forward: how the model is called.
        indices: of the inputs that are attacked.
        seed: of everything random.
        batch_size: inputs per pass.
        low: least value of an input's numbers.
        high: largest value.
    """

    def __init__(
        self,
        model: nn.Module,
        data: Data,
        task: Classification,
        forward: Forward,
        indices: Ints,
        seed: int,
        batch_size: int,
        low: float = 0.0,
        high: float = 1.0,
    ) -> None:
        self.model, self.data, self.task, self.indices = model, data, task, indices
        self.seed, self.size = seed, batch_size
        self.low, self.high, self.logits = low, high, as_logits(forward, task)
        self.call = copying(self.logits)
        self.labels = torch.from_numpy(task.check_targets(data.targets, "data"))
        self._probe = placement(model).put(data.first(PROBE_INPUTS))
        if not isinstance(self._probe, Tensor) or not self._probe.is_floating_point():
            given = str(self._probe.dtype).removeprefix("torch.") if isinstance(self._probe, Tensor) else None
            raise BadInput(
                "inputs", f"a tensor of {given}" if given else type(self._probe).__name__,
                "one tensor of real numbers per input, which can be changed",
                "Make images real numbers: inputs.float() / 255." if given == "uint8" else "",
            )  # fmt: skip

    @cached_property
    def view(self) -> ModelView:
        """Of the model, of which mutants are made."""
        return ModelView.of(self.model, self._probe.clone(), self.call)

    def batches(self, indices: Ints) -> Iterator[tuple[Tensor, Tensor, int]]:
        """Inputs, labels, and the number of the first."""
        place = placement(self.model)
        for at in range(0, len(indices), self.size):
            some = indices[at : at + self.size]
            inputs = place.put(self.data.read(some))
            yield inputs, self.labels[torch.from_numpy(some)].to(place.device), at

    def check(self) -> None:
        """An error if inputs are not in the stated range, as their type holds it."""
        for inputs, _, _ in self.batches(self.indices):
            low, high = (torch.tensor(end, dtype=inputs.dtype) for end in (self.low, self.high))
            least, most = inputs.min().cpu(), inputs.max().cpu()
            if not (least >= low and most <= high):
                raise BadInput(
                    "inputs", f"numbers from {least:.4g} to {most:.4g}", f"numbers from {self.low:g} to {self.high:g}",
                    "State their range with low= and high=; put normalization into the model.",
                )  # fmt: skip

    def inputs(self) -> Tensor:
        """All that are attacked, as they were."""
        return torch.cat([inputs.cpu() for inputs, _, _ in self.batches(self.indices)])

    def right(self) -> Bools:
        """Which answers are right before any attack."""
        with steady(), torch.inference_mode():
            found = [answers(self._said(inputs)) == labels for inputs, labels, _ in self.batches(self.indices)]
        return torch.cat(found).cpu().numpy()

    def _said(self, inputs: Tensor) -> Tensor:
        outputs = self.call(self.model, inputs)
        check_rows(outputs, len(inputs))
        return outputs

    def look(self, indices: Ints) -> Callable[[Patch], tuple[Tensor, float]]:
        """What mutants are compared by: features before the output layer, and accuracy, NaN if it has no answer."""
        listened = self.listened

        def seen(patch: Patch) -> tuple[Tensor, float]:
            features, right = [], []
            for inputs, labels, _ in self.batches(indices):
                read, outputs = self._read(patch, inputs, listened)
                finite = outputs.isfinite().all()
                right.append((answers(outputs) == labels).double().where(finite, torch.nan))
                features.append(read.float())
            return torch.cat(features), float(torch.cat(right).mean())

        return seen

    def original(self, indices: Ints) -> Representation:
        """Features of the model itself."""
        return Representation.of(self.look(indices)(Patch(()))[0])

    @cached_property
    def listened(self) -> Layer | None:
        """The output layer, whose inputs are compared; none if it does not read a row for each input.

        A network that has time before inputs reads so many rows by chance at best: what it reads of an input must not
        depend on what else is in the batch.
        """
        layer = ([layer for layer in self.view.layers if layer.output] or [*self.view.layers])[-1]
        some = self._probe[:-1] if len(self._probe) > 1 else self._probe
        try:
            (all_of_it, _), (some_of_it, _) = (self._read(Patch(()), inputs, layer) for inputs in (self._probe, some))
        except NotApplicable:
            return None
        same = all_of_it[: len(some_of_it)]
        apart = (same - some_of_it).abs().max() if same.shape == some_of_it.shape else torch.tensor(torch.inf)
        return layer if bool(apart <= ALIKE * same.abs().max()) or self._noisy() else None

    def _noisy(self) -> bool:
        """Whether the model answers differently when it is asked twice, so that its rows cannot be compared."""
        with steady(), torch.inference_mode():
            return not torch.equal(*(self._said(self._probe) for _ in range(2)))

    def _read(self, patch: Patch, inputs: Tensor, layer: Layer | None) -> tuple[Tensor, Tensor]:
        """What a layer reads, or else the outputs; and the outputs."""
        with patch.applied(self.model, self.call) as call, torch.inference_mode():
            if layer is None:
                outputs = call(inputs)
                return outputs.flatten(1), outputs
            with LayerInputRecorder(self.view, layer) as recorder:
                outputs = call(inputs)
                return recorder.last(len(inputs)), outputs

    def masked(self, way: Attack, alone: Ensemble, correct: Bools) -> float:
        """Share of correct inputs at which the original has no gradient at all; an error if it cannot have any."""
        still = []
        for inputs, labels, _ in self.batches(self.indices):
            loss = way.rising(labels)
            if loss is None:
                return 0.0
            try:
                slope = alone.slope(inputs, loss)
            except BadInput:
                raise
            except Exception as error:
                raise BadInput("model", f"{type(error).__name__}: {error}", DIFFERENTIABLE, BPDA) from error
            still.append((slope.direction == 0).flatten(1).all(dim=1))
        return float(torch.cat(still).cpu().numpy()[correct].mean()) if correct.any() else 0.0

    def assault(self, way: Attack, ensemble: Ensemble, eps: float | None) -> Assault:
        """One attack on all inputs."""
        start, passes = time.monotonic(), 0
        new, said, fooled, far = [], [], [], []
        for inputs, labels, at in self.batches(self.indices):
            found = way.attacked(ensemble, Batch(inputs, labels, at, self.low, self.high, self.seed), eps)
            with steady(), torch.inference_mode():
                said.append(answers(self._said(found.inputs)).cpu().numpy())
            fooled.append(said[-1] != labels.cpu().numpy())
            far.append(distances(inputs.cpu(), found.inputs.cpu()))
            new.append(found.inputs.detach().cpu())
            passes += found.passes
        return Assault(
            str(way), torch.cat(new), np.concatenate(said), np.concatenate(fooled),
            {str(norm): np.concatenate([one[norm] for one in far]) for norm in NORMS}, passes, time.monotonic() - start,
        )  # fmt: skip


def copying(forward: Forward) -> Forward:
    """The same call on a copy of the inputs: some models write into what they are given."""

    def call(model: nn.Module, inputs: Any) -> Tensor:
        return forward(model, map_leaves(lambda one: one.clone() if isinstance(one, Tensor) else one, inputs))

    return call


def as_logits(forward: Forward, task: Classification) -> Forward:
    """Outputs as logits with a column for each class.

    >>> from mutiny.models import default_forward
    >>> call = as_logits(default_forward, Classification(2, "logits"))
    >>> call(nn.Flatten(0), torch.tensor([[-40.0], [3.0]]))
    tensor([[  0., -40.],
            [  0.,   3.]])
    """

    def call(model: nn.Module, inputs: Any) -> Tensor:
        outputs = forward(model, inputs)
        single = outputs.ndim == 1 or outputs.shape[1] == 1
        if task.outputs == "logits" and not single:
            return outputs
        if task.outputs == "logits":
            one = outputs.reshape(-1)
            return torch.stack([torch.zeros_like(one), one], dim=1)
        found = task.probabilities(outputs)
        return found.clamp_min(torch.finfo(found.dtype).tiny).log()

    return call
