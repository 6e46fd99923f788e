"""Copies everything intact from a damaged store into a new one."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores import schema
from mutiny.campaigns.stores.base import Campaign, Store
from mutiny.campaigns.stores.lock import Lock
from mutiny.campaigns.stores.pages import Pages, StoredRow, columns
from mutiny.campaigns.stores.sealing import MARK, START, header_of, unseal
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreBusy, StoreDamaged, StoreError, StoreFull
from mutiny.core.json_text import parsed

NEEDED = {"campaign": ("campaign",), "result": ("campaign", "task", "kind", "name", "basis", "seconds")}
"""Values that the headers of rows have, by kind."""
LONGEST_HEADER = 1 << 16
"""Bytes of a damaged header that is read for the name of what is lost."""
ORPHANS = Campaign("salvaged", "salvage", "results whose campaign is damaged")


@dataclass(frozen=True)
class Salvaged:
    """Outcome of a salvage.

    Attributes:
        results: Number of results in the new store.
        campaigns: Number of campaigns in the new store, including those without any result.
        lost: Names of jobs whose results are damaged, as far as the names can be read.
        notes: Further messages for the user.
    """

    results: int
    campaigns: int
    lost: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _SealedRow:
    """An intact sealed row, its position and its header."""

    pages: Pages
    cell: StoredRow
    header: dict[str, Any]

    def value(self, notes: list[str]) -> Any:
        """The sealed value; adds a note and returns ``None`` if this version of mutiny cannot read it."""
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
class _IntactRows:
    """Intact rows by kind and owner, and the names of all jobs that had a result."""

    rows: dict[tuple[str, str], _SealedRow] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    digests: set[bytes] = field(default_factory=set)

    def add(self, row: _SealedRow) -> None:
        what, revision = row.header["what"], row.header.get("revision") or 0
        missing = [key for key in NEEDED.get(what, ()) if row.header.get(key) is None]
        if missing:
            raise KeyError(*missing)
        key = (what, row.header["task" if what in schema.OF_TASKS else "campaign"])
        known = self.rows.get(key)
        if known is None or revision > (known.header.get("revision") or 0):
            self.rows[key] = row

    def of(self, what: str) -> Iterator[tuple[str, _SealedRow]]:
        return ((key, row) for (kind, key), row in self.rows.items() if kind == what)


def salvage(damaged: Path, into: Path) -> Salvaged:
    """Copies everything intact from a damaged store into a new one; nothing without a valid checksum is used.

    A changed byte costs the rows on its page; a truncated file costs the rows behind its end. Attempts and failures are
    not copied, so failed jobs are run again.

    Args:
        damaged: Damaged store; it is not changed.
        into: Path of the new store, which must not exist.
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
        except StoreError:  # the folder is read-only, so no process writes the file
            pass
        intact = _IntactRows()
        for page, reserved in _layouts(damaged):
            _collect(stack.enter_context(Pages(damaged.resolve(), page, reserved)), intact)
        if not intact.rows:
            raise StoreError("store", damaged, "anything intact that mutiny wrote", "Nothing can be salvaged.")
        return _written(intact, into)


def _written(intact: _IntactRows, into: Path) -> Salvaged:
    """Writes the new store completely, or not at all."""
    try:
        with TemporaryDirectory(prefix=".mutiny-", dir=into.parent) as folder:
            part = Path(folder) / "store"
            with SqliteStore(part) as store:
                salvaged = _write(intact, store)
            part.replace(into)
        return salvaged
    except StoreFull:
        raise StoreFull("store", into, "room for it on its disk", "Free some, and salvage again.") from None
    except OSError as error:
        expected = f"a folder in which files can be written ({error.strerror})"
        fix = "Copy the damaged file, with its -wal if there is one, to such a folder, and salvage it there."
        raise StoreError("store", into, expected, fix) from error


def _layouts(path: Path) -> list[tuple[int, int]]:
    """Page sizes and reserved bytes to try: those in the file's header, if they are plausible, and those of mutiny."""
    with path.open("rb") as file:
        head = file.read(100).ljust(100, b"\0")
    size = struct.unpack_from(">H", head, 16)[0]
    page, reserved = 65536 if size == 1 else size, head[20]
    usual = (4096, 0)
    if head.startswith(b"SQLite format 3\0") and page >= 512 and page & (page - 1) == 0 and reserved <= 32:
        return list(dict.fromkeys([(page, reserved), usual]))
    return [usual]


def _collect(pages: Pages, intact: _IntactRows) -> None:
    for cell in pages.cells():
        fields = columns(cell.local)
        # A row of the table of jobs, with an id of 16 bytes; if it has seconds, the job had a result.
        if len(fields) == 5 and fields[1][0] == 44 and fields[4][0] != 0:
            (_, place, size), (_, start, length) = fields[1], fields[3]
            if start + length <= len(cell.local):
                intact.names[cell.local[place : place + size].hex()] = cell.local[start : start + length].decode(
                    "utf-8", "replace"
                )
        for sealed in _sealed(pages, cell, known=intact.digests):
            try:
                intact.add(_SealedRow(pages, cell, header_of(sealed)))
            except (StoreError, KeyError, TypeError, ValueError):
                _name_lost(sealed, intact)
                continue
            intact.digests.add(sealed[len(MARK) : START])
            break


def _sealed(pages: Pages, cell: StoredRow, known: frozenset[bytes] | set[bytes] = frozenset()) -> Iterator[bytes]:
    """Candidates for the sealed bytes of a row; none if it has none, or if they are known already."""
    fields = columns(cell.local)
    if not fields or fields[-1][1] + fields[-1][2] != cell.size:
        return
    kind, place, _ = fields[-1]
    beginning = cell.local[place : place + START]
    if kind < 12 or kind % 2 or not beginning.startswith(MARK[: len(beginning)]) or beginning[len(MARK) :] in known:
        return
    for record in pages.records(cell):
        yield record[place:]


def _name_lost(sealed: bytes, intact: _IntactRows) -> None:
    """Records the name of a damaged result, if its header can still be read."""
    try:
        length = struct.unpack_from("<Q", sealed, START + 6)[0]
        count = struct.unpack_from("<I", sealed, START + 1)[0]
        if length > LONGEST_HEADER:
            return
        header = parsed(bytes(sealed[(start := START + 5 + 9 * count) : start + length]))
        if header["what"] == "result":
            intact.names.setdefault(str(header["task"]), str(header["name"]))
    except (LookupError, TypeError, ValueError, struct.error):
        pass


def _outcomes(intact: _IntactRows, notes: list[str]) -> dict[str, Any]:
    """Results of campaigns, except those with failed jobs, which will be retried."""
    values = {}
    for key, row in intact.of("outcome"):
        had, value = len(notes), row.value(notes)
        if len(notes) == had and getattr(value, "complete", True):
            values[key] = value
    return values


def _write(intact: _IntactRows, store: Store) -> Salvaged:
    notes: list[str] = []
    opened = set()
    for key, row in sorted(intact.of("campaign"), key=lambda item: item[1].header.get("turn") or item[1].cell.number):
        campaign = row.value(notes)
        if isinstance(campaign, Campaign) and campaign.id == key:
            store.open(campaign, row.header.get("most"))
            opened.add(key)
    outcomes = _outcomes(intact, notes)
    saved: dict[str, str] = {}
    orphaned = set()
    for key, row in sorted(intact.of("result"), key=lambda item: item[1].cell.number):
        header, had = row.header, len(notes)
        job = Job(header["kind"], header.get("arguments"), header["basis"], header["name"])
        value, scratch = row.value(notes), intact.rows.get(("scratch", key))
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
        store.finish(ORPHANS.id, None)  # it cannot be resumed
        notes.append(
            f"The records of {len(orphaned)} campaigns are damaged. Their results are kept: give the same command "
            "again with the new file, and it finds them."
        )
    named = set(saved.values())  # rows of jobs have no checksum: their ids may be damaged
    lost = {name for key, name in intact.names.items() if key not in saved and name not in named}
    return Salvaged(len(saved), len(opened), tuple(sorted(lost)), tuple(notes))
