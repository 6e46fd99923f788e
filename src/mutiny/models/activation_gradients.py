"""Which way must an input change so that chosen neurons say more?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor

from mutiny.core.errors import BadInput
from mutiny.models.capture import ActivationRecorder, NeuronValue, rows_of, visible_layers
from mutiny.models.forward import Forward, default_forward, steady
from mutiny.models.layers import Indices
from mutiny.models.torch_ops import RECURRENT, replace_tensors, tensors
from mutiny.models.view import ModelView, parameter_names

Scale = Literal["none", "rms"]
SMALL = 1e-5
"""Added to the root mean square by which a gradient is divided, as DeepFault's code did."""


class ActivationGradients(NamedTuple):
    """What a batch gave.

    Attributes:
        gradient: of the inputs, in their structure; 0 for those that are no real numbers. ``None`` if not asked for.
        values: of the chosen neurons, ``(n, k)``.
        outputs: of the model.
    """

    gradient: Any
    values: Tensor
    outputs: Tensor


def activation_gradients(
    view: ModelView, neurons: Mapping[str, Indices], forward: Forward = default_forward, of: NeuronValue = "signal"
) -> Callable[[Any, Scale | None], ActivationGradients]:
    """A function from a batch to the mean gradient of chosen neurons with respect to each input.

    A neuron's value is the mean over its pixels. One backward pass serves all neurons of all inputs, because each input
    has a gradient of its own; only the weights' gradients are never computed. With ``rms`` each neuron's gradient is
    first divided by its root mean square, which takes one backward pass per neuron; with ``None`` there is no gradient
    and no backward pass.

    Args:
        view: the probed model.
        neurons: numbers of neurons by layer.
        forward: how the model is called.
        of: see `mutiny.models.capture.activations`.

    >>> from torch import nn
    >>> import numpy as np
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 2)).eval()
    >>> gradients = activation_gradients(ModelView.of(model, torch.ones(1, 2)), {"0": np.array([1])}, of="output")
    >>> bool((gradients(torch.ones(4, 2), "none").gradient[0] == model[0].weight[1]).all())
    True
    """
    names, layers = parameter_names(view.model), visible_layers(view, [*neurons])
    recurrent = any(layer.kind in RECURRENT for layer in view.layers)
    cudnn = torch.backends.cudnn.enabled and not recurrent  # it has no backward pass in evaluation mode

    def gradients(batch: Any, scale: Scale | None = "none") -> ActivationGradients:
        rows = rows_of(batch)
        recorder = ActivationRecorder(names, layers, of)
        with (
            steady(), torch.inference_mode(False), torch.enable_grad(),
            torch.backends.cudnn.flags(enabled=cudnn),
        ):  # fmt: skip
            roots = replace_tensors(batch, _root)
            moving = [tensor for tensor in tensors(roots) if tensor.requires_grad]
            if not moving:
                raise BadInput("inputs", "whole numbers", "real numbers, which can change a little")
            with recorder:
                outputs = forward(view.model, replace_tensors(roots, lambda tensor: tensor * 1))
            values = torch.cat([_means(recorder, name, rows)[:, units] for name, units in neurons.items()], dim=1)
            if scale is None:
                return ActivationGradients(None, values.detach(), outputs.detach())
            try:
                found = _plain(values, moving) if scale == "none" else _normalised(values, moving)
            except RuntimeError as error:
                raise BadInput(
                    "model", f"no gradient for {', '.join(neurons)} ({error})", "gradients that reach the inputs",
                    "Remove no_grad, inference_mode or detach from its forward pass, or choose other layers.",
                ) from error  # fmt: skip
        given = iter(found)
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
    return _slopes(values.mean(dim=1).sum(), moving)  # never the mean over the batch, which would depend on its size


def _normalised(values: Tensor, moving: list[Tensor]) -> list[Tensor]:
    count, sums = values.shape[1], [torch.zeros_like(tensor) for tensor in moving]
    for neuron in range(count):
        known = _slopes(values[:, neuron].sum(), moving, keep=neuron < count - 1)
        flat = torch.cat([one.flatten(1) for one in known], dim=1)
        size = flat.square().mean(dim=1).sqrt() + SMALL
        for total, one in zip(sums, known, strict=True):
            total += one / size.reshape(-1, *[1] * (one.ndim - 1))
    return [total / count for total in sums]


def _slopes(total: Tensor, moving: list[Tensor], keep: bool = False) -> list[Tensor]:
    """The gradient of each input; 0 for those that take no part, but some must."""
    found = torch.autograd.grad(total, moving, retain_graph=keep, allow_unused=True)
    if all(one is None for one in found):
        raise RuntimeError("no input takes part in what they say")
    return [torch.zeros_like(tensor) if one is None else one for tensor, one in zip(moving, found, strict=True)]
