"""Defenses that filter inputs before the model receives them. Public: docs/attack.md shows how to use and extend them.

Filters have no useful gradient, so backward passes treat them as the identity (BPDA; Athalye, Carlini and Wagner, ICML
2018). A defended model is a module like any other: an adversarial input counts only if the defended model is fooled.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from math import isfinite
from numbers import Real
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import Tensor, nn

from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput


class Defended(nn.Module, ABC):
    """A model behind a filter for its inputs.

    Args:
        model: that is defended; its mode is kept.
        low: least value of an input's numbers.
        high: largest value.
    """

    def __init__(self, model: nn.Module, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__()
        if not all(isinstance(end, Real) and isfinite(end) for end in (low, high)) or not low < high:
            raise BadInput("low, high", (low, high), "the range of an input's numbers, the least first")
        self.model, self.low, self.high = model, float(low), float(high)
        self.training = model.training

    def forward(self, inputs: Tensor) -> Any:
        """What the model says to filtered inputs; gradients pass as if there were no filter."""
        span = self.high - self.low
        scaled = ((inputs - self.low) / span).clamp(0, 1)
        with torch.no_grad():
            change = self.filtered(scaled.detach()) - scaled.detach()
        return self.model((scaled + change) * span + self.low)

    @abstractmethod
    def filtered(self, inputs: Tensor) -> Tensor:
        """Inputs of 0..1 as they pass the filter."""


class BitDepth(Defended):
    """Fewer levels for each number (Guo et al., ICLR 2018).

    Args:
        bits: 2 to this power levels are left. MUTEN does not say how many; ART's default of 8 changes next to nothing.

    >>> defended = BitDepth(nn.Identity(), bits=1)
    >>> defended(torch.tensor([[0.2, 0.6, 1.0]]))
    tensor([[0., 1., 1.]])
    """

    def __init__(self, model: nn.Module, bits: int = 4, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(model, low, high)
        check_whole("bits", bits)
        self.bits = bits

    def filtered(self, inputs: Tensor) -> Tensor:
        """To the nearest level."""
        most = float(2**self.bits - 1)
        return (inputs * most).round() / most


class Jpeg(Defended):
    """Images are compressed and read again (Guo et al., ICLR 2018).

    Args:
        quality: of the compression, 1 to 95.
    """

    def __init__(self, model: nn.Module, quality: int = 50, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(model, low, high)
        check_whole("quality", quality)
        if quality > 95:
            raise BadInput("quality", quality, "at most 95")
        self.quality = quality

    def filtered(self, inputs: Tensor) -> Tensor:
        """Image by image, as files are written."""
        if inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
            raise BadInput("inputs", f"shape {tuple(inputs.shape)}", "images (n, 1 or 3, height, width)")
        pixels = (inputs.float() * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
        read = np.stack([self._through(one) for one in pixels])
        return torch.from_numpy(read).permute(0, 3, 1, 2).to(inputs) / 255

    def _through(self, pixels: Any) -> Any:
        gray = pixels.shape[-1] == 1
        file = io.BytesIO()
        Image.fromarray(pixels[..., 0] if gray else pixels).save(file, "JPEG", quality=self.quality)
        found = np.asarray(Image.open(file))
        return found[..., None] if gray else found
