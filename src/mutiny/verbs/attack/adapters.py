"""Ensembles for attacks of other libraries. Public: docs/attack.md shows how to use them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from mutiny.core.errors import MissingExtra
from mutiny.models.device import placement
from mutiny.models.forward import steady
from mutiny.verbs.attack.base import cross_entropy
from mutiny.verbs.attack.ensemble import Ensemble


class EnsembleModule(nn.Module):
    """The mean of an ensemble's outputs as a module, for torchattacks, foolbox and other libraries.

    A module has only outputs, so gradients are those of a loss of the mean, not the mean of gradients: with
    ``combine="gradients"`` or ``"logits"`` it returns mean logits, with ``"probabilities"`` the logarithm of the mean.

    Outputs have the type and device of the inputs. The model is not a submodule, so that calls of ``train()``,
    ``zero_grad()`` or ``to()`` by other libraries do not reach it.

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
        self.place = nn.Parameter(empty, requires_grad=False)  # libraries read the device from parameters
        self.training = False

    def forward(self, inputs: Tensor) -> Tensor:
        """Returns the mean. Only inputs get gradients, so that a backward pass does not change the model."""
        with steady(), self._ensemble.frozen():
            return self._ensemble.mean(_placed(self._ensemble, inputs)).to(inputs)


def art_classifier(
    ensemble: Ensemble, input_shape: tuple[int, ...], classes: int, low: float = 0.0, high: float = 1.0
) -> Any:
    """Returns the ensemble as a classifier of the Adversarial Robustness Toolbox, for any of its attacks.

    ``loss_gradient`` is the mean of the members' gradients if the ensemble averages gradients, as MUTEN does;
    ``predict`` and ``class_gradient`` use mean outputs. The model is never changed.

    Args:
        ensemble: Ensemble of a model that returns logits.
        input_shape: Shape of one input.
        classes: Number of classes.
        low: Smallest value of an input.
        high: Largest value of an input.
    """
    try:
        from art.estimators.classification import PyTorchClassifier
    except ImportError as error:
        raise MissingExtra("adversarial-robustness-toolbox", "attacks") from error

    class MutantEnsemble(PyTorchClassifier):  # type: ignore[misc, unused-ignore]
        """An ART classifier for the ensemble; see `art_classifier`."""

        def predict(self, x: Any, batch_size: int = 128, training_mode: bool = False, **kwargs: Any) -> Any:
            """Returns mean outputs without ART's loader, which draws from torch's global generator."""
            del training_mode, kwargs
            batches = (torch.as_tensor(x[at : at + batch_size]) for at in range(0, len(x), batch_size))
            with torch.no_grad():
                return torch.cat([module(batch) for batch in batches]).float().cpu().numpy()

        def loss_gradient(self, x: Any, y: Any, training_mode: bool = False, **kwargs: Any) -> Any:
            """Returns the gradient of the cross-entropy with respect to each input, as a tensor if ``x`` is one."""
            if ensemble.combine != "gradients":
                return super().loss_gradient(x, y, training_mode=training_mode, **kwargs)
            given = torch.as_tensor(x)
            inputs = _placed(ensemble, given)
            wanted = torch.as_tensor(y).to(inputs.device)
            labels = wanted.argmax(dim=1) if wanted.ndim == 2 else wanted.long()
            slope = ensemble.slope(inputs, partial(cross_entropy, labels=labels))
            gradient = slope.gradient.to(given)
            return gradient if isinstance(x, Tensor) else gradient.numpy()

    module, device = EnsembleModule(ensemble), placement(ensemble.model).device
    return MutantEnsemble(
        module,
        loss=nn.CrossEntropyLoss(),
        input_shape=input_shape,
        nb_classes=classes,
        clip_values=(low, high),
        device_type="cpu" if device.type == "cpu" else "gpu",
    )


def _placed(ensemble: Ensemble, inputs: Tensor) -> Tensor:
    """Inputs in the type and on the device of the model, still connected to the graph."""
    placed: Tensor = placement(ensemble.model).put(inputs)
    return placed
