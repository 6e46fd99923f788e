"""Mutants by hand: deep copies with edited weights, plain loops, other people's statistics."""

import copy
from dataclasses import dataclass

import numpy as np
import statsmodels.api as sm
import torch

from mutiny.core.random import generator_for
from mutiny.models import ModelView, WeightEdit


@dataclass(frozen=True)
class Truth:
    """What the instances of one mutant really do: metrics and correctness, ``(repetitions, originals[, inputs])``."""

    clean: np.ndarray
    metrics: np.ndarray
    clean_right: np.ndarray
    right: np.ndarray


def mutant(model, probe, operator, seed, original, repetition):
    """A copy of ``model`` with the weight edits of one instance written into its state dict."""
    rng = generator_for(seed, "mutant", operator.code, original, repetition)
    twin = copy.deepcopy(model)
    weights = {name: tensor.clone() for name, tensor in twin.state_dict().items()}
    for edit in operator.patch(ModelView.of(twin, probe), rng).edits:
        assert isinstance(edit, WeightEdit)
        for index, value in zip(edit.indices.tolist(), edit.values, strict=True):
            weights[edit.parameter].view(-1)[index] = value
    twin.load_state_dict(weights)
    return twin


def accuracy(model, x, y):
    """Accuracy and correctness, one input at a time."""
    right = []
    for one, label in zip(x, y, strict=True):
        with torch.no_grad():
            scores = model(one[None])[0].tolist()
        right.append(scores.index(max(scores)) == int(label))
    return np.mean(right), np.array(right)


def losses(tolerance, power):
    """Mean loss and closeness, one input at a time, for one-column regression."""

    def judge(model, x, y):
        errors = []
        for one, target in zip(x, y, strict=True):
            with torch.no_grad():
                errors.append(abs(float(model(one[None])) - float(target)))
        return np.mean(np.array(errors) ** power), np.array(errors) <= tolerance

    return judge


def truth(models, probe, operator, seed, repetitions, data, judge):
    clean = [judge(model, *data) for model in models]
    found = [
        [judge(mutant(model, probe, operator, seed, o, r), *data) for o, model in enumerate(models)]
        for r in range(repetitions)
    ]
    return Truth(
        np.array([metric for metric, _ in clean]),
        np.array([[metric for metric, _ in row] for row in found]),
        np.array([right for _, right in clean]),
        np.array([[right for _, right in row] for row in found]),
    )


def glm_p(originals, mutants):
    y = np.r_[originals, mutants]
    x = sm.add_constant(np.r_[np.zeros(len(originals)), np.ones(len(mutants))])
    return sm.GLM(y, x, family=sm.families.Gaussian()).fit().pvalues[1]


def cohen_d(originals, mutants):
    n, m = len(originals), len(mutants)
    pooled = ((n - 1) * np.var(originals, ddof=1) + (m - 1) * np.var(mutants, ddof=1)) / (n + m - 2)
    return (np.mean(originals) - np.mean(mutants)) / np.sqrt(pooled)


def sign_flip_p(differences):
    """The law of the sum under random signs, by convolution."""
    law = np.ones(1)
    for d in np.abs(differences)[np.nonzero(differences)]:
        step = np.zeros(2 * d + 1)
        step[[0, -1]] = 0.5
        law = np.convolve(law, step)
    sums = np.abs(np.arange(len(law)) - len(law) // 2)
    return law[sums >= abs(int(np.sum(differences)))].sum()


def cohen_g(differences):
    lost, won = np.sum(differences[differences > 0]), -np.sum(differences[differences < 0])
    return lost / (lost + won) - 0.5 if lost + won else 0.0
