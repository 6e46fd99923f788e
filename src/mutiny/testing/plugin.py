"""Pytest plugin: fixtures that require a notice rate of a test set, and mutation testing of a test suite.

It is loaded with every pytest, so it imports nothing of mutiny before it is used.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from torch import nn

    from mutiny.subjects import Subject
    from mutiny.testing.suite_plugin import MutinyPlugin
    from mutiny.testing.suite_subject import SuiteSubject
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.result import Assessment

OPTIONS = {
    "--mutiny-faults": ("COUNT", "Number of faults, spread evenly over costs and operators; 40 by default."),
    "--mutiny-operators": ("LIST", "Operators that make the faults; all by default."),
    "--mutiny-seed": ("SEED", "Seed of everything random; 0 by default."),
    "--mutiny-timeout": ("SECONDS", "Time limit of each test on each fault; a multiple of its clean time by default."),
    "--mutiny-fail-under": ("SHARE", "Fail if the notice rate is surely lower, from 0 to 1."),
    "--mutiny-json": ("FILE", "JSON file for the result."),
    "--mutiny-html": ("FILE", "HTML file for the matrix of tests and faults."),
}
"""Options that need ``--mutiny``, with the name of their value and a description."""
INI = "mutiny_subject"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds the options of mutation testing."""
    group = parser.getgroup("mutiny", "mutation testing of a test suite")
    group.addoption(
        "--mutiny",
        metavar="SUBJECT",
        help="Run the tests on faults of a subject: FILE.py:NAME, MODULE:NAME or digits.",
    )
    group.addoption(
        "--mutiny-matrix",
        action="store_true",
        help="Run every test on every fault; otherwise the first test that notices a fault ends its run.",
    )
    for option, (value, description) in OPTIONS.items():
        group.addoption(option, metavar=value, help=description)
    parser.addini(INI, "subject of the fixtures mutiny_subject and mutiny_model without --mutiny")


def pytest_configure(config: pytest.Config) -> None:
    """Starts mutation testing if it was asked for."""
    if config.getoption("mutiny") is not None:
        from mutiny.testing.suite_plugin import plugin_of

        config.pluginmanager.register(plugin_of(config), PLUGIN)
        return
    given = [name for name in OPTIONS if config.getoption(name.removeprefix("--").replace("-", "_")) is not None]
    given += ["--mutiny-matrix"] * bool(config.getoption("mutiny_matrix"))
    if given:
        raise pytest.UsageError(f"{given[0]}: expected only with --mutiny SUBJECT, the subject to make faults of.")


PLUGIN = "mutiny suite"
"""Name under which mutation testing is registered."""


@pytest.fixture(scope="session")
def mutiny_subject(pytestconfig: pytest.Config) -> Subject:
    """The subject of ``--mutiny``; without it, that of the setting ``mutiny_subject``."""
    return _suite_subject(pytestconfig).subject


@pytest.fixture(scope="session")
def mutiny_model(pytestconfig: pytest.Config) -> nn.Module:
    """The first original of the subject, into which ``--mutiny`` puts faults."""
    return _suite_subject(pytestconfig).module


def _suite_subject(config: pytest.Config) -> SuiteSubject:
    plugin: MutinyPlugin | None = config.pluginmanager.get_plugin(PLUGIN)
    if plugin is not None:
        return plugin.subject
    from mutiny.testing.suite_subject import configured_subject

    return configured_subject(str(config.getini(INI)), config.rootpath)


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
