"""Undoing changes to a model completely, even if Ctrl-C is pressed during the undoing."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Self


class Undo:
    """A stack of undo steps. On leaving the context all of them run, the last one first.

    A step must be idempotent: a step that is interrupted runs again, and the interrupt is raised once everything is
    restored.

    >>> shelf = {"book": 1}
    >>> with Undo() as undo:
    ...     undo.add(shelf.__setitem__, "book", 1)
    ...     shelf["book"] = 2
    >>> shelf
    {'book': 1}
    """

    def __init__(self) -> None:
        self._steps: list[Callable[[], Any]] = []

    def add(self, step: Callable[..., Any], *args: Any) -> None:
        """Registers a step. Call it before the change itself, so that an interrupt in between is undone as well."""
        self._steps.append(partial(step, *args))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        raised: BaseException | None = None
        while self._steps:
            try:
                self._steps[-1]()
                self._steps.pop()
            except KeyboardInterrupt as interrupt:  # the step is still on the stack and runs again
                raised = interrupt
            except BaseException as error:
                raised = raised or error
                self._steps.pop()
        if raised is not None:
            raise raised
