"""Train the suspects only: the baseline that every repair should beat."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import NotApplicable
from mutiny.core.progress import Progress
from mutiny.models import Patch
from mutiny.models.layers import Layer
from mutiny.models.patch import WeightEdit
from mutiny.models.torch_ops import replace_tensors
from mutiny.subjects.tasks import Classification
from mutiny.verbs.locate.activity import Above
from mutiny.verbs.locate.failures import ByLabel
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.model_under_test import ModelUnderTest
from mutiny.verbs.locate.suspects import suspects
from mutiny.verbs.repair.base import Method
from mutiny.verbs.repair.credit import check_gradients, losses
from mutiny.verbs.repair.damage import Damage, Ints
from mutiny.verbs.repair.knobs import Knobs, first_layer

BATCH = 64


@dataclass(frozen=True)
class Tune(Method):
    """Gradient descent (Adam) on all inputs of the repair split, in which only a few neurons change.

    Args:
        k: neurons, those that `mutiny.locate` ranks first, whose incoming weights and biases are trained.
        measure: of suspicion.
        epochs: each of which proposes a patch.
        rate: of learning.
    """

    code: ClassVar[str] = "tune"
    title: ClassVar[str] = "training of the suspects"
    source: ClassVar[str] = "mutiny, with the suspects of DeepFault"

    k: int = 10
    measure: str = "ochiai"
    epochs: int = 20
    rate: float = 1e-3

    def __post_init__(self) -> None:
        check_whole("k", self.k)
        check_whole("epochs", self.epochs)
        as_measure(self.measure)
        check_positive("rate", self.rate)

    def patches(self, damage: Damage, progress: Progress) -> Sequence[Patch]:
        """One for each epoch, the last first."""
        progress.stage("locating suspects", 1)
        knobs = Knobs.of_neurons(damage.view, self._suspects(damage))
        progress.step()
        return self._trained(damage, knobs, progress)[::-1]

    def _suspects(self, damage: Damage) -> list[tuple[Layer, int]]:
        classes = damage.targets if isinstance(damage.task, Classification) else None
        case = ModelUnderTest(
            damage.model, damage.task, damage.data, ByLabel(damage.task, damage.targets), classes, damage.forward,
            damage.seed, damage.batch_size,
        )  # fmt: skip
        places = case.hidden([layer.name for layer in damage.visible])
        found = suspects(case.spectrum(places, Above(), "signal"), as_measure(self.measure), self.k)
        if not found:
            raise NotApplicable("no neuron is suspicious")
        return [(damage.view.layer(one.layer), one.neuron) for one in found]

    def _trained(self, damage: Damage, knobs: Knobs, progress: Progress) -> list[Patch]:
        rng, found = damage.rng("tune"), []
        learnable = damage.learnable(np.arange(len(damage.data)), self.code)
        progress.stage("training", self.epochs)
        with torch.inference_mode(False), torch.enable_grad():
            model = copy.deepcopy(damage.model).requires_grad_(False)
            weights = dict(model.named_parameters())
            masks = {name: _mask(weights[name], at) for name, at in knobs.entries.items()}
            for name in masks:
                weights[name].requires_grad_()
            optimizer = torch.optim.Adam([weights[name] for name in masks], self.rate)
            for _ in range(self.epochs):
                order = rng.permutation(learnable)
                for at in range(0, len(order), BATCH):
                    self._step(damage, model, weights, masks, optimizer, order[at : at + BATCH])
                found.append(_difference(damage, weights, knobs))
                progress.step()
        return found

    def _step(
        self,
        damage: Damage,
        model: nn.Module,
        weights: dict[str, nn.Parameter],
        masks: dict[str, Tensor],
        optimizer: torch.optim.Optimizer,
        indices: Ints,
    ) -> None:
        outputs = damage.forward(model, replace_tensors(damage.inputs(indices), Tensor.clone))
        check_gradients(outputs, model, self.code)
        loss = losses(damage.task, outputs, damage.wanted(indices)).mean()
        found = torch.autograd.grad(loss, [weights[name] for name in masks], allow_unused=True)
        for (name, mask), gradient in zip(masks.items(), found, strict=True):
            weights[name].grad = None if gradient is None else gradient * mask
        optimizer.step()


def _mask(weight: Tensor, at: Ints) -> Tensor:
    mask = torch.zeros(weight.numel(), device=weight.device, dtype=weight.dtype)
    mask[torch.from_numpy(at)] = 1
    return mask.view(weight.shape)


def _difference(damage: Damage, weights: dict[str, nn.Parameter], knobs: Knobs) -> Patch:
    edits = tuple(
        WeightEdit(name, at, weights[name].detach().flatten()[torch.from_numpy(at)].cpu().clone())
        for name, at in knobs.entries.items()
    )
    return Patch(edits, first_layer(damage.view, [*knobs.entries]))
