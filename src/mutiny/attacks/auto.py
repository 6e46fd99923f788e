"""AutoAttack: several attacks without parameters to tune, one after the other on what is still answered correctly."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import torch

from mutiny.attacks.adapters import art_classifier
from mutiny.attacks.base import Attack, Attacked, Batch
from mutiny.attacks.ensemble import Ensemble
from mutiny.attacks.pgd import Bound
from mutiny.checks import check_whole
from mutiny.data.balls import within
from mutiny.errors import BadInput, MissingExtra
from mutiny.random import seed_for

FEW, IMAGE = 3, 3
"""Classes without which one of the two losses is not defined; dimensions of an image."""


@dataclass(frozen=True)
class Auto(Attack):
    """AutoAttack as the Adversarial Robustness Toolbox has it: APGD with two losses, DeepFool, Square.

    Croce and Hein's own has FAB instead of DeepFool. The first step of APGD is twice the distance, as they say. Square
    is for images only, one of the losses for three classes or more. Needs ``pip install "mutiny[attacks]"``.

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
        if self.norm not in ("linf", "l2"):
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
        before = np.random.get_state()  # noqa: NPY002 - ART draws from the global generator
        np.random.seed(seed_for(batch.seed, "attack", "auto", batch.first) % 2**32)  # noqa: NPY002 - see above
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                new = whole.generate(batch.inputs.cpu().numpy(), batch.labels.cpu().numpy())
        finally:
            np.random.set_state(before)  # noqa: NPY002 - see above
        change = within(torch.from_numpy(new).to(batch.inputs) - batch.inputs, eps, self.norm)  # ART allows 0.01% more
        found = (batch.inputs + change).clamp(batch.low, batch.high)
        return Attacked(found, ensemble.passes - passes)

    def times(self, budget: int) -> Self:
        """It is what it is: its parts stop when they no longer get better."""
        del budget
        return self

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
