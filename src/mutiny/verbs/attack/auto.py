"""AutoAttack: several attacks without parameters to tune, each on the inputs that are still answered correctly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, get_args

import numpy as np
import torch

from mutiny.core.checks import check_whole
from mutiny.core.claims import own_warnings
from mutiny.core.errors import BadInput, MissingExtra
from mutiny.core.random import seed_for
from mutiny.subjects.data.balls import Ball, widest
from mutiny.subjects.data.seeded import seeded
from mutiny.verbs.attack.adapters import art_classifier
from mutiny.verbs.attack.base import Attack, Attacked, Batch
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.attack.pgd import Bound

RATIO_CLASSES = 3
"""Number of classes that the difference of logits ratio needs."""
IMAGE_DIMENSIONS = 3


@dataclass(frozen=True)
class Auto(Attack):
    """AutoAttack from the Adversarial Robustness Toolbox: APGD with two losses, DeepFool, Square.

    The version of Croce and Hein has FAB instead of DeepFool. The first step of APGD is twice the distance, as they
    recommend. Square needs images, and one of the losses at least three classes. Needs
    ``pip install "mutiny-nn[attacks]"``.

    Its random numbers depend on the batch, so results depend slightly on the batch size. It computes in single
    precision; the new inputs have the precision of the model.

    Args:
        norm: Norm of the distance: ``linf`` or ``l2``.
        iterations: Iterations of APGD and DeepFool.
        restarts: Restarts of APGD and Square.
        queries: Queries of Square.
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
            raise BadInput(f"{self.code} norm", repr(self.norm), "linf or l2")
        for name in ("iterations", "restarts", "queries"):
            check_whole(f"{self.code} {name}", getattr(self, name))

    def attacked(self, ensemble: Ensemble, batch: Batch, eps: float | None) -> Attacked:
        """Returns inputs that fool the ensemble; the old inputs where none was found."""
        assert eps is not None
        with torch.no_grad():
            classes = ensemble.mean(batch.inputs[:1]).shape[1]
        estimator = art_classifier(ensemble, tuple(batch.inputs.shape[1:]), classes, batch.low, batch.high)
        auto_attack, passes = self._auto_attack(estimator, eps, len(batch.inputs), classes), ensemble.passes
        given = batch.inputs.detach().cpu().float()  # the only precision that ART supports
        seed = seed_for(batch.seed, "attack", "auto", batch.first)
        with seeded(seed, batch.inputs.device), own_warnings("ignore"):  # ART draws from global generators
            new = torch.from_numpy(auto_attack.generate(given.numpy(), batch.labels.cpu().numpy()))
        change = torch.where(new.isfinite(), new - given, 0).to(batch.inputs.device)
        ball = Ball(batch.inputs, eps, self.norm, batch.low, batch.high)  # ART allows 0.01% more
        return Attacked(ball.inside(widest(batch.inputs) + change), ensemble.passes - passes)

    def _auto_attack(self, estimator: Any, eps: float, size: int, classes: int) -> Any:
        try:
            import multiprocess  # noqa: F401 - ART needs it without saying so
            from art.attacks.evasion import AutoAttack, AutoProjectedGradientDescent, DeepFool, SquareAttack
        except ImportError as error:
            raise MissingExtra("AutoAttack", "attacks") from error
        norm = np.inf if self.norm == "linf" else 2
        losses = ["cross_entropy", *["difference_logits_ratio"] * (classes >= RATIO_CLASSES)]
        common = {"batch_size": size, "verbose": False}
        restarts = self.restarts
        parts: list[Any] = [
            AutoProjectedGradientDescent(
                estimator, norm, eps, 2 * eps, self.iterations, nb_random_init=restarts, loss_type=loss, **common
            )
            for loss in losses
        ]
        parts.append(DeepFool(estimator, self.iterations, nb_grads=min(10, classes), **common))
        if len(estimator.input_shape) == IMAGE_DIMENSIONS:
            parts.append(SquareAttack(estimator, norm, max_iter=self.queries, eps=eps, nb_restarts=restarts, **common))
        return AutoAttack(estimator, norm, eps, 2 * eps, parts, size)
