"""Gradients of chosen neurons with respect to the inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from mutiny.core.claims import exclusive
from mutiny.core.errors import BadInput
from mutiny.models.capture import ActivationRecorder, NeuronValue, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Indices
from mutiny.models.torch_ops import RECURRENT, replace_tensors, tensors
from mutiny.models.view import ModelView, parameter_names

Scale = Literal["none", "rms"]
SMALL = 1e-5
"""Added to the root mean square by which a gradient is divided, as in DeepFault's code."""


class ActivationGradients(NamedTuple):
    """Result for one batch.

    Attributes:
        gradient: Gradient for the inputs, in their structure; 0 for integer inputs; ``None`` if not requested.
        values: Values of the chosen neurons, ``(n, k)``.
        outputs: Outputs of the model.
    """

    gradient: Any
    values: Tensor
    outputs: Tensor


def activation_gradients(
    view: ModelView, neurons: Mapping[str, Indices], forward: Forward = default_forward, of: NeuronValue = "signal"
) -> Callable[[Any, Scale | None], ActivationGradients]:
    """Returns a function from a batch to the mean gradient of chosen neurons with respect to each input.

    A neuron's value is the mean over its pixels. One backward pass serves all neurons and inputs, because inputs do not
    interact; gradients of weights are never computed. With scale ``"rms"``, the gradient of each neuron is divided by
    its root mean square first, which takes one backward pass per neuron; with ``None`` no gradient is computed.

    Args:
        view: Probed model.
        neurons: Indices of neurons by layer.
        forward: Function that calls the model.
        of: See `mutiny.models.capture.activations`.

    >>> from torch import nn
    >>> import numpy as np
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> gradients = activation_gradients(ModelView.of(model, torch.ones(1, 2)), {"0": np.array([1])}, of="output")
    >>> bool((gradients(torch.ones(4, 2), "none").gradient[0] == model[0].weight[1]).all())
    True
    """
    names, layers = parameter_names(view.model), visible_layers(view, [*neurons])
    recurrent = any(layer.kind in RECURRENT for layer in view.layers)
    cudnn = torch.backends.cudnn.enabled and not recurrent  # recurrent cuDNN has no backward pass in evaluation mode

    def gradients(batch: Any, scale: Scale | None = "none") -> ActivationGradients:
        rows = rows_of(batch)
        recorder = ActivationRecorder(names, layers, of)
        with ExitStack() as stack:
            stack.enter_context(steady())
            stack.enter_context(torch.inference_mode(False))
            stack.enter_context(torch.enable_grad())
            stack.enter_context(exclusive("autograd settings"))
            stack.enter_context(torch.backends.cudnn.flags(enabled=cudnn))
            roots = replace_tensors(batch, _root)
            moving = [tensor for tensor in tensors(roots) if tensor.requires_grad]
            if not moving:
                raise BadInput("inputs", "whole numbers", "real numbers, for which gradients exist")
            with recorder:
                outputs = forward(view.model, replace_tensors(roots, lambda tensor: tensor * 1))
            values = torch.cat([_means(recorder, name, rows)[:, units] for name, units in neurons.items()], dim=1)
            if scale is None:
                return ActivationGradients(None, values.detach(), outputs.detach())
            try:
                slopes = _plain(values, moving) if scale == "none" else _normalized(values, moving)
            except RuntimeError as error:
                shown = f"no gradient for {', '.join(neurons)} ({error})"
                fix = "Remove no_grad, inference_mode or detach from its forward pass, or choose other layers."
                raise BadInput("model", shown, "gradients that reach the inputs", fix) from error
        given = iter(slopes)
        gradient = replace_tensors(roots, lambda t: next(given) if t.requires_grad else torch.zeros_like(t))
        return ActivationGradients(gradient, values.detach(), outputs.detach())

    return gradients


def _root(tensor: Tensor) -> Tensor:
    fresh = tensor.detach().clone()
    return fresh.requires_grad_() if fresh.is_floating_point() else fresh


def _means(recorder: ActivationRecorder, layer: str, rows: int) -> Tensor:
    """One number per input and neuron, ``(rows, neurons)``."""
    values = recorder.values(layer, rows)
    return values if values.ndim == 2 else values.flatten(1, -2).mean(dim=1)


def _plain(values: Tensor, moving: list[Tensor]) -> list[Tensor]:
    return _slopes(values.mean(dim=1).sum(), moving)  # a mean over the batch would depend on its size


def _normalized(values: Tensor, moving: list[Tensor]) -> list[Tensor]:
    count, sums = values.shape[1], [torch.zeros_like(tensor) for tensor in moving]
    for neuron in range(count):
        slopes = _slopes(values[:, neuron].sum(), moving, keep=neuron < count - 1)
        flat = torch.cat([slope.flatten(1) for slope in slopes], dim=1)
        size = flat.square().mean(dim=1).sqrt() + SMALL
        for total, slope in zip(sums, slopes, strict=True):
            total += slope / size.reshape(-1, *[1] * (slope.ndim - 1))
    return [total / count for total in sums]


def _slopes(total: Tensor, moving: list[Tensor], keep: bool = False) -> list[Tensor]:
    """The gradient for each input tensor, 0 for unused ones; raises an error if none is used."""
    slopes = torch.autograd.grad(total, moving, retain_graph=keep, allow_unused=True)
    if all(slope is None for slope in slopes):
        raise RuntimeError("they do not depend on any input")
    return [torch.zeros_like(tensor) if slope is None else slope for tensor, slope in zip(moving, slopes, strict=True)]
