"""A small ResNet with skip connections and BatchNorm on handwritten digits.

mutiny assess examples/resnet_digits.py:subject --operators WI,NI --originals 5
mutiny select examples/resnet_digits.py:subject --budget 20 --originals 5
"""

import numpy as np
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F

import mutiny


class Block(nn.Module):
    def __init__(self, before, after):
        super().__init__()
        self.conv1 = nn.Conv2d(before, after, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(after)
        self.conv2 = nn.Conv2d(after, after, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(after)
        self.shortcut = nn.Conv2d(before, after, 1, bias=False) if before != after else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)), inplace=True)
        y = self.bn2(self.conv2(y))
        return F.relu(y + self.shortcut(x))


class SmallResNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(Block(1, 8), Block(8, 16), nn.MaxPool2d(2), Block(16, 16))
        self.head = nn.Linear(16, 10)

    def forward(self, x):
        return self.head(self.blocks(x).mean(dim=(2, 3)))


images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 1, 8, 8).astype(np.float32)

subject = mutiny.Subject(
    recipe=mutiny.Recipe(SmallResNet, epochs=12, learning_rate=1e-2, schedule="onecycle"),
    task=mutiny.Classification(10, "logits"),
    train=(images[:1100], labels[:1100]),
    test=(images[1100:1450], labels[1100:1450]),
    pool=(images[1450:], labels[1450:]),
    name="ResNet on digits",
)
