"""Inputs of a layer as it receives them, including the effect of patches that change signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from mutiny.core.errors import NotApplicable
from mutiny.models.layers import Layer
from mutiny.models.torch_calls import CallHandler
from mutiny.models.torch_ops import tensors, weighted_call
from mutiny.models.view import ModelView, parameter_names


class LayerInputRecorder(CallHandler):
    """Records the input of a layer in each call.

    Enter it outside of a patch, so that it sees signals after the patch has changed them.

    Args:
        view: Probed model.
        layer: Layer whose inputs are recorded.
        names: Parameter names by identity, if they are known already.

    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).eval()
    >>> view = ModelView.of(model, torch.ones(1, 2))
    >>> with torch.no_grad(), LayerInputRecorder(view, view.layers[-1]) as recorder:
    ...     _ = model(torch.ones(5, 2))
    >>> bool((recorder.last(5) == model[:2](torch.ones(5, 2))).all())
    True
    """

    def __init__(self, view: ModelView, layer: Layer, names: Mapping[int, str] | None = None) -> None:
        self._names = names or parameter_names(view.model)
        self._layer, self._read = layer, list[Tensor]()

    def handle(self, name: str, func: Any, args: Any, kwargs: Any) -> Any:
        """Runs a call and records its first tensor if the layer's weights take part."""
        call = weighted_call(name, args, kwargs)
        wanted = self._layer.weights[0].parameter
        if call is not None and any(self._names.get(id(weight)) == wanted for weight in call.weights):
            self._read.append(next(tensors((args, kwargs))).detach())
        return func(*args, **kwargs)

    def last(self, rows: int) -> Tensor:
        """The last input as ``(rows, features)``; clears the record."""
        read, self._read = self._read, []
        if not read or len(read[-1]) % rows:
            raise NotApplicable(f"the input of {self._layer.name} does not have one row per input of the model")
        return read[-1].reshape(rows, -1).clone()
