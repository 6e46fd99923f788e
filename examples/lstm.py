"""An LSTM that reads a digit row by row.

mutiny assess examples/lstm.py:subject --operators WI,NI --originals 5
"""

import numpy as np
from sklearn.datasets import load_digits
from torch import nn

import mutiny


class RowReader(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 48, num_layers=2, batch_first=True)
        self.head = nn.Linear(48, 10)

    def forward(self, rows):
        outputs, _ = self.lstm(rows)
        return self.head(outputs[:, -1])


images, labels = load_digits(return_X_y=True)
images = (images / 16).reshape(-1, 8, 8).astype(np.float32)

subject = mutiny.Subject(
    recipe=mutiny.Recipe(RowReader, epochs=25, learning_rate=1e-2, schedule="onecycle"),
    task=mutiny.Classification(10, "logits"),
    train=(images[:1300], labels[:1300]),
    test=(images[1300:], labels[1300:]),
    name="LSTM on digits",
)
