"""What a layer reads, as it reads it: also where a patch changes signals on their way."""

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
    """Notes what a layer reads in each call; enter it outside of what changes signals.

    Args:
        view: of the model.
        layer: that is listened to.

    >>> import torch
    >>> from torch import nn
    >>> model = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1)).eval()
    >>> view = ModelView.of(model, torch.ones(1, 2))
    >>> with torch.no_grad(), LayerInputRecorder(view, view.layers[-1]) as heard:
    ...     _ = model(torch.ones(5, 2))
    >>> bool((heard.last(5) == model[:2](torch.ones(5, 2))).all())
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
        """What was read last, ``(rows, ...)`` flattened; forgets everything."""
        read, self._read = self._read, []
        if not read or len(read[-1]) % rows:
            raise NotApplicable(f"what {self._layer.name} reads has no row for each input")
        return read[-1].reshape(rows, -1).clone()
