"""How long work tells the outside how far it is; the library itself never prints."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receives the stages of a piece of work. Pass one to a verb to see what it is doing."""

    def stage(self, title: str, total: int) -> None:
        """A new stage begins, with so many steps."""

    def step(self, note: str = "", done: int = 1) -> None:
        """Some steps of the stage are done; ``note`` says at what."""


class Silent:
    """Says nothing: the default."""

    def stage(self, title: str, total: int) -> None:
        """Ignores it."""

    def step(self, note: str = "", done: int = 1) -> None:
        """Ignores it."""


class Local:
    """Progress that is dropped when pickled, because nobody watches in other processes.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(Local(Silent())))  # doctest: +ELLIPSIS
    <mutiny.core.progress.Silent object at ...>
    """

    def __init__(self, progress: Progress) -> None:
        self.stage, self.step = progress.stage, progress.step

    def __reduce__(self) -> tuple[type[Silent], tuple[()]]:
        return Silent, ()
