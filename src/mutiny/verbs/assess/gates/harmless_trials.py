"""Harmless changes put to a gate: other test sets, retrained originals, variants that differ in rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import permutations

import numpy as np
from numpy.typing import NDArray

from mutiny.core.random import generator_for
from mutiny.core.stats.samples import Floats
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.expression import GateExpression

Pair = tuple[GateAnswers, GateAnswers]
"""Answers of a clean network and of a tested one to the same inputs."""


class AlarmSource(StrEnum):
    """What differs between trials in which nothing is wrong."""

    OTHER_TEST_SETS = "other test sets"
    """Inputs, drawn again from those of the test set."""
    RETRAINED_ORIGINALS = "retrained originals"
    """Networks, trained alike with other seeds, on the same test set."""
    HARMLESS_VARIANTS = "harmless variants"
    """Rounding errors of the same network on the same test set."""


@dataclass(frozen=True, eq=False)
class HarmlessTrials:
    """What a gate says where nothing is wrong.

    Attributes:
        source: What differs between the trials.
        passed: Whether the gate was passed, ``(trials,)``.
        values: Value of the metric, ``(trials,)``; NaN for a gate with several comparisons.
        independent: Number of trials that are independent of one another, for intervals.
        trivial: Whether the gate could not fail, because a network was only compared with itself.
    """

    source: AlarmSource
    passed: NDArray[np.bool_]
    values: Floats
    independent: int
    trivial: bool = False


def other_test_sets(
    gate: GateExpression, pairs: Sequence[Pair], resamples: int = 1000, seed: int = 0
) -> HarmlessTrials:
    """Trials on test sets drawn like this one: a bootstrap of its inputs, the same for both networks of a pair.

    Args:
        gate: The gate.
        pairs: Clean networks, each with a harmless variant, or with itself. Resamples take turns with them.
        resamples: Number of resamples.
        seed: Seed of everything random.
    """
    rng = generator_for(seed, "test sets for a gate")
    passed, values = [], []
    for number in range(resamples):
        clean, tested = pairs[number % len(pairs)]
        drawn = rng.integers(0, clean.inputs, clean.inputs)
        weights = np.bincount(drawn, minlength=clean.inputs).astype(np.float64)
        passed.append(gate.passes(clean, tested, weights))
        values.append(gate.value(clean, tested, weights))
    trivial = gate.is_paired and all(clean is tested for clean, tested in pairs)
    return HarmlessTrials(AlarmSource.OTHER_TEST_SETS, np.array(passed), np.array(values), resamples, trivial)


def retrained_originals(gate: GateExpression, originals: Sequence[GateAnswers]) -> HarmlessTrials:
    """Trials of networks that were trained alike: each as the tested one, with each other one as the clean one.

    A gate that never looks at the clean network has one trial for each original. Otherwise, trials share networks:
    m originals have m (m - 1) trials, and intervals count m / 2 of them, as many as have no network in common.

    Args:
        gate: The gate.
        originals: Answers of the originals to the test set.
    """
    if any(metric.change for metric in gate.metrics):
        pairs = list(permutations(originals, 2))
        independent = len(originals) // 2
    else:
        pairs = [(original, original) for original in originals]
        independent = len(originals)
    return _of_pairs(AlarmSource.RETRAINED_ORIGINALS, gate, pairs, independent)


def harmless_variants(gate: GateExpression, pairs: Sequence[Pair]) -> HarmlessTrials:
    """Trials of variants that differ in rounding, such as another batch size or bf16, on this test set.

    Args:
        gate: The gate.
        pairs: The clean network of each variant, and the variant.
    """
    return _of_pairs(AlarmSource.HARMLESS_VARIANTS, gate, pairs, len(pairs))


def _of_pairs(source: AlarmSource, gate: GateExpression, pairs: Sequence[Pair], independent: int) -> HarmlessTrials:
    passed = np.array([gate.passes(*pair) for pair in pairs], bool)
    values = np.array([gate.value(*pair) for pair in pairs], float)
    return HarmlessTrials(source, passed, values, independent)
