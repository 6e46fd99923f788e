"""Terms that are added to the loss for the weights of some layers."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from torch import Tensor, nn

from mutiny.subjects.training.initializers import matrices


def penalties(model: nn.Module, wanted: Mapping[str, tuple[float, float]]) -> Callable[[], Tensor] | None:
    """The sum of ``l1 |w| + l2 w^2`` over all weights of the named layers, biases left out; ``None`` for no layer.

    >>> import torch
    >>> model = nn.Sequential(nn.Linear(2, 1))
    >>> _ = model[0].weight.data.copy_(torch.tensor([[1.0, -2.0]]))
    >>> penalties(model, {"0": (0.1, 0.01)})().item()
    0.35...
    """
    terms = [(weight, *sizes) for layer, sizes in wanted.items() for weight in matrices(model, layer)]
    if not terms:
        return None

    def penalty() -> Tensor:
        each = [l1 * weight.abs().sum() + l2 * weight.square().sum() for weight, l1, l2 in terms]
        total: Tensor = sum(each[1:], each[0])
        return total

    return penalty
