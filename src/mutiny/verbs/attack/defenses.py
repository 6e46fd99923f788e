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
        model: Model to defend; its mode is kept.
        low: Smallest value of an input.
        high: Largest value of an input.
    """

    def __init__(self, model: nn.Module, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__()
        if not all(isinstance(end, Real) and isfinite(end) for end in (low, high)) or not low < high:
            raise BadInput("low, high", (low, high), "the range of input values, the smaller one first")
        self.model, self.low, self.high = model, float(low), float(high)
        self.training = model.training

    def forward(self, inputs: Tensor) -> Any:
        """Returns the outputs for filtered inputs; the backward pass ignores the filter."""
        span = self.high - self.low
        scaled = ((inputs - self.low) / span).clamp(0, 1)
        with torch.no_grad():
            change = self.filtered(scaled.detach()) - scaled.detach()
        return self.model((scaled + change) * span + self.low)

    @abstractmethod
    def filtered(self, inputs: Tensor) -> Tensor:
        """Returns filtered inputs; values are between 0 and 1 before and after."""


class BitDepth(Defended):
    """Rounds each value to ``2**bits`` levels (Guo et al., ICLR 2018).

    Args:
        model: Model to defend.
        bits: Number of bits. MUTEN does not say how many; ART's default of 8 changes almost nothing.
        low: Smallest value of an input.
        high: Largest value of an input.

    >>> defended = BitDepth(nn.Identity(), bits=1)
    >>> defended(torch.tensor([[0.2, 0.6, 1.0]]))
    tensor([[0., 1., 1.]])
    """

    def __init__(self, model: nn.Module, bits: int = 4, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(model, low, high)
        check_whole("bits", bits)
        self.bits = bits

    def filtered(self, inputs: Tensor) -> Tensor:
        """Rounds to the nearest level."""
        highest = float(2**self.bits - 1)
        return (inputs * highest).round() / highest


class Jpeg(Defended):
    """Compresses images as JPEG and decodes them (Guo et al., ICLR 2018).

    Args:
        model: Model to defend.
        quality: Quality of the compression, 1 to 95.
        low: Smallest value of an input.
        high: Largest value of an input.
    """

    def __init__(self, model: nn.Module, quality: int = 50, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__(model, low, high)
        check_whole("quality", quality)
        if quality > 95:
            raise BadInput("quality", quality, "at most 95")
        self.quality = quality

    def filtered(self, inputs: Tensor) -> Tensor:
        """Compresses image by image."""
        if inputs.ndim != 4 or inputs.shape[1] not in (1, 3):
            raise BadInput("inputs", f"shape {tuple(inputs.shape)}", "images (n, 1 or 3, height, width)")
        pixels = (inputs.float() * 255).round().byte().permute(0, 2, 3, 1).cpu().numpy()
        decoded = np.stack([self._compressed(image) for image in pixels])
        return torch.from_numpy(decoded).permute(0, 3, 1, 2).to(inputs) / 255

    def _compressed(self, pixels: Any) -> Any:
        gray = pixels.shape[-1] == 1
        file = io.BytesIO()
        Image.fromarray(pixels[..., 0] if gray else pixels).save(file, "JPEG", quality=self.quality)
        decoded = np.asarray(Image.open(file))
        return decoded[..., None] if gray else decoded
