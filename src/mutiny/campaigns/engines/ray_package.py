"""The package ray: whether it is installed in a version that is safe, and its function ``init``."""

from __future__ import annotations

import logging
import re
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from mutiny.core.errors import BadInput, MissingExtra

LOWEST = "2.60"
"""Lowest supported version of Ray, as in ``pyproject.toml``."""


def installed_ray() -> ModuleType:
    """The package ray; raises `BadInput` for versions whose clusters may run without a token."""
    try:
        import ray
    except ImportError as error:
        raise MissingExtra("ray", "ray") from error
    if numbers(ray.__version__) < numbers(LOWEST):
        expected = f"Ray {LOWEST} or later, because clusters of earlier versions may run without a token"
        raise BadInput("engine", "ray", expected, f'Ray {ray.__version__} is installed. pip install "mutiny-nn[ray]"')
    return ray


def numbers(version: str) -> tuple[int, int]:
    """The first two numbers of a version.

    >>> numbers("2.60.0rc1") < numbers("2.100")
    True
    """
    first, second = re.findall(r"\d+", f"{version}.0")[:2]
    return int(first), int(second)


def init(ray: ModuleType, address: str, **options: Any) -> None:
    """Calls ``ray.init`` without messages, and keeps the handlers of signals."""
    with kept_signal_handlers():
        ray.init(address, log_to_driver=False, logging_level=logging.ERROR, **options)


@contextmanager
def kept_signal_handlers() -> Iterator[None]:
    """Restores the handlers of SIGINT and SIGTERM on leaving, because ``ray.init`` replaces them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def first_sentence(error: BaseException) -> str:
    """The first sentence of Ray's error message; the rest is advice for its operators.

    >>> first_sentence(ConnectionError("Failed to connect to it. Please check that ..."))
    'ConnectionError: Failed to connect to it'
    """
    text = str(error).strip().partition("\n")[0].partition(". ")[0].rstrip(".")
    return f"{type(error).__name__}: {text}"
