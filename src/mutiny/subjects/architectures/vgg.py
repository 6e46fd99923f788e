"""VGG-16 with batch normalization for 32x32 images (Simonyan and Zisserman, 2015; Liu and Deng, 2015)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

_STAGES = ((64, 2), (128, 2), (256, 3), (512, 3), (512, 3))


class VGG16(nn.Sequential):
    """Thirteen convolutions with batch normalization and one linear layer, for ``(n, channels, 32, 32)``.

    The usual CIFAR version: 512 features remain after the last pooling, so one linear layer replaces the three of
    the ImageNet version. Returns logits.

    Args:
        classes: number of classes.
        channels: input channels.

    >>> sum(p.numel() for p in VGG16().parameters())
    14728266
    """

    def __init__(self, classes: int = 10, channels: int = 3) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict()
        for stage, (width, depth) in enumerate(_STAGES, start=1):
            for number in range(1, depth + 1):
                layers[f"conv{stage}_{number}"] = nn.Conv2d(channels, width, 3, padding=1)
                layers[f"norm{stage}_{number}"] = nn.BatchNorm2d(width)
                layers[f"act{stage}_{number}"] = nn.ReLU()
                channels = width
            layers[f"pool{stage}"] = nn.MaxPool2d(2)
        layers["flatten"] = nn.Flatten()
        layers["head"] = nn.Linear(channels, classes)
        super().__init__(layers)
        for layer in self:
            if isinstance(layer, nn.Conv2d):
                nn.init.kaiming_normal_(layer.weight, mode="fan_out", nonlinearity="relu")
                if layer.bias is not None:
                    nn.init.zeros_(layer.bias)
