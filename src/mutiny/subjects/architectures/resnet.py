"""ResNet-20 for 32x32 images (He et al., Deep residual learning for image recognition, section 4.2)."""

from __future__ import annotations

from collections import OrderedDict
from typing import Literal

from torch import Tensor, nn
from torch.nn.functional import pad

from mutiny.core.errors import BadInput

Shortcut = Literal["A", "B"]


class PaddedShortcut(nn.Module):
    """Option A: every second pixel, and zeros for the channels that the input does not have. No parameters."""

    def __init__(self, extra: int) -> None:
        super().__init__()
        self.extra = extra

    def extra_repr(self) -> str:
        """The number of added channels."""
        return f"extra={self.extra}"

    def forward(self, x: Tensor) -> Tensor:
        """``(n, c, h, w)`` to ``(n, c + extra, h / 2, w / 2)``."""
        before = self.extra // 2
        return pad(x[:, :, ::2, ::2], (0, 0, 0, 0, before, self.extra - before))


class BasicBlock(nn.Module):
    """Two 3x3 convolutions around which the input is added; a stride of 2 halves the image."""

    def __init__(self, inputs: int, outputs: int, stride: int, shortcut: Shortcut) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, padding=1, bias=False)
        self.norm1 = nn.BatchNorm2d(outputs)
        self.act1 = nn.ReLU()
        self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
        self.norm2 = nn.BatchNorm2d(outputs)
        self.act2 = nn.ReLU()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            self.shortcut = PaddedShortcut(outputs - inputs)
            if shortcut == "B":
                projection = nn.Conv2d(inputs, outputs, 1, stride, bias=False)
                self.shortcut = nn.Sequential(projection, nn.BatchNorm2d(outputs))

    def forward(self, x: Tensor) -> Tensor:
        """The block's output."""
        inner = self.norm2(self.conv2(self.act1(self.norm1(self.conv1(x)))))
        result: Tensor = self.act2(inner + self.shortcut(x))
        return result


class ResNet20(nn.Sequential):
    """Three stages of three blocks with 16, 32 and 64 channels, for ``(n, channels, 32, 32)``; returns logits.

    Args:
        classes: number of classes.
        channels: input channels.
        shortcut: where the size changes, ``"A"`` pads with zeros (the paper's for CIFAR), ``"B"`` projects.

    >>> sum(p.numel() for p in ResNet20().parameters())
    269722
    """

    def __init__(self, classes: int = 10, channels: int = 3, shortcut: Shortcut = "A") -> None:
        if shortcut not in ("A", "B"):
            raise BadInput("shortcut", repr(shortcut), '"A" or "B"')
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv=nn.Conv2d(channels, 16, 3, padding=1, bias=False), norm=nn.BatchNorm2d(16), act=nn.ReLU()
        )
        width = 16
        for stage, outputs in enumerate((16, 32, 64), start=1):
            for number in range(1, 4):
                stride = 2 if stage > 1 and number == 1 else 1
                layers[f"block{stage}_{number}"] = BasicBlock(width, outputs, stride, shortcut)
                width = outputs
        layers.update(pool=nn.AdaptiveAvgPool2d(1), flatten=nn.Flatten(), head=nn.Linear(width, classes))
        super().__init__(layers)
        for module in self.modules():
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
