"""What is intact in a damaged store, in a new one."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores import schema
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.stores.lock import Lock
from mutiny.campaigns.stores.pages import Pages, StoredRow, columns
from mutiny.campaigns.stores.sealing import MARK, START, header_of, unseal
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreBusy, StoreDamaged, StoreError, StoreFull

ORPHANS = Campaign("salvaged", "salvage", "results whose campaign is damaged")


@dataclass(frozen=True)
class Salvaged:
    """What was found.

    Attributes:
        results: how many are in the new store.
        campaigns: how many are in the new store, those without any result included.
        lost: names of jobs that had a result which is damaged; as far as their names can be read.
        notes: what else the user should know.
    """

    results: int
    campaigns: int
    lost: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Piece:
    """An intact sealed row: where it is, and what its header says."""

    pages: Pages
    cell: StoredRow
    header: dict[str, Any]

    def value(self, notes: list[str]) -> Any:
        """What was sealed; if this version of mutiny cannot read it, a note instead."""
        for sealed in _sealed(self.pages, self.cell):
            try:
                return unseal(sealed, what=self.header.get("name") or self.header["what"])[1]
            except StoreDamaged:
                continue
            except StoreError as error:
                notes.append(str(error))
                return None
        notes.append(f"{self.header.get('name') or self.header['what']}: the file changed while it was read")
        return None


@dataclass
class _Found:
    """Intact pieces by what they are and whose, and names of all jobs that had a result."""

    pieces: dict[tuple[str, str], _Piece] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    digests: set[bytes] = field(default_factory=set)

    def add(self, piece: _Piece) -> None:
        what, revision = piece.header["what"], piece.header.get("revision", 0)
        key = (what, piece.header["task" if what in schema.OF_TASKS else "campaign"])
        known = self.pieces.get(key)
        if known is None or revision > known.header.get("revision", 0):
            self.pieces[key] = piece

    def of(self, what: str) -> Iterator[tuple[str, _Piece]]:
        return ((key, piece) for (kind, key), piece in self.pieces.items() if kind == what)


def salvage(damaged: Path, into: Path) -> Salvaged:
    """Reads whatever is intact in a damaged store into a new one, without trusting anything that is not sealed.

    A changed byte costs the rows on its page, a missing end those that lay there. How often jobs were begun, and which
    have failed, is not kept: they are tried again.

    Args:
        damaged: the store; it is left as it is.
        into: the new one, a file that does not exist.
    """
    if not damaged.is_file():
        raise StoreError("store", damaged, "a file", "Check the name.")
    if into.exists():
        raise StoreError("into", into, "a file that does not exist yet", "Choose another name, or move it away.")
    with ExitStack() as stack:
        try:
            stack.callback(Lock(damaged.resolve()).release)
        except StoreBusy:
            raise
        except StoreError:  # nobody can write there, so nobody does
            pass
        found = _Found()
        for page, reserved in _layouts(damaged):
            _collect(stack.enter_context(Pages(damaged.resolve(), page, reserved)), found)
        if not found.pieces:
            raise StoreError("store", damaged, "anything intact that mutiny wrote", "Nothing can be salvaged.")
        return _written(found, into)


def _written(found: _Found, into: Path) -> Salvaged:
    """Writes the new store, whole or not at all."""
    part = into.with_name(f".{into.name}.part")
    try:
        _remove(part)  # of a salvage that was killed
        try:
            with SqliteStore(part) as store:
                told = _write(found, store)
            part.replace(into)
        finally:
            _remove(part)
        return told
    except StoreFull:
        raise StoreFull("store", into, "room for it on its disk", "Free some, and salvage again.") from None
    except OSError as error:
        raise StoreError(
            "store",
            into,
            f"a folder in which files can be written ({error.strerror})",
            "Copy the damaged file, with its -wal if there is one, to such a folder, and salvage it there.",
        ) from error


def _remove(store: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        store.with_name(store.name + suffix).unlink(missing_ok=True)


def _layouts(path: Path) -> list[tuple[int, int]]:
    """Page sizes and reserved bytes to try: what the file says if it can be believed, and what mutiny writes."""
    with path.open("rb") as file:
        head = file.read(100).ljust(100, b"\0")
    told = struct.unpack_from(">H", head, 16)[0]
    page, reserved = 65536 if told == 1 else told, head[20]
    usual = (4096, 0)
    if head.startswith(b"SQLite format 3\0") and page >= 512 and page & (page - 1) == 0 and reserved <= 32:
        return list(dict.fromkeys([(page, reserved), usual]))
    return [usual]


def _collect(pages: Pages, found: _Found) -> None:
    for cell in pages.cells():
        told = columns(cell.local)
        if len(told) == 5 and told[1][0] == 44 and told[4][0] != 0:  # a row of jobs, with seconds: it had a result
            (_, place, size), (_, start, length) = told[1], told[3]
            if start + length <= len(cell.local):
                found.names[cell.local[place : place + size].hex()] = cell.local[start : start + length].decode(
                    "utf-8", "replace"
                )
        for sealed in _sealed(pages, cell, known=found.digests):
            try:
                found.add(_Piece(pages, cell, header_of(sealed)))
            except (StoreError, KeyError, TypeError, ValueError):
                _name_lost(sealed, found)
                continue
            found.digests.add(sealed[len(MARK) : START])
            break


def _sealed(pages: Pages, cell: StoredRow, known: frozenset[bytes] | set[bytes] = frozenset()) -> Iterator[bytes]:
    """What the sealed bytes of a row may be; none if it has none, or if they are known already."""
    told = columns(cell.local)
    if not told or told[-1][1] + told[-1][2] != cell.size:
        return
    kind, place, _ = told[-1]
    beginning = cell.local[place : place + START]
    if kind < 12 or kind % 2 or not beginning.startswith(MARK[: len(beginning)]) or beginning[len(MARK) :] in known:
        return
    for record in pages.records(cell):
        yield record[place:]


def _name_lost(sealed: bytes, found: _Found) -> None:
    """The name of a damaged result, where the beginning of it can still be read."""
    try:
        length = struct.unpack_from("<Q", sealed, START + 6)[0]
        count = struct.unpack_from("<I", sealed, START + 1)[0]
        header = json.loads(sealed[(start := START + 5 + 9 * count) : start + length])
        if header["what"] == "result":
            found.names.setdefault(str(header["task"]), str(header["name"]))
    except (LookupError, TypeError, ValueError, struct.error):
        pass


def _outcomes(found: _Found, notes: list[str]) -> dict[str, Any]:
    """Results of campaigns; not of those of which something failed, and will be tried again."""
    values = {}
    for key, piece in found.of("outcome"):
        had, value = len(notes), piece.value(notes)
        if len(notes) == had and getattr(value, "complete", True):
            values[key] = value
    return values


def _write(found: _Found, store: Store) -> Salvaged:
    notes: list[str] = []
    opened = set()
    for key, piece in sorted(found.of("campaign"), key=lambda item: item[1].header.get("turn", item[1].cell.number)):
        if (campaign := piece.value(notes)) is not None:
            store.open(campaign, piece.header.get("most"))
            opened.add(key)
    outcomes = _outcomes(found, notes)
    saved: dict[str, str] = {}
    orphaned = set()
    for key, piece in sorted(found.of("result"), key=lambda item: item[1].cell.number):
        header, had = piece.header, len(notes)
        job = Job(header["kind"], header["arguments"], header["basis"], header["name"])
        value, scratch = piece.value(notes), found.pieces.get(("scratch", key))
        if len(notes) > had or job.id != key:
            continue
        if scratch is not None and header["campaign"] not in outcomes:
            value = WithScratch(value, scratch.value(notes))
        elif header.get("scratch"):
            value = WithScratch(value, None)
        owner = header["campaign"]
        if owner not in opened:
            orphaned.add(owner)
            store.open(ORPHANS)
            owner = ORPHANS.id
        store.save(owner, JobResult(job, value, header["seconds"]))
        saved[key] = str(job)
    for key in outcomes.keys() & opened:
        store.finish(key, outcomes[key])
    if orphaned:
        store.finish(ORPHANS.id, None)  # nobody can go on with it
        notes.append(
            f"The records of {len(orphaned)} campaigns are damaged. Their results are kept: give the same command "
            "again with the new file, and it finds them."
        )
    named = set(saved.values())  # rows of jobs are not sealed: their ids may be damaged
    lost = {name for key, name in found.names.items() if key not in saved and name not in named}
    return Salvaged(len(saved), len(opened), tuple(sorted(lost)), tuple(notes))
