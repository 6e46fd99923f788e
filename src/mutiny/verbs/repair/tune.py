"""Repair by training only the most suspicious neurons: the baseline for other methods."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from mutiny.core.checks import check_positive, check_whole
from mutiny.core.errors import NotApplicable
from mutiny.core.progress import Progress
from mutiny.models import Layer, Patch, WeightEdit
from mutiny.models.torch_ops import replace_tensors
from mutiny.verbs.locate.activity import Above
from mutiny.verbs.locate.counting import count_hits, hidden_points
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.suspects import suspects
from mutiny.verbs.repair.base import RepairMethod
from mutiny.verbs.repair.credit import check_gradients, losses
from mutiny.verbs.repair.parametrization import Parametrization, first_layer
from mutiny.verbs.repair.problem import Ints, RepairProblem

BATCH = 64
"""Inputs per training step."""


@dataclass(frozen=True)
class Tune(RepairMethod):
    """Trains the incoming weights and biases of a few neurons with Adam, on all inputs of the repair split.

    Args:
        k: Number of neurons: those that `mutiny.locate` ranks first.
        measure: Suspiciousness measure.
        epochs: Number of epochs; each proposes a patch.
        rate: Learning rate.
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

    def patches(self, problem: RepairProblem, progress: Progress) -> Sequence[Patch]:
        """One patch per epoch, the last first."""
        progress.stage("locating suspects", 1)
        neurons = Parametrization.of_neurons(problem.view, self._suspects(problem))
        progress.step()
        return self._trained(problem, neurons.entries, progress)[::-1]

    def _suspects(self, problem: RepairProblem) -> list[tuple[Layer, int]]:
        tested = problem.tested()
        points = hidden_points(tested, [layer.name for layer in problem.visible])
        ranked = suspects(count_hits(tested, points, Above()), as_measure(self.measure), self.k)
        if not ranked:
            raise NotApplicable("no neuron is suspicious")
        return [(problem.view.layer(suspect.layer), suspect.neuron) for suspect in ranked]

    def _trained(self, problem: RepairProblem, entries: Mapping[str, Ints], progress: Progress) -> list[Patch]:
        """The patch after each epoch; ``entries`` are the flat positions of the trained weights by parameter."""
        rng, patches = problem.rng("tune"), []
        learnable = problem.learnable(np.arange(len(problem.data)), self.code)
        progress.stage("training", self.epochs)
        with torch.inference_mode(False), torch.enable_grad():
            model = copy.deepcopy(problem.model).requires_grad_(False)
            weights = dict(model.named_parameters())
            masks = {name: _mask(weights[name], at) for name, at in entries.items()}
            for name in masks:
                weights[name].requires_grad_()
            optimizer = torch.optim.Adam([weights[name] for name in masks], self.rate)
            for _ in range(self.epochs):
                order = rng.permutation(learnable)
                for at in range(0, len(order), BATCH):
                    self._step(problem, model, weights, masks, optimizer, order[at : at + BATCH])
                patches.append(_difference(problem, weights, entries))
                progress.step()
        return patches

    def _step(
        self,
        problem: RepairProblem,
        model: nn.Module,
        weights: dict[str, nn.Parameter],
        masks: dict[str, Tensor],
        optimizer: torch.optim.Optimizer,
        indices: Ints,
    ) -> None:
        outputs = problem.forward(model, replace_tensors(problem.inputs(indices), Tensor.clone))
        check_gradients(outputs, model, self.code)
        loss = losses(problem.task, outputs, problem.targets_of(indices)).mean()
        gradients = torch.autograd.grad(loss, [weights[name] for name in masks], allow_unused=True)
        for (name, mask), gradient in zip(masks.items(), gradients, strict=True):
            weights[name].grad = None if gradient is None else gradient * mask
        optimizer.step()


def _mask(weight: Tensor, at: Ints) -> Tensor:
    mask = torch.zeros(weight.numel(), device=weight.device, dtype=weight.dtype)
    mask[torch.from_numpy(at)] = 1
    return mask.view(weight.shape)


def _difference(problem: RepairProblem, weights: dict[str, nn.Parameter], entries: Mapping[str, Ints]) -> Patch:
    """The patch from the weights of the problem's model to the trained ones."""
    edits = tuple(
        WeightEdit(name, at, weights[name].detach().flatten()[torch.from_numpy(at)].cpu().clone())
        for name, at in entries.items()
    )
    return Patch(edits, first_layer(problem.view, [*entries]))
