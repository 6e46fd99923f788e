"""Bugs that are planted on purpose, to see that the injected faults find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.stores import connection
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.models.undo import Undo


def _half_saved() -> None:
    """Statements of a change are committed one by one."""

    def transaction(self: SqliteStore, _: str) -> Iterator[Any]:
        with self._turn, connection.translated(self.path):
            yield self._connection

    SqliteStore._transaction = transaction  # type: ignore[method-assign]


def _swallowed() -> None:
    """A ``finally`` returns, and so ends every error of saving."""
    save = SqliteStore.save

    def swallowing(self: SqliteStore, campaign: str, result: Any) -> None:
        try:
            save(self, campaign, result)
        finally:
            return  # noqa: B012

    SqliteStore.save = swallowing  # type: ignore[method-assign]


def _not_undone() -> None:
    """A patch stays if memory is short."""
    undo = Undo.__exit__

    def leave(self: Undo, kind: type[BaseException] | None, *more: object) -> None:
        if kind is None or not issubclass(kind, MemoryError):
            undo(self, kind, *more)

    Undo.__exit__ = leave  # type: ignore[method-assign]


def _done_again() -> None:
    """What is stored is not looked up."""
    CampaignRun._known = lambda self, job: self.store.want(self.campaign.id, [job])  # type: ignore[method-assign,assignment,return-value]


BUGS: dict[str, Callable[[], None]] = {
    "half-saved": _half_saved,
    "swallowed": _swallowed,
    "not-undone": _not_undone,
    "done-again": _done_again,
}
"""Functions that plant a bug, by name."""
