"""The contract of suspiciousness measures, for those who write one: every promise that `locate` relies on.

>>> from mutiny.verbs.locate.measures import Ochiai
>>> check_measure(Ochiai())
"""

from __future__ import annotations

import json
from dataclasses import fields
from itertools import product

import numpy as np

from mutiny.testing.names import check_names
from mutiny.verbs.locate.measures import Counts, Floats, Measure, as_measure

FAILING, PASSING = (1, 2, 5, 12), (1, 3, 20)
"""Numbers of failing and passing inputs in the tables on which measures are checked."""
ROUNDING = 1e-9
"""Largest relative difference that rounding may cause."""


def check_measure(measure: Measure) -> None:
    """Raises `AssertionError`, with a sentence, unless ``measure`` keeps all promises.

    Args:
        measure: Measure with all parameters.
    """
    check_parameters(measure)
    for failing, passing in product(FAILING, PASSING):
        counts = table(failing, passing)
        check_scores(measure, counts)
        check_neurons_are_independent(measure, counts)
        check_direction(measure, failing, passing)
    check_scores(measure, table(3, 0))  # no input passes
    check_scores(measure, Counts(*(np.empty(0) for _ in Counts._fields)))  # no neuron


def table(failing: int, passing: int) -> Counts:
    """Counts of one neuron for every possible number of active inputs, failing and passing."""
    ef, ep = (grid.ravel() for grid in np.meshgrid(np.arange(failing + 1.0), np.arange(passing + 1.0), indexing="ij"))
    return Counts(ef, ep, failing - ef, passing - ep)


def check_parameters(measure: Measure) -> None:
    """The measure has names, is rebuilt from its parameters, and is described as users type it."""
    check_names(measure)
    parameters = {field.name: getattr(measure, field.name) for field in fields(measure)}
    rebuilt = type(measure)(**json.loads(json.dumps(parameters, allow_nan=False)))
    assert rebuilt == measure, f"{measure.code}: parameters rebuild {rebuilt}, not {measure}"
    assert hash(rebuilt) == hash(measure), f"{measure.code}: equal measures have different hashes"
    assert str(measure).partition("(")[0] == measure.code, f"{measure.code}: its text is {str(measure)!r}"
    assert as_measure(measure) == measure, f"{measure.code}: as_measure changes the measure"


def check_scores(measure: Measure, counts: Counts) -> None:
    """One real number per neuron, never NaN nor minus infinity; the same twice; the counts are untouched."""
    before = [count.copy() for count in counts]
    scores = measure(counts)
    untouched = all(np.array_equal(count, copy) for count, copy in zip(counts, before, strict=True))
    assert untouched, f"{measure.code}: the measure changes the counts"
    assert isinstance(scores, np.ndarray), f"{measure.code}: the scores are no array but {type(scores).__name__}"
    shape = counts.ef.shape
    assert scores.shape == shape, f"{measure.code}: scores of shape {scores.shape}, not one per neuron, {shape}"
    assert scores.dtype == np.float64, f"{measure.code}: scores of dtype {scores.dtype}, not float64"
    bad = np.isnan(scores) | np.isneginf(scores)
    assert not bad.any(), f"{measure.code}: a score is {scores[bad][0]} for {_cell(counts, int(bad.argmax()))}"
    assert np.array_equal(scores, measure(counts)), f"{measure.code}: the same counts give other scores"


def check_neurons_are_independent(measure: Measure, counts: Counts) -> None:
    """The score of a neuron depends on its own counts only, so neurons may come in any order and number."""
    scores = measure(counts)
    order = np.random.default_rng(0).permutation(len(scores))
    permuted = measure(Counts(*(count[order] for count in counts)))
    assert _same(permuted, scores[order]), f"{measure.code}: scores depend on the order of neurons"
    for at in (0, len(scores) // 2, len(scores) - 1):
        alone = measure(Counts(*(count[at : at + 1] for count in counts)))
        cell = _cell(counts, at)
        assert _same(alone, scores[at : at + 1]), f"{measure.code}: the score for {cell} depends on other neurons"


def check_direction(measure: Measure, failing: int, passing: int) -> None:
    """Scores never fall with ``ef`` and never rise with ``ep``; a neuron that is active on exactly the failures leads.

    The exact p-value and the interval of `locate` rest on this. A measure with ``both_ways`` promises the same where a
    neuron is more active on failures than on passes, and is 0 where both rates are equal.
    """
    counts = table(failing, passing)
    scores = measure(counts).reshape(failing + 1, passing + 1)
    perfect = scores[failing, 0]
    assert perfect == scores.max(), f"{measure.code}: a neuron active on exactly the failures has no highest score"
    rates = np.subtract.outer(np.arange(failing + 1) / failing, np.arange(passing + 1) / passing)
    if measure.both_ways:
        equal = np.isclose(rates, 0.0)
        assert np.allclose(scores[equal], 0.0), f"{measure.code}: both_ways, but not 0 where both rates are equal"
        scores = np.where(rates > 0, scores, 0.0)
    slack = ROUNDING * np.abs(scores[np.isfinite(scores)]).max(initial=1.0)
    rising = (scores[1:] >= scores[:-1] - slack).all()
    assert rising, f"{measure.code}: the score falls although ef rises (F={failing}, P={passing})"
    falling = (scores[:, 1:] <= scores[:, :-1] + slack).all()
    assert falling, f"{measure.code}: the score rises although ep rises (F={failing}, P={passing})"


def _same(first: Floats, second: Floats) -> bool:
    return bool(np.allclose(first, second, ROUNDING, ROUNDING))


def _cell(counts: Counts, at: int) -> str:
    return ", ".join(f"{name}={count[at]:g}" for name, count in zip(counts._fields, counts, strict=True))
