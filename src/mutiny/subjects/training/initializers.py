"""Initializers of layer weights by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import init

from mutiny.core.errors import BadInput

SMALL = 0.05
"""Spread of random weights that do not depend on the layer, and the constant weight, as in Keras."""


def _lecun(tensor: Tensor, normal: bool) -> Tensor:
    """Variance 1 / fan-in, as LeCun et al. (1998)."""
    fan, _ = init._calculate_fan_in_and_fan_out(tensor)
    if normal:
        return init.normal_(tensor, std=math.sqrt(1 / fan))
    return init.uniform_(tensor, -math.sqrt(3 / fan), math.sqrt(3 / fan))


def _orthogonal(tensor: Tensor) -> Tensor:
    """Orthogonal weights in float32, because torch has no decomposition for some types and layouts."""
    weights = init.orthogonal_(torch.empty(tensor.shape, dtype=torch.float32, device=tensor.device))
    return tensor.copy_(weights)


INITIALIZERS: dict[str, Callable[[Tensor], Tensor]] = {
    "zeros": init.zeros_,
    "ones": init.ones_,
    "constant": partial(init.constant_, val=SMALL),
    "normal": partial(init.normal_, std=SMALL),
    "uniform": partial(init.uniform_, a=-SMALL, b=SMALL),
    "trunc_normal": partial(init.trunc_normal_, std=SMALL, a=-2 * SMALL, b=2 * SMALL),
    "orthogonal": _orthogonal,
    "xavier_uniform": init.xavier_uniform_,
    "xavier_normal": init.xavier_normal_,
    "kaiming_uniform": partial(init.kaiming_uniform_, nonlinearity="relu"),
    "kaiming_normal": partial(init.kaiming_normal_, nonlinearity="relu"),
    "lecun_uniform": partial(_lecun, normal=False),
    "lecun_normal": partial(_lecun, normal=True),
}
"""Initializers of DeepCrime under the names of torch; Xavier is Glorot, Kaiming is He."""


def initialize(model: nn.Module, wanted: Mapping[str, str]) -> None:
    """Initializes the weights of the named layers; biases stay. The caller seeds the generators.

    >>> model = nn.Sequential(nn.Linear(2, 3))
    >>> initialize(model, {"0": "zeros"})
    >>> bool((model[0].weight == 0).all()), bool((model[0].bias == 0).any())
    (True, False)
    """
    with torch.no_grad():
        for layer, name in wanted.items():
            for weight in matrices(model, layer):
                INITIALIZERS[name](weight)


def matrices(model: nn.Module, layer: str) -> list[nn.Parameter]:
    """Weights of a module with at least two dimensions; an error if there are none."""
    try:
        module = model.get_submodule(layer)
    except AttributeError:
        module = nn.Module()
    weights = [weight for weight in module.parameters() if weight.ndim > 1]
    if not weights:
        named = [name for name, each in model.named_modules() if any(w.ndim > 1 for w in each.parameters(False))]
        raise BadInput("layer", repr(layer), f"a module with weights: {', '.join(named)}")
    return weights
