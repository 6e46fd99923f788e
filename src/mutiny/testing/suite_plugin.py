"""What ``pytest --mutiny`` adds to a session: after pytest's own run of the tests, it runs them on faults."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mutiny.core.errors import BadInput, MutinyError
from mutiny.core.results import now
from mutiny.models.forward import steady
from mutiny.models.snapshot import ModelSnapshot
from mutiny.models.state import ModelState, check_untouched
from mutiny.testing.suite_clean import CHANGES, FirstRun
from mutiny.testing.suite_mutation import SuiteMutation
from mutiny.testing.suite_options import SuiteOptions
from mutiny.testing.suite_outputs import SuiteOutputs
from mutiny.testing.suite_share import Share, combined
from mutiny.testing.suite_subject import SuiteSubject

SENT = "mutiny"
"""Key under which a worker of pytest-xdist sends its share."""


@contextmanager
def usage_errors() -> Iterator[None]:
    """Context in which errors of mutiny end pytest with their sentence and exit status 4."""
    try:
        yield
    except MutinyError as error:
        raise pytest.UsageError(str(error)) from error


class MutinyPlugin:
    """Mutation testing of the tests of one session.

    Args:
        config: Configuration of pytest.
        options: What was asked for.
    """

    def __init__(self, config: pytest.Config, options: SuiteOptions) -> None:
        self.options = options
        self._config, self._first = config, FirstRun()
        self._subject: SuiteSubject | None = None
        self._snapshot: ModelSnapshot | None = None
        self._outputs = SuiteOutputs(config, options)
        self._received: list[Share] = []
        self._errors: list[str] = []
        self._worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self._started, self._created = time.perf_counter(), now()

    @property
    def subject(self) -> SuiteSubject:
        """The subject, loaded once; after collection, so that it is the object that tests have imported."""
        if self._subject is None:
            self._subject = SuiteSubject(self.options.subject, self.options.seed)
        return self._subject

    def pytest_report_header(self) -> str:
        """Says that faults will follow."""
        return f"mutiny: {self.options.subject}, {self.options.faults} faults"

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Runs the tests as pytest does, then on the faults."""
        if session.config.option.collectonly:
            return (yield)
        if session.config.pluginmanager.has_plugin("dsession"):  # workers of pytest-xdist run the tests
            done = yield
            if not (session.shouldfail or session.shouldstop):
                self._combine()
            return done
        try:
            return (yield from self._both_runs(session))
        except MutinyError as error:
            if self._worker is None:
                raise pytest.UsageError(str(error)) from error
            self._errors.append(str(error))
            return True

    def _both_runs(self, session: pytest.Session) -> Generator[None, object, object]:
        if not session.items:
            raise BadInput("tests", "none was collected", "at least one test")
        model = self.subject.model
        state, begin = ModelState.of(model), ModelSnapshot(model)
        try:
            with steady():
                self._snapshot = ModelSnapshot(model)
                done = yield
                self._snapshot = None
                begin.restore()
                if not (session.shouldfail or session.shouldstop):
                    self._run_faults(session)
        finally:
            self._snapshot = None
            begin.restore()
        check_untouched([model], [state])
        return done

    def _run_faults(self, session: pytest.Session) -> None:
        options, say = self.options, self._outputs.say
        suite = SuiteMutation(session, self.subject, self._first, full=options.full, timeout=options.timeout)
        say("mutiny: faults of known cost are looked for, or read from .mutiny")
        result = self.subject.assessment(options.operators, options.root)
        faults = self.subject.faults(result, options.faults)
        place, among = self._place()
        share = Share(suite.clean.tests, [], len(faults), result)
        self._received.append(share)
        mine = range(place, len(faults), among)
        with self._outputs.progress() as show:
            for number, tried in zip(mine, suite.tried(faults[at] for at in mine), strict=True):
                share.faults.append((number, tried))
                show(tried)

    def _place(self) -> tuple[int, int]:
        """Number of this worker, and number of workers, of pytest-xdist."""
        if self._worker is None:
            return 0, 1
        among = int(self._worker["workercount"])
        return int(self._worker["workerid"].removeprefix("gw")) % among, among

    def _combine(self) -> None:
        """Raises the error of a worker, if one has failed."""
        if self._errors:
            raise pytest.UsageError(self._errors[0])

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Looks whether a test of pytest's own run has changed the model; later tests are not blamed."""
        done = yield
        if self._snapshot is not None and (changed := self._snapshot.changed()) is not None:
            self._first.reasons.setdefault(item.nodeid, f"{CHANGES} ({changed})")
            self._snapshot = ModelSnapshot(self.subject.model)
        return done

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keeps what pytest's own run shows; with pytest-xdist, that of all workers."""
        if self._snapshot is not None or self._config.pluginmanager.has_plugin("dsession"):
            self._first.add(report)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        """Receives the share of a worker of pytest-xdist."""
        sent = getattr(node, "workeroutput", {}).get(SENT)
        if sent is not None:
            given = json.loads(sent)
            self._errors += given["errors"]
            self._received += [Share.from_plain(share) for share in given["shares"]]

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Sends the share of a worker, or writes files and compares the rate with the bar."""
        if self._worker is not None:
            output: dict[str, Any] = session.config.workeroutput  # type: ignore[attr-defined]
            shares = [share.to_plain() for share in self._received]
            output[SENT] = json.dumps({"errors": self._errors, "shares": shares})
        elif self._received:
            result = combined(
                self._received,
                self._first,
                self.options,
                seconds=time.perf_counter() - self._started,
                created=self._created,
            )
            if self._outputs.finish(result) and session.exitstatus == pytest.ExitCode.OK:
                session.exitstatus = pytest.ExitCode.TESTS_FAILED
        return (yield)

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        """Prints the report."""
        self._outputs.print(terminalreporter)


def plugin_of(config: pytest.Config) -> MutinyPlugin:
    """The plugin for the options that were given; errors end pytest with a sentence."""
    with usage_errors():
        return MutinyPlugin(config, SuiteOptions.of(config))
