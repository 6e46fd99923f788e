"""The errors that mutiny raises.

::

    MutinyError
    ├── BadInput            an argument, a file or a model is not what was expected (command line: exit code 2)
    │   ├── Diverged        loss or weights of a training are no longer finite
    │   ├── UntrustedFile   loading a file could run code, and the user did not allow that
    │   ├── PluginError     an installed package adds something to mutiny that cannot be used
    │   ├── PreflightFailed no fault could be detected with this subject, so verdicts would be meaningless
    │   └── StoreError      a store cannot be used in its present state
    │       ├── StoreBusy       another process is writing to it
    │       ├── StoreDamaged    a part of it is damaged; the rest can be salvaged
    │       ├── StoreFull       the disk is full; saved work is kept (command line: exit code 3)
    │       └── StoreLost       its file was deleted, replaced or truncated; a copy is kept (command line: exit code 3)
    ├── NotApplicable       an operator finds nothing to change in this model (becomes the verdict "invalid")
    ├── JobFailed           a job failed, on every attempt
    ├── Interrupted         the user asked to stop; finished work is kept (command line: exit code 3)
    └── MissingExtra        an optional dependency is not installed
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from mutiny.core.printable import printable


class MutinyError(Exception):
    """Base class of all errors that mutiny raises."""


class BadInput(MutinyError, ValueError):
    """An argument is not what was expected.

    Args:
        argument: Name of the argument as the user wrote it, e.g. ``train labels``.
        value: Value of the argument, or a short description of it.
        expected: Description of a valid value.
        fix: Sentence that says what to do.

    >>> raise BadInput("alpha", 2, "a probability between 0 and 1", "Use 0.05 unless you know better.")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: alpha=2: expected a probability between 0 and 1. Use 0.05 unless you know better.
    """

    def __init__(self, argument: str, value: object, expected: str, fix: str = "") -> None:
        self.argument, self.value, self.expected, self.fix = argument, value, expected, fix
        given = printable(f"{argument}={value}", breaks=False)
        super().__init__(printable(f"{given}: expected {expected}." + (f" {fix}" if fix else "")))

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, object, str, str]]:
        return type(self), (self.argument, self.value, self.expected, self.fix)


class Diverged(BadInput):
    """Loss or weights of a training are no longer finite."""


class UntrustedFile(BadInput):
    """Loading this file could run code, and the user did not allow that."""


class PluginError(BadInput):
    """An installed package adds an operator, a method, a measure or an attack that cannot be used."""


class PreflightFailed(BadInput):
    """No fault can be detected with this subject, so verdicts would be meaningless."""


class StoreError(BadInput):
    """A store cannot be used in its present state."""


class StoreBusy(StoreError):
    """Another process is writing to this store."""


class StoreDamaged(StoreError):
    """A part of this store is damaged; the rest can be salvaged."""


class StoreFull(StoreError):
    """The disk is full; saved work is kept."""


class StoreLost(StoreError):
    """The file of this store was deleted, replaced or truncated while it was written; a copy is kept."""


class MutinyWarning(UserWarning):
    """Something that the user should know, although the call goes on."""


class NotApplicable(MutinyError):
    """An operator finds nothing to change in this model; the message is the reason."""


class JobFailed(MutinyError):
    """A job failed.

    >>> raise JobFailed("WI at 0.25 on test", "the worker died 3 times")
    Traceback (most recent call last):
    mutiny.core.errors.JobFailed: WI at 0.25 on test: the worker died 3 times
    """

    def __init__(self, job: str, reason: str) -> None:
        self.job, self.reason = job, reason
        super().__init__(printable(f"{job}: {reason}"))

    def __reduce__(self) -> tuple[type[JobFailed], tuple[str, str]]:
        return type(self), (self.job, self.reason)


class Interrupted(MutinyError):
    """The user asked to stop; the message says how to resume."""


class MissingExtra(MutinyError, ImportError):
    """An optional dependency is not installed.

    >>> raise MissingExtra("ray", "ray")
    Traceback (most recent call last):
    mutiny.core.errors.MissingExtra: this needs the package ray: pip install "mutiny-nn[ray]"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'this needs the package {package}: pip install "mutiny-nn[{extra}]"')


@contextmanager
def called(word: str, *arguments: str) -> Iterator[None]:
    """Context in which errors about these arguments name ``word`` instead.

    Args:
        word: Name of the argument as the user knows it, such as ``FILE`` in the help.
        arguments: Names that inner functions use for it.

    >>> with called("FILE", "store"):
    ...     raise BadInput("store", "my.py", "a file that mutiny wrote")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: FILE=my.py: expected a file that mutiny wrote.
    """
    try:
        yield
    except BadInput as error:
        if error.argument not in arguments:
            raise
        raise type(error)(word, error.value, error.expected, error.fix) from error
