"""The model and the inputs under attack: batches, correct answers, features of mutants, outcomes of attacks."""

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
from mutiny.models import Forward, Layer, ModelView, Patch
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.models.layer_inputs import LayerInputRecorder
from mutiny.models.view import PROBE_INPUTS
from mutiny.subjects.data import Data
from mutiny.subjects.data.balls import NORMS, distances
from mutiny.subjects.data.nested import map_leaves
from mutiny.subjects.inference.passes import check_rows
from mutiny.subjects.tasks import Classification
from mutiny.verbs.attack.base import Attack, Batch, answers
from mutiny.verbs.attack.ensemble import BPDA, DIFFERENTIABLE, Ensemble
from mutiny.verbs.attack.result import AttackOutcome
from mutiny.verbs.attack.similarity import Representation

Bools = npt.NDArray[np.bool_]
Ints = npt.NDArray[np.int64]
ALIKE = 1e-3
"""Largest difference of a layer's inputs between two batches, as a share of the largest value."""


class AttackedModel:
    """The model and the inputs under attack.

    Args:
        model: Model in evaluation mode.
        data: Labeled inputs.
        task: Task with the known kind of outputs.
        forward: Function that calls the model.
        indices: Indices of the inputs to attack.
        seed: Seed of everything random.
        batch_size: Inputs per forward pass.
        low: Smallest value of an input.
        high: Largest value of an input.
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
        self.seed, self.batch_size = seed, batch_size
        self.low, self.high, self.logits = low, high, as_logits(forward, task)
        self.call = copying(self.logits)
        self.labels = torch.from_numpy(task.check_targets(data.targets, "data"))
        self._probe = placement(model).put(data.first(PROBE_INPUTS))
        if not isinstance(self._probe, Tensor) or not self._probe.is_floating_point():
            kind = str(self._probe.dtype).removeprefix("torch.") if isinstance(self._probe, Tensor) else None
            raise BadInput(
                "data",
                f"a tensor of {kind}" if kind else type(self._probe).__name__,
                "one tensor of real numbers per input, which can be changed",
                "Convert images to real numbers: inputs.float() / 255." if kind == "uint8" else "",
            )

    @cached_property
    def view(self) -> ModelView:
        """View of the model, from which mutants are created."""
        return ModelView.of(self.model, self._probe.clone(), self.call)

    def batches(self, indices: Ints) -> Iterator[tuple[Tensor, Tensor, int]]:
        """Yields inputs, labels, and the number of the first input of each batch."""
        place = placement(self.model)
        for start in range(0, len(indices), self.batch_size):
            part = indices[start : start + self.batch_size]
            inputs = place.put(self.data.read(part))
            yield inputs, self.labels[torch.from_numpy(part)].to(place.device), start

    def check_range(self) -> None:
        """Raises `BadInput` if inputs are outside of the range, rounded to their type."""
        for inputs, _, _ in self.batches(self.indices):
            low, high = (torch.tensor(end, dtype=inputs.dtype) for end in (self.low, self.high))
            least, most = inputs.min().cpu(), inputs.max().cpu()
            if not (least >= low and most <= high):
                raise BadInput(
                    "data",
                    f"numbers from {least:.4g} to {most:.4g}",
                    f"numbers from {self.low:g} to {self.high:g}",
                    "State their range with low= and high=; put normalization into the model.",
                )

    def inputs(self) -> Tensor:
        """All inputs before the attack."""
        return torch.cat([inputs.cpu() for inputs, _, _ in self.batches(self.indices)])

    def correct(self) -> Bools:
        """Whether each answer is correct before any attack, ``(n,)``."""
        with steady(), torch.inference_mode():
            correct = [answers(self._outputs(inputs)) == labels for inputs, labels, _ in self.batches(self.indices)]
        return torch.cat(correct).cpu().numpy()

    def _outputs(self, inputs: Tensor) -> Tensor:
        outputs = self.call(self.model, inputs)
        check_rows(outputs, len(inputs))
        return outputs

    def evaluator(self, indices: Ints) -> Callable[[Patch], tuple[Tensor, float]]:
        """Returns a function from a patch to the mutant's features before the output layer and its accuracy.

        The accuracy is NaN if an output is not finite.
        """
        layer = self.compared_layer

        def evaluate(patch: Patch) -> tuple[Tensor, float]:
            features, correct = [], []
            for inputs, labels, _ in self.batches(indices):
                batch_features, outputs = self._features(patch, inputs, layer)
                finite = outputs.isfinite().all()
                correct.append((answers(outputs) == labels).double().where(finite, torch.nan))
                features.append(batch_features.float())
            return torch.cat(features), float(torch.cat(correct).mean())

        return evaluate

    def representation(self, indices: Ints) -> Representation:
        """Features of the original."""
        return Representation.of(self.evaluator(indices)(Patch(()))[0])

    @cached_property
    def compared_layer(self) -> Layer | None:
        """The output layer, whose inputs are compared; none if it does not read one row for each input.

        If the first dimension is time, the number of rows may equal that of inputs by chance. So the row of an input
        must also not depend on the other inputs of the batch.
        """
        layer = ([layer for layer in self.view.layers if layer.output] or [*self.view.layers])[-1]
        part = self._probe[:-1] if len(self._probe) > 1 else self._probe
        try:
            (whole_rows, _), (rows, _) = (self._features(Patch(()), inputs, layer) for inputs in (self._probe, part))
        except NotApplicable:
            return None
        expected = whole_rows[: len(rows)]
        apart = (expected - rows).abs().max() if expected.shape == rows.shape else torch.tensor(torch.inf)
        return layer if bool(apart <= ALIKE * expected.abs().max()) or self._noisy() else None

    def _noisy(self) -> bool:
        """Whether outputs for the same inputs differ between two calls, so that rows cannot be compared."""
        with steady(), torch.inference_mode():
            return not torch.equal(*(self._outputs(self._probe) for _ in range(2)))

    def _features(self, patch: Patch, inputs: Tensor, layer: Layer | None) -> tuple[Tensor, Tensor]:
        """Inputs of a layer, or the outputs without a layer; and the outputs."""
        with patch.applied(self.model, self.call) as call, torch.inference_mode():
            if layer is None:
                outputs = call(inputs)
                return outputs.flatten(1), outputs
            with LayerInputRecorder(self.view, layer) as recorder:
                outputs = call(inputs)
                return recorder.last(len(inputs)), outputs

    def masked(self, attack: Attack, alone: Ensemble, correct: Bools) -> float:
        """Returns the share of correct inputs at which the gradient of the original is 0.

        Raises `BadInput` if the model cannot be differentiated.
        """
        zero = []
        for inputs, labels, _ in self.batches(self.indices):
            loss = attack.rising(labels)
            if loss is None:
                return 0.0
            try:
                slope = alone.slope(inputs, loss)
            except BadInput:
                raise
            except Exception as error:
                raise BadInput("model", f"{type(error).__name__}: {error}", DIFFERENTIABLE, BPDA) from error
            zero.append((slope.direction == 0).flatten(1).all(dim=1))
        return float(torch.cat(zero).cpu().numpy()[correct].mean()) if correct.any() else 0.0

    def run(self, attack: Attack, ensemble: Ensemble, eps: float | None) -> AttackOutcome:
        """Attacks all inputs; the model alone decides which are fooled."""
        start, passes = time.monotonic(), 0
        new, said, fooled, moved = [], [], [], []
        for inputs, labels, first in self.batches(self.indices):
            attacked = attack.attacked(ensemble, Batch(inputs, labels, first, self.low, self.high, self.seed), eps)
            with steady(), torch.inference_mode():
                said.append(answers(self._outputs(attacked.inputs)).cpu().numpy())
            fooled.append(said[-1] != labels.cpu().numpy())
            moved.append(distances(inputs.cpu(), attacked.inputs.cpu()))
            new.append(attacked.inputs.detach().cpu())
            passes += attacked.passes
        return AttackOutcome(
            attack=str(attack),
            inputs=torch.cat(new),
            said=np.concatenate(said),
            fooled=np.concatenate(fooled),
            distances={str(norm): np.concatenate([batch[norm] for batch in moved]) for norm in NORMS},
            passes=passes,
            seconds=time.monotonic() - start,
        )


def copying(forward: Forward) -> Forward:
    """Returns a function that calls the model on a copy of the inputs: some models write into their inputs."""

    def call(model: nn.Module, inputs: Any) -> Tensor:
        return forward(model, map_leaves(lambda leaf: leaf.clone() if isinstance(leaf, Tensor) else leaf, inputs))

    return call


def as_logits(forward: Forward, task: Classification) -> Forward:
    """Returns a function that calls the model and returns logits with a column for each class.

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
            logits = outputs.reshape(-1)
            return torch.stack([torch.zeros_like(logits), logits], dim=1)
        probabilities = task.probabilities(outputs)
        return probabilities.clamp_min(torch.finfo(probabilities.dtype).tiny).log()

    return call
