"""Ensembles for attacks of other libraries."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import MissingExtra
from mutiny.models.forward import steady
from mutiny.models.placement import placement
from mutiny.verbs.attack.base import cross_entropy
from mutiny.verbs.attack.ensemble import Ensemble


class EnsembleModule(nn.Module):
    """The mean of an ensemble's outputs as a module, for torchattacks, foolbox and anything that takes one.

    A module can only show outputs, so gradients are those of a loss of the mean, not the mean of gradients: with
    ``combine="gradients"`` or ``"logits"`` it returns mean logits, with ``"probabilities"`` the logarithm of the mean.

    It answers in the type and on the device of its inputs, whatever those of the model are. The model is no part of
    it: what others do to a module before they attack it (``train()``, ``zero_grad()``, ``to()``) does not reach it.

    >>> model = nn.Linear(2, 3).eval()
    >>> module = EnsembleModule(Ensemble(model, []))
    >>> bool((module(torch.ones(1, 2)) == model(torch.ones(1, 2))).all())
    True
    """

    def __init__(self, ensemble: Ensemble) -> None:
        super().__init__()
        self._ensemble = ensemble
        device, dtype = placement(ensemble.model)
        empty = torch.empty(0, device=device, dtype=dtype)
        self.place = nn.Parameter(empty, requires_grad=False)  # others look for parameters, to find the device
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """The mean. Only inputs get gradients: what others do with the graph leaves no trace on the model."""
        with steady(), self._ensemble.frozen():
            return self._ensemble.mean(_entering(self._ensemble, inputs)).to(inputs)


def art_classifier(
    ensemble: Ensemble, input_shape: tuple[int, ...], classes: int, low: float = 0.0, high: float = 1.0
) -> Any:
    """The ensemble as a classifier of the Adversarial Robustness Toolbox, on which any of its attacks runs.

    ``loss_gradient`` is the mean of the members' gradients where the ensemble averages gradients, as MUTEN does;
    ``predict`` and ``class_gradient`` are those of mean outputs. The model behind it is never changed.

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

        def predict(self, x: Any, batch_size: int = 128, training_mode: bool = False, **kwargs: Any) -> Any:
            """Mean outputs, without ART's loader, which draws from torch's global generator."""
            del training_mode, kwargs
            batches = (torch.as_tensor(x[at : at + batch_size]) for at in range(0, len(x), batch_size))
            with torch.no_grad():
                return torch.cat([module(batch) for batch in batches]).float().cpu().numpy()

        def loss_gradient(self, x: Any, y: Any, training_mode: bool = False, **kwargs: Any) -> Any:
            """Of the cross-entropy of each input, by the input; a tensor for a tensor, otherwise an array."""
            if ensemble.combine != "gradients":
                return super().loss_gradient(x, y, training_mode=training_mode, **kwargs)
            given = torch.as_tensor(x)
            inputs = _entering(ensemble, given)
            wanted = torch.as_tensor(y).to(inputs.device)
            labels = wanted.argmax(dim=1) if wanted.ndim == 2 else wanted.long()
            slope = ensemble.slope(inputs, partial(cross_entropy, labels=labels))
            gradient = slope.gradient.to(given)
            return gradient if isinstance(x, Tensor) else gradient.numpy()

    module, device = EnsembleModule(ensemble), placement(ensemble.model).device
    return MutantEnsemble(
        module, loss=nn.CrossEntropyLoss(), input_shape=input_shape, nb_classes=classes, clip_values=(low, high),
        device_type="cpu" if device.type == "cpu" else "gpu",
    )  # fmt: skip


def _entering(ensemble: Ensemble, inputs: Tensor) -> Tensor:
    """Inputs as the model takes them; gradients find their way back."""
    entered: Tensor = placement(ensemble.model).put(inputs)
    return entered
