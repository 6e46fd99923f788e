"""The six networks of Table 2; their numbers of weights are the paper's to the last digit."""

from __future__ import annotations

from collections import OrderedDict

from torch import nn

SLOPE = 0.01
"""Of leaky ReLU below 0."""


class Dense(nn.Sequential):
    """Fully connected, for MNIST's ``(n, 1, 28, 28)``. No biases: only so the number of weights is the paper's.

    Args:
        depth: hidden layers.
        width: neurons of each.

    >>> [sum(p.numel() for p in Dense(*shape).parameters()) for shape in ((5, 30), (6, 25), (8, 20))]
    [27420, 22975, 18680]
    """

    def __init__(self, depth: int, width: int) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(flatten=nn.Flatten())
        layers |= hidden(28 * 28, depth, width, bias=False)
        super().__init__(layers | OrderedDict(head=nn.Linear(width, 10, bias=False)))


class Convolutional(nn.Sequential):
    """Four convolutions of Keras' example, then dense layers, for CIFAR-10's ``(n, 3, 32, 32)``.

    Args:
        depth: hidden dense layers.
        width: neurons of each.

    >>> [sum(p.numel() for p in Convolutional(*shape).parameters()) for shape in ((4, 128), (2, 256), (1, 512))]
    [411434, 724010, 1250858]
    """

    def __init__(self, depth: int, width: int) -> None:
        layers: OrderedDict[str, nn.Module] = OrderedDict(
            conv1=nn.Conv2d(3, 32, 3, padding=1), conv_act1=nn.LeakyReLU(SLOPE),
            conv2=nn.Conv2d(32, 32, 3), conv_act2=nn.LeakyReLU(SLOPE), pool1=nn.MaxPool2d(2), drop1=nn.Dropout(0.25),
            conv3=nn.Conv2d(32, 64, 3, padding=1), conv_act3=nn.LeakyReLU(SLOPE),
            conv4=nn.Conv2d(64, 64, 3), conv_act4=nn.LeakyReLU(SLOPE), pool2=nn.MaxPool2d(2), drop2=nn.Dropout(0.25),
            flatten=nn.Flatten(),
        )  # fmt: skip
        layers |= hidden(64 * 6 * 6, depth, width)
        super().__init__(layers | OrderedDict(head=nn.Linear(width, 10)))


def hidden(inputs: int, depth: int, width: int, bias: bool = True) -> OrderedDict[str, nn.Module]:
    """Dense layers, each with its activation."""
    found: OrderedDict[str, nn.Module] = OrderedDict()
    for number in range(1, depth + 1):
        found[f"dense{number}"] = nn.Linear(inputs if number == 1 else width, width, bias=bias)
        found[f"act{number}"] = nn.LeakyReLU(SLOPE)
    return found
