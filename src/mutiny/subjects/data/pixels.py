"""Image operations of benign mutations: functions of batches ``(n, channels, height, width)``."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

Floats = npt.NDArray[np.float64]
Names = npt.NDArray[np.str_]
Level = float | tuple[float, ...]
"""A pixel value: one number, or one per channel."""
Interpolation = Literal["bilinear", "nearest"]
Kernel = Literal["box", "gaussian"]
LUMA = (0.2989, 0.587, 0.114)
"""Shares of red, green and blue in the gray level of a pixel."""


def black_and_white(low: Tensor, high: Tensor) -> tuple[Level, Level]:
    """The likely range of pixel values from the smallest and largest of each channel, ``(channels,)``.

    That is (0, 1) or (0, 255) if it contains all values; otherwise the smallest and largest values by channel, because
    normalization gives each channel its own black.

    >>> black_and_white(torch.tensor([0.0]), torch.tensor([254.0]))
    (0.0, 255.0)
    >>> black_and_white(torch.tensor([-2.0, -1.5]), torch.tensor([2.0, 2.5]))
    ((-2.0, -1.5), (2.0, 2.5))
    """
    least, most = float(low.min()), float(high.max())
    if least >= 0 and most <= 255:
        return 0.0, 1.0 if most <= 1 else 255.0
    high = torch.where(high > low, high, low + 1)  # a channel that never varies
    return tuple(low.tolist()), tuple(high.tolist())


def affine_matrices(names: Names, amounts: Floats, height: int, width: int) -> Floats:
    """Affine matrices ``(n, 2, 3)`` that map pixels ``(x, y, 1)``, with y pointing down, to ``(x', y')``.

    >>> affine_matrices(np.array(["shift"]), np.array([[0.25, -0.5]]), height=4, width=8)
    array([[[ 1.,  0.,  2.],
            [ 0.,  1., -2.]]])
    """
    angle, lean = (np.radians(np.where(names == name, amounts[:, 0], 0)) for name in ("rotation", "shear"))
    stretch = np.where(names == "scale", amounts[:, 0], 1) * np.cos(angle)
    linear = np.array([[stretch, 0 - np.sin(angle) - np.tan(lean)], [np.sin(angle), stretch]]).transpose(2, 0, 1)
    center = np.array([(width - 1) / 2, (height - 1) / 2])
    moved = np.where((names == "shift")[:, None], amounts * (width, height), 0)
    return np.concatenate([linear, (center - linear @ center + moved)[:, :, None]], axis=2)


def warped(images: Tensor, matrices: Floats, interpolation: Interpolation) -> Tensor:
    """Images ``(n, c, h, w)`` moved by ``matrices`` ``(n, 2, 3)``; pixels from outside the image are zero."""
    from kornia.geometry.transform import warp_affine  # heavy to import, and only mutants need it

    size = (images.shape[2], images.shape[3])
    move = torch.from_numpy(matrices).to(images)
    # aligned corners would give the same pixel centers, except that an image one pixel wide would not move
    return warp_affine(images, move, size, mode=interpolation, padding_mode="zeros", align_corners=False)


def blurred(images: Tensor, size: int, kernel: Kernel) -> Tensor:
    """Images ``(n, c, h, w)`` under a kernel of ``size`` pixels in both directions.

    >>> blurred(torch.tensor([[[[0.0, 0.0, 6.0, 0.0]]]]), 3, "box")
    tensor([[[[0., 2., 2., 2.]]]])
    """
    if kernel == "box":
        before, after = size // 2, (size - 1) // 2
        return F.avg_pool2d(F.pad(images, (before, after, before, after), mode="replicate"), size, stride=1)
    from kornia.filters import gaussian_blur2d  # heavy to import

    odd = size | 1
    sigma = 0.3 * ((odd - 1) / 2 - 1) + 0.8  # OpenCV's choice for a kernel of this size
    return gaussian_blur2d(images, (odd, odd), (sigma, sigma), border_type="replicate")


def mean_gray(images: Tensor) -> Tensor:
    """Mean gray level of each image, ``(n, 1, 1, 1)``; RGB channels are weighted by luminance, others equally."""
    if images.shape[1] == len(LUMA):
        images = images * images.new_tensor(LUMA).view(-1, 1, 1)
        return images.sum(1, keepdim=True).mean((2, 3), keepdim=True)
    return images.mean((1, 2, 3), keepdim=True)
