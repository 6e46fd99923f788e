"""The options of ``pytest --mutiny``, checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mutiny.core.errors import BadInput

FAULTS = 40
"""Default number of faults."""


@dataclass(frozen=True)
class SuiteOptions:
    """What ``pytest --mutiny`` was asked to do.

    Attributes:
        subject: Name of the subject.
        root: Folder in which ``.mutiny`` keeps the faults.
        faults: Number of faults.
        full: Whether every test is run on every fault.
        operators: Operators; the default ones if ``None``.
        seed: Seed of everything random.
        timeout: Seconds that a test may take; a multiple of its clean time if ``None``.
        fail_under: Lowest accepted notice rate.
        json: File for the result.
        html: File for the page.
    """

    subject: str
    root: Path
    faults: int = FAULTS
    full: bool = False
    operators: str | None = None
    seed: int = 0
    timeout: float | None = None
    fail_under: float | None = None
    json: Path | None = None
    html: Path | None = None

    @classmethod
    def of(cls, config: pytest.Config) -> SuiteOptions:
        """Reads the options; one that makes no sense is a `BadInput` in a sentence."""
        from mutiny.reports.files import check_distinct, check_suffix, check_writable
        from mutiny.verbs.assess.bar import check_bar

        options = cls(
            subject=config.getoption("mutiny"),
            root=config.rootpath,
            faults=_whole(config, "--mutiny-faults", FAULTS, 1),
            full=bool(config.getoption("mutiny_matrix")),
            operators=config.getoption("mutiny_operators"),
            seed=_whole(config, "--mutiny-seed", 0, 0),
            timeout=_number(config, "--mutiny-timeout"),
            fail_under=_number(config, "--mutiny-fail-under"),
            json=_path(config, "--mutiny-json"),
            html=_path(config, "--mutiny-html"),
        )
        if options.timeout is not None and not 0 < options.timeout < 1e6:
            raise BadInput("--mutiny-timeout", f"{options.timeout:g}", "a number of seconds above 0")
        if options.fail_under is not None:
            check_bar(options.fail_under, "--mutiny-fail-under")
        if options.json is not None:
            check_writable(options.json, "--mutiny-json")
        if options.html is not None:
            check_suffix(options.html, "--mutiny-html", ".html", ".htm")
            check_writable(options.html, "--mutiny-html")
        check_distinct({"--mutiny-json": options.json, "--mutiny-html": options.html})
        if config.getoption("usepdb", False) or config.getoption("trace", False):
            fix = "Faults make tests fail on purpose: debug without --mutiny."
            raise BadInput("--pdb", "given", "no debugger together with --mutiny", fix)
        return options


def _given(config: pytest.Config, option: str) -> Any:
    return config.getoption(option.removeprefix("--").replace("-", "_"))


def _whole(config: pytest.Config, option: str, default: int, least: int) -> int:
    value = _given(config, option)
    if value is None:
        return default
    if not str(value).isdecimal() or int(value) < least:
        raise BadInput(option, value, f"a whole number of at least {least}")
    return int(value)


def _number(config: pytest.Config, option: str) -> float | None:
    value = _given(config, option)
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise BadInput(option, value, "a number")
    return number


def _path(config: pytest.Config, option: str) -> Path | None:
    value = _given(config, option)
    return None if value is None else Path(value)
