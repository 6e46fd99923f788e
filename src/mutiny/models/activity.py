"""Scaling of activations before a threshold decides which neurons are active."""

from __future__ import annotations

from torch import Tensor


def scaled(values: Tensor) -> Tensor:
    """Scales each row to 0..1, as DeepXplore does with the neurons of a layer; a constant row becomes 0.

    >>> import torch
    >>> scaled(torch.tensor([[2.0, 6.0, 3.0], [5.0, 5.0, 5.0]])).tolist()
    [[0.0, 1.0, 0.25], [0.0, 0.0, 0.0]]
    """
    low = values.amin(dim=1, keepdim=True)
    span = values.amax(dim=1, keepdim=True) - low
    return (values - low) / span.where(span != 0, 1)
