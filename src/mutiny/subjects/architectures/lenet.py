"""LeNet-1 and LeNet-5 (LeCun et al., Gradient-based learning applied to document recognition, 1998)."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn


class LeNet1(nn.Sequential):
    """Two convolutions of 4 and 12 channels and one linear layer, for ``(n, 1, 28, 28)``: 3,246 parameters.

    As in re-implementations, ReLU and max pooling replace tanh and trained subsampling; returns logits.

    Args:
        classes: number of classes.
        activation: the module class after each convolution, e.g. ``nn.Tanh`` for the original's.

    >>> sum(p.numel() for p in LeNet1().parameters())
    3246
    """

    def __init__(self, classes: int = 10, activation: type[nn.Module] = nn.ReLU) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv1=nn.Conv2d(1, 4, 5),
            act1=activation(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(4, 12, 5),
            act2=activation(),
            pool2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            head=nn.Linear(12 * 4 * 4, classes),
        )
        super().__init__(layers)


class LeNet5(nn.Sequential):
    """Two convolutions of 6 and 16 channels and three linear layers, for ``(n, 1, 28, 28)``: 61,706 parameters.

    As in re-implementations, ReLU and max pooling replace tanh and trained subsampling, and the second convolution
    sees all channels of the first; returns logits.

    Args:
        classes: number of classes.
        activation: the module class after each hidden layer, e.g. ``nn.Tanh`` for the original's.

    >>> sum(p.numel() for p in LeNet5().parameters())
    61706
    """

    def __init__(self, classes: int = 10, activation: type[nn.Module] = nn.ReLU) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv1=nn.Conv2d(1, 6, 5, padding=2),
            act1=activation(),
            pool1=nn.MaxPool2d(2),
            conv2=nn.Conv2d(6, 16, 5),
            act2=activation(),
            pool2=nn.MaxPool2d(2),
            flatten=nn.Flatten(),
            fc1=nn.Linear(16 * 5 * 5, 120),
            act3=activation(),
            fc2=nn.Linear(120, 84),
            act4=activation(),
            head=nn.Linear(84, classes),
        )
        super().__init__(layers)
