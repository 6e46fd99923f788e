"""Probability that an answer to an unlabeled input is correct, from the predictions of the originals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.strengthen.answers import Answers, Floats

Belief = npt.NDArray[np.float32]
"""Predicted labels: mean class probabilities of the originals ``(n, classes)``, or mean outputs ``(n, d)``."""
Singles = npt.NDArray[np.float32]


@dataclass(frozen=True, eq=False)
class Expected:
    """Expected metric of answers to unlabeled inputs.

    Attributes:
        shares: Probability of being correct, or loss, for each input and answer, ``(n, answers)``.
        noise: Expected sum of squares around the mean over answers that each input adds, ``(n,)``.
    """

    shares: Singles
    noise: Floats


def expected(task: Task, answers: Answers, belief: Belief) -> Expected:
    """Expected metric of the answers of several networks.

    An answer of class ``a`` is correct with the mean probability that the originals give to ``a``. The loss of a
    regression's answer is its distance to their mean output. All networks share one label, so a label that none of them
    gives adds nothing to the spread between them.

    Args:
        task: Task of the networks.
        answers: Answers ``(answers, n)``, or ``(answers, n, d)`` for regression.
        belief: Predicted labels.

    >>> belief = np.array([[0.9, 0.1]], np.float32)
    >>> found = expected(Classification(2), np.array([[0], [0], [1], [1]]), belief)
    >>> found.shares.round(2).tolist(), found.noise.round(2).tolist()  # whatever the label is, two of four are right
    ([[0.8999..., 0.8999..., 0.1000..., 0.1000...]], [1.0])
    """
    if not isinstance(task, Classification):
        errors = np.abs(answers - belief)
        shares = (np.square(errors) if task.metric == "mse" else errors).mean(axis=-1).T
        shares = np.nan_to_num(shares, nan=np.float64(np.finfo(np.float32).max) ** 0.25, posinf=1e9)
        spread = np.square(shares - shares.mean(axis=1, keepdims=True)).sum(axis=1)
        return Expected(shares.astype(np.float32), spread)
    count, inputs = answers.shape
    every = np.arange(inputs)
    shares = np.empty((inputs, count), np.float32)
    votes = np.zeros((inputs, task.classes), np.float32)
    for number, said in enumerate(answers):
        known = np.maximum(said, 0)
        shares[:, number] = np.where(said < 0, 0, belief[every, known])
        votes[every, known] += said >= 0
    noise = shares.sum(axis=1, dtype=np.float64) - (belief * np.square(votes)).sum(axis=1, dtype=np.float64) / count
    return Expected(shares, np.maximum(noise, 0))


@dataclass(frozen=True, eq=False)
class Flips:
    """Expected counts of a test over inputs: per input, instances that become wrong minus those that become right.

    Attributes:
        mean: Expected difference, ``(n,)``.
        square: Expected square of the difference.
        lost: Expected positive part of the difference.
    """

    mean: Floats
    square: Floats
    lost: Floats


def expected_flips(task: Task, originals: Answers, instances: Answers, belief: Belief) -> Flips:
    """Expected counts for tests over inputs; a regression's answer is correct within the tolerance of ``belief``.

    Args:
        task: Task of the networks.
        originals: Answers of the originals, ``(originals, n)`` or ``(originals, n, d)``.
        instances: Answers of a mutant's instances, ``(repetitions, originals, n)`` or ``(..., n, d)``.
        belief: Predicted labels.

    >>> belief = np.array([[0.75, 0.25]], np.float32)
    >>> found = expected_flips(Classification(2), np.array([[0]]), np.array([[[1]], [[0]]]), belief)
    >>> float(found.mean[0]), float(found.square[0]), float(found.lost[0])  # +1 if the label is 0, else -1
    (0.5, 1.0, 0.75)
    """
    rounds = len(instances)
    if not isinstance(task, Classification):
        before = (np.abs(originals - belief) <= task.tolerance).all(axis=-1).sum(axis=0)
        after = (np.abs(instances - belief) <= task.tolerance).all(axis=-1).sum(axis=(0, 1))
        change = (rounds * before - after).astype(np.float64)
        return Flips(change, np.square(change), np.maximum(change, 0))
    change = rounds * _votes(originals, task.classes) - _votes(
        instances.reshape(-1, instances.shape[-1]), task.classes
    )  # (n, classes): the difference if that is the label
    mean, square, lost = ((belief * part).sum(axis=1) for part in (change, np.square(change), np.maximum(change, 0)))
    return Flips(mean, square, lost)


def _votes(answers: Answers, classes: int) -> Floats:
    """Number of answers of each class, ``(n, classes)``."""
    found, every = np.zeros((answers.shape[1], classes)), np.arange(answers.shape[1])
    for said in answers:
        found[every, np.maximum(said, 0)] += said >= 0
    return found
