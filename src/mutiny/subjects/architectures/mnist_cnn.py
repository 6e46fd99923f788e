"""The Keras example CNN for MNIST, a subject of DeepCrime and MUFF."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn


class MnistCnn(nn.Sequential):
    """The eight-layer Keras CNN for ``(n, 1, 28, 28)``: 1,199,882 parameters. Returns logits, Keras' probabilities.

    Args:
        classes: number of classes.

    >>> sum(p.numel() for p in MnistCnn().parameters())
    1199882
    """

    def __init__(self, classes: int = 10) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv1=nn.Conv2d(1, 32, 3),
            act1=nn.ReLU(),
            conv2=nn.Conv2d(32, 64, 3),
            act2=nn.ReLU(),
            pool=nn.MaxPool2d(2),
            drop1=nn.Dropout(0.25),
            flatten=nn.Flatten(),
            fc1=nn.Linear(64 * 12 * 12, 128),
            act3=nn.ReLU(),
            drop2=nn.Dropout(0.5),
            head=nn.Linear(128, classes),
        )
        super().__init__(layers)
