"""Contract suite for selection methods: checks everything that `select` relies on.

>>> import torch
>>> from mutiny.subjects.data import as_pool, as_data
>>> from mutiny.verbs.select import DeepGini
>>> from mutiny.verbs.select.evidence import Evidence
>>> from mutiny.subjects.tasks import Classification
>>> net = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)).eval()
>>> x = torch.randn(30, 4)
>>> def evidence(**settings):
...     train = as_data((x, torch.arange(30) % 3), "train")
...     return Evidence([net], Classification(3, "logits"), as_pool(x), train, **settings)
>>> check_selector(DeepGini(), evidence)
"""

from __future__ import annotations

import json
from collections.abc import Callable

import numpy as np

from mutiny.core.errors import NotApplicable
from mutiny.models import ModelState
from mutiny.testing.names import check_names
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.evidence import Evidence

RELATIVE, ABSOLUTE = 1e-3, 1e-5
"""Tolerances for scores with another batch size, which rounds differently."""


def check_selector(selector: Selector, evidence: Callable[..., Evidence], exact: bool = False) -> str | None:
    """Raises `AssertionError`, with a message, if ``selector`` violates the contract.

    Args:
        selector: Selection method with all parameters.
        evidence: Function that makes evidence about one pool; takes ``seed`` and ``batch_size``.
        exact: Whether another batch size must give the same scores up to rounding, not only a similar order.

    Returns:
        The reason if the method does not apply to this model and data, which is allowed; else ``None``.
    """
    check_parameters(selector)
    first = evidence(seed=0, batch_size=7)
    before = [ModelState.of(model) for model in first.models]
    reason = None
    try:
        order, scores = selector.rank(first)
    except NotApplicable as error:
        reason = str(error)
    _untouched(selector, first, before)
    if reason is not None:
        assert reason.strip(), f"{selector.code}: NotApplicable without a reason"
        return reason
    assert sorted(order.tolist()) == list(range(first.size)), f"{selector.code}: the order is no permutation"
    assert (np.diff(scores[order]) <= 0).all(), f"{selector.code}: the order does not follow the scores"
    again = selector.rank(evidence(seed=0, batch_size=7))
    assert np.array_equal(order, again[0]), f"{selector.code}: the same seed gives another order"
    other = selector.rank(evidence(seed=0, batch_size=first.size))[1]
    rank = np.corrcoef(scores, other)[0, 1] if np.ptp(scores) and np.ptp(other) else float(np.allclose(scores, other))
    same = np.allclose(scores, other, RELATIVE, ABSOLUTE) if exact else rank > 0.9
    assert same, f"{selector.code}: scores depend on the batch size"
    return None


def check_parameters(selector: Selector) -> None:
    """The method has names and tasks; parameters from JSON make an equal one."""
    check_names(selector)
    parameters = json.loads(json.dumps(selector.parameters(), allow_nan=False))
    again = type(selector)(**{name: tuple(v) if isinstance(v, list) else v for name, v in parameters.items()})
    assert again == selector, f"{selector.code}: parameters() rebuild {again}, not {selector}"
    assert hash(again) == hash(selector), f"{selector.code}: equal methods have different hashes"
    assert selector.tasks, f"{selector.code}: works for no task"


def _untouched(selector: Selector, evidence: Evidence, before: list[ModelState]) -> None:
    for model, state in zip(evidence.models, before, strict=True):
        difference = state.difference(ModelState.of(model))
        assert difference is None, f"{selector.code}: {difference} of the model is not as before"
