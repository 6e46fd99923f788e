"""Answers of networks to compare with, and strategies for gates."""

import numpy as np
from hypothesis import strategies as st

from mutiny.verbs.assess.gates.answers import GateAnswers

SHARES = st.integers(0, 10_000).map(lambda number: f"{number / 10_000:.4f}")
LOSSES = st.floats(0, 1e6).map(repr)
OF_CLASSES = st.sampled_from(["f1", "precision", "recall"])
OPTIONS = st.sampled_from(["macro", "micro", "weighted", "class=0", "class=2"])
SHARE_METRICS = st.one_of(
    st.sampled_from(["accuracy", "balanced_accuracy", "roc_auc", "top_k_accuracy(k=2)", "within_tolerance"]),
    st.tuples(OF_CLASSES, OPTIONS).map(lambda pair: f"{pair[0]}({pair[1]})"),
)
COMPARISONS = st.one_of(
    st.tuples(SHARE_METRICS, st.sampled_from([">=", ">", "<=", "<"]), SHARES).map(" ".join),
    st.tuples(SHARE_METRICS.map(lambda metric: f"drop({metric})"), st.sampled_from(["<=", "<"]), SHARES).map(" ".join),
    st.tuples(st.sampled_from(["drop"]), st.sampled_from(["<=", "<"]), SHARES).map(" ".join),
    st.tuples(st.sampled_from(["mse", "log_loss", "rise(mae)"]), st.sampled_from(["<=", "<"]), LOSSES).map(" ".join),
)
GATES = st.recursive(
    COMPARISONS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: f"({parts[0]}) {parts[1]} {parts[2]}"
        ),
        inner.map(lambda gate: f"not ({gate})"),
    ),
    max_leaves=6,
)
"""Texts of gates."""


def classified(predicted, targets, classes=None, probabilities=None):
    """Answers of a classifier; -1 is an undefined answer."""
    predicted, targets = np.asarray(predicted), np.asarray(targets)
    classes = classes or int(max(predicted.max(), targets.max())) + 1
    correct = predicted == targets
    return GateAnswers(
        targets=targets, predicted=predicted, correct=correct, classes=classes, probabilities=probabilities
    )


def counted(right, inputs):
    """Answers of a two-class network of which as many are right."""
    targets = np.zeros(inputs, int)
    return classified((np.arange(inputs) >= right).astype(int), targets, 2)


def random_answers(seed, inputs=200, classes=4, undefined=0.0, dtype=np.float64):
    """Answers of a random classifier with probabilities of few distinct values, so that there are ties."""
    rng = np.random.default_rng(seed)
    targets = rng.integers(0, classes, inputs)
    weights = rng.integers(1, 6, (inputs, classes)).astype(float)
    weights[np.arange(inputs), targets] += rng.integers(0, 6, inputs)
    probabilities = (weights / weights.sum(1, keepdims=True)).astype(dtype)
    predicted = probabilities.argmax(1)
    predicted[rng.random(inputs) < undefined] = -1
    return classified(predicted, targets, classes, probabilities)


def regressed(seed, inputs=100, outputs=2, metric="mse", tolerance=0.5):
    """Answers of a random regression."""
    rng = np.random.default_rng(seed)
    targets = rng.normal(size=(inputs, outputs))
    values = targets + rng.normal(scale=0.5, size=targets.shape)
    return GateAnswers(
        targets=targets, values=values, correct=(np.abs(values - targets) <= tolerance).all(1), metric=metric
    )
