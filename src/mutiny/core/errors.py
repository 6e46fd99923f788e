"""Everything mutiny raises on purpose.

::

    MutinyError
    ├── BadInput            an argument, a file or a model is not what was expected (command line: exit code 2)
    │   ├── Diverged        a training whose loss is no longer a finite number
    │   ├── UntrustedFile   loading it could run code, and the user did not allow that
    │   ├── PluginError     an installed package adds something to mutiny that cannot be used
    │   ├── PreflightFailed the harness could not detect any fault with this subject, so no verdict would mean anything
    │   └── StoreError      a file that keeps campaigns cannot be used as it is
    │       ├── StoreBusy       another process is writing it
    │       ├── StoreDamaged    some of it is not what was written; the rest can be salvaged
    │       └── StoreFull       there is no room for more; what was saved stays (command line: exit code 3)
    ├── NotApplicable       an operator finds nothing to change in this model (becomes the verdict "invalid")
    ├── JobFailed           a job crashed, also when it was tried again
    ├── Interrupted         the user asked to stop; what is done is kept (command line: exit code 3)
    └── MissingExtra        an optional dependency is not installed
"""

from __future__ import annotations


class MutinyError(Exception):
    """Base of all errors raised on purpose."""


class BadInput(MutinyError, ValueError):
    """An argument is not what was expected.

    Args:
        argument: its name as the user wrote it, e.g. ``train labels``.
        value: what was given, or a short description of it.
        expected: what would have been right.
        fix: a sentence that says what to do.

    >>> raise BadInput("alpha", 2, "a probability between 0 and 1", "Use 0.05 unless you know better.")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: alpha=2: expected a probability between 0 and 1. Use 0.05 unless you know better.
    """

    def __init__(self, argument: str, value: object, expected: str, fix: str = "") -> None:
        self.argument, self.value, self.expected, self.fix = argument, value, expected, fix
        super().__init__(f"{argument}={value}: expected {expected}." + (f" {fix}" if fix else ""))

    def __reduce__(self) -> tuple[type[BadInput], tuple[str, object, str, str]]:
        return type(self), (self.argument, self.value, self.expected, self.fix)


class Diverged(BadInput):
    """Loss or weights of a training are no longer finite numbers."""


class UntrustedFile(BadInput):
    """Loading this file could run code, and the user did not allow that."""


class PluginError(BadInput):
    """An installed package adds an operator, a method, a measure or an attack that cannot be used."""


class PreflightFailed(BadInput):
    """With this subject the harness cannot detect any fault, so no verdict would mean anything."""


class StoreError(BadInput):
    """A file that keeps campaigns cannot be used as it is."""


class StoreBusy(StoreError):
    """Another process is writing this file."""


class StoreDamaged(StoreError):
    """Some of this file is not what was written; the rest can be salvaged."""


class StoreFull(StoreError):
    """There is no room for more; what was saved stays."""


class NotApplicable(MutinyError):
    """An operator finds nothing to change in this model; the message is the reason."""


class JobFailed(MutinyError):
    """A job crashed.

    >>> raise JobFailed("WI at 0.25 on test", "the worker died 3 times")
    Traceback (most recent call last):
    mutiny.core.errors.JobFailed: WI at 0.25 on test: the worker died 3 times
    """

    def __init__(self, job: str, reason: str) -> None:
        self.job, self.reason = job, reason
        super().__init__(f"{job}: {reason}")

    def __reduce__(self) -> tuple[type[JobFailed], tuple[str, str]]:
        return type(self), (self.job, self.reason)


class Interrupted(MutinyError):
    """The user asked to stop; the message says how to go on."""


class MissingExtra(MutinyError, ImportError):
    """An optional dependency is not installed.

    >>> raise MissingExtra("ray", "ray")
    Traceback (most recent call last):
    mutiny.core.errors.MissingExtra: this needs the package ray: pip install "mutiny-nn[ray]"
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f'this needs the package {package}: pip install "mutiny-nn[{extra}]"')
