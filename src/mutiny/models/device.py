"""Device and dtype of a model, and moving inputs there."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from mutiny.models.torch_ops import replace_tensors


class Placement(NamedTuple):
    """Device and dtype of a model.

    Attributes:
        device: Device of its parameters.
        dtype: Dtype of its real-valued parameters; ``None`` if they differ or there are none.
    """

    device: torch.device
    dtype: torch.dtype | None

    def put(self, inputs: Any) -> Any:
        """Moves inputs to the device and real-valued ones to the dtype of the model.

        >>> ids, mask = placement(nn.Linear(1, 1).double()).put((torch.ones(2, dtype=torch.int64), torch.ones(2)))
        >>> ids.dtype, mask.dtype
        (torch.int64, torch.float64)
        """
        return replace_tensors(inputs, self._moved)

    def _moved(self, tensor: Tensor) -> Tensor:
        dtype = self.dtype if tensor.is_floating_point() else None
        return tensor.to(self.device, dtype, non_blocking=True)


def placement(model: nn.Module) -> Placement:
    """Placement of a model; the CPU if it has no parameters."""
    parameters = list(model.parameters())
    kinds = {p.dtype for p in parameters if p.is_floating_point()}
    device = parameters[0].device if parameters else torch.device("cpu")
    return Placement(device, kinds.pop() if len(kinds) == 1 else None)
