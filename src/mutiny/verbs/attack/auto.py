"""AutoAttack: several attacks without parameters to tune, one after the other on what is still answered correctly."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
import torch

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput, MissingExtra
from mutiny.core.random import seed_for
from mutiny.subjects.data.balls import Ball, widest
from mutiny.subjects.data.seeded import seeded
from mutiny.verbs.attack.adapters import art_classifier
from mutiny.verbs.attack.base import Attack, Attacked, Batch
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.pgd import Bound

FEW, IMAGE = 3, 3
"""Classes without which one of the two losses is not defined; dimensions of an image."""


@dataclass(frozen=True)
class Auto(Attack):
    """AutoAttack as the Adversarial Robustness Toolbox has it: APGD with two losses, DeepFool, Square.

    Croce and Hein's own has FAB instead of DeepFool. The first step of APGD is twice the distance, as they say. Square
    is for images only, one of the losses for three classes or more. Needs ``pip install "mutiny-nn[attacks]"``.

    What it draws belongs to batches, not to inputs, so results depend a little on the batch size. It works in single
    precision whatever the model's is; the new inputs have the model's.

    Args:
        norm: of the distance: ``linf`` or ``l2``.
        iterations: of APGD and DeepFool.
        restarts: of APGD and Square.
        queries: of Square.
    """

    code: ClassVar[str] = "autoattack"
    title: ClassVar[str] = "AutoAttack, by ART"
    source: ClassVar[str] = "Croce, Hein, ICML 2020"

    norm: Bound = "linf"
    iterations: int = 100
    restarts: int = 5
    queries: int = 5000

    def __post_init__(self) -> None:
        if self.norm not in get_args(Bound):
            raise BadInput("norm", repr(self.norm), "linf or l2")
        for name in ("iterations", "restarts", "queries"):
            check_whole(name, getattr(self, name))

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """What fools; the old inputs where nothing does."""
        assert eps is not None
        with torch.no_grad():
            classes = ensemble.mean(batch.inputs[:1]).shape[1]
        estimator = art_classifier(ensemble, tuple(batch.inputs.shape[1:]), classes, batch.low, batch.high)
        whole, passes = self._whole(estimator, eps, len(batch.inputs), classes), ensemble.passes
        given = batch.inputs.detach().cpu().float()  # ART knows single precision only
        seed = seed_for(batch.seed, "attack", "auto", batch.first)
        with warnings.catch_warnings(), seeded(seed, batch.inputs.device):  # ART draws from global generators
            warnings.simplefilter("ignore")
            new = torch.from_numpy(whole.generate(given.numpy(), batch.labels.cpu().numpy()))
        change = torch.where(new.isfinite(), new - given, 0).to(batch.inputs.device)
        ball = Ball(batch.inputs, eps, self.norm, batch.low, batch.high)  # ART allows 0.01% more
        return Attacked(ball.inside(widest(batch.inputs) + change), ensemble.passes - passes)

    def _whole(self, estimator: Any, eps: float, size: int, classes: int) -> Any:
        try:
            import multiprocess  # noqa: F401 - ART needs it without saying so
            from art.attacks.evasion import AutoAttack, AutoProjectedGradientDescent, DeepFool, SquareAttack
        except ImportError as error:
            raise MissingExtra("AutoAttack", "attacks") from error
        norm = np.inf if self.norm == "linf" else 2
        losses = ["cross_entropy", *["difference_logits_ratio"] * (classes >= FEW)]
        parts: list[Any] = [
            AutoProjectedGradientDescent(
                estimator, norm, eps, 2 * eps, self.iterations, nb_random_init=self.restarts, batch_size=size,
                loss_type=loss, verbose=False,
            )
            for loss in losses
        ]  # fmt: skip
        parts.append(DeepFool(estimator, self.iterations, nb_grads=min(10, classes), batch_size=size, verbose=False))
        if len(estimator.input_shape) == IMAGE:
            parts.append(
                SquareAttack(
                    estimator, norm, max_iter=self.queries, eps=eps, nb_restarts=self.restarts, batch_size=size,
                    verbose=False,
                )
            )  # fmt: skip
        return AutoAttack(estimator, norm, eps, 2 * eps, parts, size)
