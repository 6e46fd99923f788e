"""Where the result of ``pytest --mutiny`` goes: terminal, files, and the bar that it must reach."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from mutiny.reports.files import write_json
from mutiny.testing.suite_options import SuiteOptions
from mutiny.testing.suite_records import FaultVerdict, JudgedFault, SuiteResult
from mutiny.testing.suite_text import suite_lines
from mutiny.verbs.assess.bar import BarOutcome, compare_with_bar

LETTERS = {FaultVerdict.NOTICED: ".", FaultVerdict.MISSED: "M", FaultVerdict.UNDECIDED: "?"}
PER_LINE = 60
"""Faults for each line of progress."""


class SuiteOutputs:
    """Writes through pytest's terminal reporter, if there is one.

    Args:
        config: Configuration of pytest.
        options: What was asked for.
    """

    def __init__(self, config: pytest.Config, options: SuiteOptions) -> None:
        self._config, self._options = config, options
        self._result: SuiteResult | None = None
        self._bar = ""

    def say(self, line: str) -> None:
        """Prints a line, unless pytest is quiet or this is a worker of pytest-xdist."""
        if (reporter := self._reporter()) is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    @contextmanager
    def progress(self) -> Iterator[Callable[[JudgedFault], None]]:
        """Gives a function that prints a letter for each fault: ``.`` noticed, ``M`` missed, ``?`` undecided."""
        reporter, shown = self._reporter(), [0]
        self.say("mutiny: faults in the model (. noticed, M missed, ? undecided)")

        def show(tried: JudgedFault) -> None:
            if reporter is not None:
                shown[0] += 1
                reporter.write(LETTERS[tried.verdict])
                if shown[0] % PER_LINE == 0:
                    reporter.write_line("")

        try:
            yield show
        finally:
            if reporter is not None:
                reporter.ensure_newline()

    def finish(self, result: SuiteResult) -> bool:
        """Keeps the result to print it, writes the files, and tells whether the bar is missed."""
        self._result = result
        if self._options.json is not None:
            write_json(self._options.json, result.to_json())
        if self._options.html is not None:
            from mutiny.reports.page.render import write_html
            from mutiny.testing.suite_page import suite_page

            write_html(self._options.html, suite_page(result))
        if self._options.fail_under is None:
            return False
        gate = compare_with_bar(result.notice, self._options.fail_under)
        passes = " (this passes)" * (gate.outcome is BarOutcome.UNDECIDED)
        self._bar = f"--mutiny-fail-under: {gate.sentence}{passes}."
        return gate.fails(strict=False)

    def print(self, reporter: Any) -> None:
        """Prints the report."""
        if self._result is None:
            return
        reporter.section("mutiny")
        for line in suite_lines(self._result):
            reporter.write_line(line)
        if self._bar:
            reporter.write_line(self._bar)

    def _reporter(self) -> Any:
        if self._config.option.verbose < 0:
            return None
        return self._config.pluginmanager.get_plugin("terminalreporter")
