"""A small CNN for scikit-learn's 8x8 digits: the subject of the demo."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn


class DigitsCnn(nn.Sequential):
    """Two convolutions of 16 channels and two linear layers, for ``(n, 1, 8, 8)``; returns logits.

    Args:
        classes: number of classes.

    >>> sum(p.numel() for p in DigitsCnn().parameters())
    19578
    """

    def __init__(self, classes: int = 10) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv1=nn.Conv2d(1, 16, 3, padding=1),
            act1=nn.ReLU(),
            conv2=nn.Conv2d(16, 16, 3, padding=1),
            act2=nn.ReLU(),
            pool=nn.MaxPool2d(2),
            drop=nn.Dropout(0.25),
            flatten=nn.Flatten(),
            fc1=nn.Linear(16 * 4 * 4, 64),
            act3=nn.ReLU(),
            head=nn.Linear(64, classes),
        )
        super().__init__(layers)
