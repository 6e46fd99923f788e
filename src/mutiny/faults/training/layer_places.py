"""Layers of a network, by the names under which users and recipes find them: the paths of their modules."""

from __future__ import annotations

from torch import nn
from torch.nn.modules.conv import _ConvNd

from mutiny.core.errors import NotApplicable
from mutiny.models import Layer, ModelView

WHOLE = "model"
"""Name of a network that is one layer."""


def path_of(view: ModelView, name: str) -> str:
    """Path of the module of that name."""
    return "" if name == WHOLE and not hasattr(view.model, WHOLE) else name


def weighted_modules(view: ModelView) -> list[str]:
    """Modules that hold the weights of layers, embeddings aside; an attention layer is one.

    Weights that the network itself holds, beside those of other layers, have no name of their own and are left out.
    """
    layers = [layer for layer in view.layers if not layer.kind.startswith("embedding")]
    owners = dict.fromkeys(weight.parameter.rpartition(".")[0] for layer in layers for weight in layer.weights)
    found = [path for path in owners if path and not (path.endswith(".out_proj") and path[:-9] in owners)]
    if not found and len(layers) == 1:
        return [WHOLE]
    if not found:
        raise NotApplicable("no module holds the weights of one layer")
    return found


def plain_modules(view: ModelView) -> dict[str, nn.Linear | _ConvNd]:
    """Linear layers and convolutions, also transposed ones, that are called as modules."""
    modules = {site.path: view.model.get_submodule(site.path) for site in view.sites} or {WHOLE: view.model}
    found = {name: module for name, module in modules.items() if isinstance(module, (nn.Linear, _ConvNd))}
    if not found:
        raise NotApplicable("no layer is a linear module or a convolution module")
    return found


def hidden_modules(view: ModelView) -> dict[str, Layer]:
    """Those of `plain_modules` whose outputs another layer reads, with what is known about them."""
    layers = {id(view.parameters[layer.weights[0].parameter]): layer for layer in view.layers if not layer.output}
    modules = plain_modules(view).items()
    found = {name: layers[id(module.weight)] for name, module in modules if id(module.weight) in layers}
    if not found:
        raise NotApplicable("no hidden layer is a linear module or a convolution module")
    return found
