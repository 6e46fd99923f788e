"""From a file's name to a store."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.sqlite import SqliteStore


@contextmanager
def opened(store: str | Path | Store | None) -> Iterator[Store | None]:
    """A store by the name of its file, closed afterwards; one that is open already stays so."""
    if store is None or isinstance(store, Store):
        yield store
        return
    with SqliteStore(store) as own:
        yield own
