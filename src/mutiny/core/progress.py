"""Interface through which long-running work reports progress; the library itself never prints."""

from __future__ import annotations

from typing import Protocol


class Progress(Protocol):
    """Receiver of progress reports. Pass one to a verb to see its progress."""

    def stage(self, title: str, total: int) -> None:
        """Begins a stage of ``total`` steps."""

    def step(self, note: str = "", done: int = 1) -> None:
        """Reports ``done`` finished steps; ``note`` describes them."""


class Silent:
    """Ignores all progress; the default."""

    def stage(self, title: str, total: int) -> None:
        """Does nothing."""

    def step(self, note: str = "", done: int = 1) -> None:
        """Does nothing."""


class Local:
    """Progress that becomes `Silent` when pickled, because other processes have no one to report to.

    >>> import pickle
    >>> pickle.loads(pickle.dumps(Local(Silent())))  # doctest: +ELLIPSIS
    <mutiny.core.progress.Silent object at ...>
    """

    def __init__(self, progress: Progress) -> None:
        self.stage, self.step = progress.stage, progress.step

    def __reduce__(self) -> tuple[type[Silent], tuple[()]]:
        return Silent, ()
