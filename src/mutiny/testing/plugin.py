"""Pytest plugin: fixtures that require a notice rate or a mutation score of a test set."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.result import Assessment


@pytest.fixture
def assert_notice_rate(pytestconfig: pytest.Config) -> Callable[..., Assessment]:
    """``assert_notice_rate(subject, at_least=0.8)``; keeps finished jobs in ``.mutiny`` in pytest's root folder."""
    from mutiny.testing import gate

    def check(subject: Any, *, store: Any = None, **settings: Any) -> Assessment:
        __tracebackhide__ = True  # the traceback of a failure ends in the test
        return gate.assert_notice_rate(subject, store=store or gate.kept(subject, pytestconfig.rootpath), **settings)

    return check


@pytest.fixture
def assert_mutation_score(pytestconfig: pytest.Config) -> Callable[..., MuffAssessment]:
    """``assert_mutation_score(subject, at_least=0.8)``; keeps finished jobs in ``.mutiny`` in pytest's root folder."""
    from mutiny.testing import gate

    def check(subject: Any, *, at_least: float, store: Any = None, **settings: Any) -> MuffAssessment:
        __tracebackhide__ = True  # the traceback of a failure ends in the test
        return gate.assert_mutation_score(
            subject, at_least=at_least, store=store or gate.kept(subject, pytestconfig.rootpath), **settings
        )

    return check
