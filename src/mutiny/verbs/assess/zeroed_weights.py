"""A network without weights, which any test set must tell from the originals."""

from __future__ import annotations

import torch

from mutiny.models import ModelView, Patch, WeightEdit


def zeroed(view: ModelView) -> Patch:
    """A patch that sets every weight and bias of every layer to zero."""
    tensors = [tensor for layer in view.layers for tensor in (*layer.weights, *layer.biases)]
    edits = [
        WeightEdit(t.parameter, t.all, torch.zeros(t.size, dtype=view.parameters[t.parameter].dtype)) for t in tensors
    ]
    return Patch(tuple(edits), view.layers[0].name)
