"""Ensembles for attacks of other libraries."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from mutiny.attacks.ensemble import Ensemble
from mutiny.errors import MissingExtra


class EnsembleModule(nn.Module):
    """The mean of an ensemble's outputs as a module, for torchattacks, foolbox and anything that takes one.

    A module can only show outputs, so gradients are those of a loss of the mean, not the mean of gradients: with
    ``combine="gradients"`` or ``"logits"`` it returns mean logits, with ``"probabilities"`` the logarithm of the mean.

    >>> model = nn.Linear(2, 3).eval()
    >>> module = EnsembleModule(Ensemble(model, []))
    >>> bool((module(torch.ones(1, 2)) == model(torch.ones(1, 2))).all())
    True
    """

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__()
        self.model = ensemble.model  # others look for parameters, to find the device
        self._ensemble = ensemble
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """The mean. Only inputs get gradients: what others do with the graph leaves no trace on the model."""
        with self._ensemble.frozen():
            return self._ensemble.mean(inputs)


def art_classifier(
    ensemble: Ensemble, input_shape: tuple[int, ...], classes: int, low: float = 0.0, high: float = 1.0
) -> Any:
    """The ensemble as a classifier of the Adversarial Robustness Toolbox, on which any of its attacks runs.

    ``loss_gradient`` is the mean of the members' gradients where the ensemble averages gradients, as MUTEN does;
    ``predict`` and ``class_gradient`` are those of mean outputs.

    Args:
        ensemble: of a model that returns logits.
        input_shape: of one input.
        classes: how many.
        low: least value of an input's numbers.
        high: largest value.
    """
    try:
        from art.estimators.classification import PyTorchClassifier
    except ImportError as error:
        raise MissingExtra("adversarial-robustness-toolbox", "attacks") from error

    class MutantEnsemble(PyTorchClassifier):  # type: ignore[misc, unused-ignore]
        """See `art_classifier`."""

        def loss_gradient(self, x: Any, y: Any, training_mode: bool = False, **kwargs: Any) -> Any:
            """Of the cross-entropy of each input, by the input; a tensor for a tensor, otherwise an array."""
            if ensemble.combine != "gradients" or training_mode:
                return super().loss_gradient(x, y, training_mode=training_mode, **kwargs)
            inputs, wanted = (torch.as_tensor(one).to(self.device) for one in (x, y))
            labels = wanted.argmax(dim=1) if wanted.ndim == 2 else wanted.long()
            slope = ensemble.slope(inputs, lambda said: functional.cross_entropy(said, labels, reduction="none"))
            return slope.gradient if isinstance(x, Tensor) else slope.gradient.cpu().numpy()

    device = next(ensemble.model.parameters()).device
    return MutantEnsemble(
        EnsembleModule(ensemble), loss=nn.CrossEntropyLoss(), input_shape=input_shape, nb_classes=classes,
        clip_values=(low, high), device_type="cpu" if device.type == "cpu" else "gpu",
    )  # fmt: skip
