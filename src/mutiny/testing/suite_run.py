"""Runs the collected tests of a pytest session again and again, without reporting them to pytest."""

from __future__ import annotations

import io
import re
import time
import warnings
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, redirect_stdout
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import pytest
from _pytest.runner import runtestprotocol  # what plugins that repeat tests use, too

from mutiny.core.printable import printable
from mutiny.testing.random_state import RandomState
from mutiny.testing.time_limit import TimeLimitReached, time_limit

LONGEST = 200
"""Characters of the message of an exception that are kept."""
TIMEOUT_PLUGIN = re.compile(r"Timeout (>|\()")
"""Beginning of the message with which pytest-timeout fails a test."""


class RunOutcome(StrEnum):
    """How one run of a test ended."""

    PASSED = "passed"
    FAILED = "failed"
    """By an assertion, ``pytest.fail`` or ``pytest.raises``."""
    ERROR = "error"
    STOPPED = "stopped"
    SKIPPED = "skipped"
    EXPECTED = "expected to fail"


@dataclass(frozen=True)
class ItemRun:
    """One run of a test.

    Attributes:
        item: The test.
        outcome: How it ended.
        reason: The exception, on one line; empty if it passed.
        seconds: Duration, with fixtures.
        random: State of the random generators in which it began.
    """

    item: pytest.Item
    outcome: RunOutcome
    reason: str
    seconds: float
    random: RandomState


class SuiteRunner:
    """Runs tests of a session. Fixtures of every scope are set up anew in each run.

    Plugins see the tests as usual, except that nothing is reported: terminal, JUnit file and exit status are those of
    the run that pytest itself does.

    Args:
        session: Session that has collected the tests.
    """

    def __init__(self, session: pytest.Session) -> None:
        self._session = session
        self._ended = (RunOutcome.PASSED, "")
        self._random: Mapping[str, RandomState] = {}
        self._limit: Callable[[pytest.Item], float] | None = None

    def run(
        self,
        items: Sequence[pytest.Item],
        *,
        random: Mapping[str, RandomState] | None = None,
        limit: Callable[[pytest.Item], float] | None = None,
    ) -> Generator[ItemRun, None, None]:
        """Runs tests one by one; who stops asking ends the run, and fixtures are torn down.

        Args:
            items: The tests, in the order in which they run.
            random: States of the random generators in which tests begin, by node id.
            limit: Function from a test to the seconds that it may take; any number by default.
        """
        self._random, self._limit = random or {}, limit
        with self._silent():
            try:
                for item, following in zip(items, [*items[1:], None], strict=False):
                    yield self._once(item, following)
            finally:
                self._tear_down()

    def _once(self, item: pytest.Item, following: pytest.Item | None) -> ItemRun:
        self._ended = (RunOutcome.PASSED, "")
        if item.nodeid in self._random:
            self._random[item.nodeid].restore()
        state, start = RandomState.now(), time.perf_counter()
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
        return ItemRun(item, *self._ended, time.perf_counter() - start, state)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Runs a test as pytest does, inside of what other plugins put around it, but reports nothing."""
        with warnings.catch_warnings(record=True):
            runtestprotocol(item, log=False, nextitem=nextitem)
        return True

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> Generator[None, None, None]:
        """Limits the time in which fixtures are set up."""
        with self._limited(item):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Generator[None, None, None]:
        """Limits the time of the test."""
        with self._limited(item):
            yield

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item: pytest.Item) -> Generator[None, None, None]:
        """Limits the time in which fixtures are torn down."""
        with self._limited(item):
            yield

    def _limited(self, item: pytest.Item) -> AbstractContextManager[None]:
        return nullcontext() if self._limit is None else time_limit(self._limit(item))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Keeps the first phase of a test that did not pass."""
        report = yield
        if self._ended[0] is RunOutcome.PASSED:
            self._ended = ended(report, call.excinfo)
        return report

    @contextmanager
    def _silent(self) -> Iterator[None]:
        """Context in which this object runs tests, and in which what tests report on their own is dropped."""
        config, session = self._session.config, self._session
        before = session.testsfailed, session.shouldfail, session.shouldstop
        style = config.option.tbstyle
        terminal: Any = config.pluginmanager.get_plugin("terminalreporter")
        shown = None if terminal is None else (terminal._tw, {key: [*value] for key, value in terminal.stats.items()})
        config.pluginmanager.register(self)
        config.option.tbstyle = "native"  # nobody reads these tracebacks, and this style is made fast
        try:
            if terminal is not None:  # subtests report themselves
                terminal._tw = type(terminal._tw)(io.StringIO())
            with redirect_stdout(io.StringIO()) if config.getoption("capture") == "no" else nullcontext():
                yield
        finally:
            config.pluginmanager.unregister(self)
            config.option.tbstyle = style
            if terminal is not None and shown is not None:
                terminal._tw = shown[0]
                terminal.stats.clear()
                terminal.stats.update(shown[1])
            session.testsfailed, session.shouldfail, session.shouldstop = before

    def _tear_down(self) -> None:
        """Tears down what a run that was stopped has left set up."""
        try:
            self._session._setupstate.teardown_exact(None)
        except Exception:  # a fixture that fails to end is no news: the next run sets up another one
            return


def ended(report: pytest.TestReport, excinfo: pytest.ExceptionInfo[BaseException] | None) -> tuple[RunOutcome, str]:
    """How a phase of a test ended, and by which exception."""
    if hasattr(report, "wasxfail"):
        return RunOutcome.EXPECTED, str(report.wasxfail)
    if report.passed:
        return RunOutcome.PASSED, ""
    reason = "" if excinfo is None else first_line(excinfo.value)
    if report.skipped:
        return RunOutcome.SKIPPED, reason
    error = None if excinfo is None else excinfo.value
    if isinstance(error, TimeLimitReached):
        return RunOutcome.STOPPED, str(error)
    if isinstance(error, pytest.fail.Exception) and TIMEOUT_PLUGIN.match(str(error)):
        return RunOutcome.STOPPED, reason
    failed = error is None or isinstance(error, (AssertionError, pytest.fail.Exception))
    return (RunOutcome.FAILED if failed else RunOutcome.ERROR), reason


def first_line(error: BaseException) -> str:
    """Class and first line of the message of an exception.

    >>> first_line(ValueError("no such class: 7, but it is long"))
    'ValueError: no such class: 7, but it is long'
    """
    lines = str(error).strip().splitlines()
    text = f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
    return printable(text[:LONGEST], breaks=False)
