"""A model with two named inputs and a dict as output: the rows and the columns of a digit, encoded separately.

mutiny assess examples/dict_input.py:subject --operators WI,NI --originals 5
"""

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import nn

import mutiny


class TwoViews(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows = nn.Sequential(nn.Flatten(), nn.Linear(64, 32), nn.ReLU())
        self.columns = nn.Sequential(nn.Conv1d(8, 16, 3, padding=1), nn.GELU(), nn.Flatten(), nn.Linear(128, 32))
        self.head = nn.Linear(64, 10)

    def forward(self, rows, columns):
        both = torch.cat([self.rows(rows), self.columns(columns)], dim=1)
        return {"features": both, "logits": self.head(both)}


images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 8, 8).astype(np.float32)


def split(part):
    return {"rows": images[part], "columns": images[part].swapaxes(1, 2).copy()}, labels[part]


subject = mutiny.Subject(
    recipe=mutiny.Recipe(TwoViews, epochs=25, learning_rate=5e-3, schedule="onecycle"),
    task=mutiny.Classification(10, "logits"),
    train=split(slice(0, 1300)),
    test=split(slice(1300, None)),
    name="two views of a digit",
)
