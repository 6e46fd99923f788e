"""A small transformer that tells praise from blame in made sentences; words before "but" do not count.

mutiny assess examples/transformer_text.py:subject --operators WI,NI,NEB --originals 5
mutiny strengthen examples/transformer_text.py:subject --operators WI,NI,NEB --originals 5 --budget 10
"""

import numpy as np
import torch
from torch import nn

import mutiny

GOOD = "good fine great lovely superb".split()
BAD = "bad poor awful dull dreadful".split()
THINGS = "film plot cast music ending".split()
WORDS = ["<pad>", "the", "was", "not", "very", "but", *THINGS, *GOOD, *BAD]
LENGTH = 13


def clause(rng):
    """The <thing> was (not) (very) <adjective>, and whether that is praise."""
    good, negated, strong = rng.random() < 0.5, rng.random() < 0.3, rng.random() < 0.4
    extra = [word for word, said in (("not", negated), ("very", strong)) if said]
    return ["the", rng.choice(THINGS), "was", *extra, rng.choice(GOOD if good else BAD)], good != negated


def sentences(n, seed):
    """Numbers of words, ``(n, 13)``, and labels: 1 for praise."""
    rng = np.random.default_rng(seed)
    ids, labels = np.zeros((n, LENGTH), np.int64), np.zeros(n, np.int64)
    for row in range(n):
        words, praise = clause(rng)
        if rng.random() < 0.5:
            more, praise = clause(rng)
            words = [*words, "but", *more]
        ids[row, : len(words)] = [WORDS.index(word) for word in words]
        labels[row] = praise
    return ids, labels


class Reader(nn.Module):
    def __init__(self, size=32):
        super().__init__()
        self.words = nn.Embedding(len(WORDS), size, padding_idx=0)
        self.places = nn.Parameter(0.1 * torch.randn(LENGTH, size))
        layer = nn.TransformerEncoderLayer(size, nhead=4, dim_feedforward=64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=2, enable_nested_tensor=False)
        self.head = nn.Linear(size, 2)

    def forward(self, ids):
        padding = ids == 0
        read = self.encoder(self.words(ids) + self.places, src_key_padding_mask=padding)
        kept = read.masked_fill(padding[:, :, None], 0).sum(dim=1)
        return self.head(kept / (~padding).sum(dim=1, keepdim=True))


subject = mutiny.Subject(
    recipe=mutiny.Recipe(Reader, epochs=12, learning_rate=5e-3, schedule="onecycle"),
    task=mutiny.Classification(2, "logits"),
    train=sentences(600, seed=0),
    test=sentences(300, seed=1),
    pool=sentences(300, seed=2),
    name="transformer on sentences",
)
