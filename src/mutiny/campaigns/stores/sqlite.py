"""Store in one SQLite file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.stores import connection, schema
from mutiny.campaigns.stores.base import Campaign, CampaignTally, Failed, Kept, Store, reopened
from mutiny.campaigns.stores.lock import PATIENCE, Lock
from mutiny.campaigns.stores.open_file import LogMark, OpenFile, has_log, missing_log
from mutiny.campaigns.stores.rescue import rescue
from mutiny.campaigns.stores.sealing import check_place, damaged, seal, unseal
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, MutinyError, StoreError, StoreLost
from mutiny.core.limits import Allowance
from mutiny.core.private_files import followed
from mutiny.core.results import now

LONGEST_NAME = 240
"""Most bytes in a file name, which leaves room for the suffixes of the lock and the log."""


class SqliteStore(Store):
    """Keeps campaigns in a file. Each method is one transaction, which is committed when the method returns.

    Args:
        path: Path of the file; a missing or empty file becomes a store, which only this user can read. A link is
            followed, unless somebody else has put it into a folder in which everybody may write.
        write: Whether this process writes. Only one process can write at a time; it verifies all checksums when it
            opens the file. Reading is always possible, changes nothing, and verifies what it reads.
        patience: Seconds to wait for another process that is writing.

    Attributes:
        path: Path of the file; that of a copy after the file was lost.
        incomplete: A sentence if the file was copied without its log, so that results may be missing; else empty.

    Raises:
        StoreBusy: Another process is writing the file.
        StoreDamaged: Bytes of the file have changed.
        StoreError: The file is not a store, has a newer version, or cannot be opened.
        StoreLost: Raised by methods that change the store, and by `close`, if the file was deleted, replaced or
            truncated. Everything, and the change itself, is then in a copy, which later calls use.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, SqliteStore(Path(folder) / "digits.mutiny") as store:
    ...     store.open(Campaign("c1", "assess", "digits"))
    ...     store.save("c1", JobResult(Job("probe", ("WI", 0.25)), value={"killed": True}))
    ...     store.load(Job("probe", ("WI", 0.25)))
    Kept(value={'killed': True}, scratch=None, forgotten=False)
    """

    def __init__(self, path: str | Path, *, write: bool = True, patience: float = PATIENCE) -> None:
        check_path("store", path)
        self.path = followed(path, "store")
        if self.path.is_dir():
            raise StoreError("store", path, "a file, got a folder", "Name a file in it.")
        if self.path.exists() and not self.path.is_file():
            raise StoreError("store", path, "a file, got a device or a pipe", "Name a file.")
        if len(os.fsencode(self.path.name)) > LONGEST_NAME:
            raise StoreError("store", path, f"a name of at most {LONGEST_NAME} bytes", "Choose a shorter one.")
        self._turn = threading.RLock()
        self._untold: StoreLost | None = None
        self._lock: Lock | None = None
        opened = ExitStack()  # in which everything is undone unless all of it is opened
        opened.callback(self._release)
        with opened:
            self._lock = Lock(self.path, patience) if write else None
            self._created = write and not self.path.exists()
            had_log = has_log(self.path)
            self._connection = connection.to_write(self.path) if write else connection.to_read(self.path)
            opened.callback(self._connection.close)
            self._file, self._mark = OpenFile(self.path), LogMark(self._connection)
            with connection.translated(self.path):
                self.incomplete = missing_log(self._connection, self.path, had_log)
            opened.pop_all()

    def open(self, campaign: Campaign, most: int | None = None) -> None:
        """Starts a campaign, or continues it."""
        with self._change() as change:
            campaigns = self._in_turn(change)
            turn = campaigns[-1][0]["turn"] + 1 if campaigns else 1
            header = {"what": "campaign", "campaign": campaign.id, "revision": 1, "most": most, "turn": turn}
            earlier = next(((header, known) for header, known in campaigns if known.id == campaign.id), None)
            if earlier is None:
                body = seal(campaign, header)
                change.execute("INSERT INTO campaigns (id, most, body) VALUES (?, ?, ?)", (campaign.id, most, body))
                return
            old_header, known = earlier
            body = seal(reopened(known, campaign), {**header, "revision": (old_header.get("revision") or 0) + 1})
            change.execute("UPDATE campaigns SET most = ?, body = ? WHERE id = ?", (most, body, campaign.id))

    def drop(self, campaign: str) -> None:
        """Drops a campaign and its result, and planned jobs without a value that no other campaign wants."""
        with self._change() as change:
            number = (self._number(change, campaign),)
            unwanted = (
                "SELECT task FROM wanted JOIN tasks ON tasks.number = task WHERE campaign = ? AND seconds IS NULL "
                "AND task NOT IN (SELECT task FROM wanted WHERE campaign <> ?)"
            )
            jobs = change.execute(unwanted, number * 2).fetchall()
            change.execute("DELETE FROM wanted WHERE campaign = ?", number)
            change.execute("DELETE FROM outcomes WHERE campaign = ?", number)
            change.execute("DELETE FROM campaigns WHERE number = ?", number)
            change.executemany("DELETE FROM failures WHERE task = ?", jobs)
            change.executemany("DELETE FROM tasks WHERE number = ?", jobs)

    def campaigns(self) -> list[Campaign]:
        """All campaigns, in the order in which they were last opened."""
        with self._view() as view:
            return [campaign for _, campaign in self._in_turn(view)]

    def _in_turn(self, view: sqlite3.Connection) -> list[tuple[dict[str, Any], Campaign]]:
        """Headers and campaigns in the order in which they were last opened; in older files, of their creation."""
        campaigns = []
        size = view.execute("SELECT total(length(body)) FROM campaigns").fetchone()[0]
        allowance = Allowance("store", self.path, int(size), StoreError)  # for all of them, as they are kept together
        for number, name, body in view.execute("SELECT number, id, body FROM campaigns"):
            header, campaign = self._unsealed(body, f"campaign {name}", allowance, campaign=name)
            header = {"turn": number, **header}
            if not isinstance(campaign, Campaign) or campaign.id != name or type(header["turn"]) is not int:
                raise damaged(self.path, f"campaign {name}")
            campaigns.append((header, campaign))
        return sorted(campaigns, key=lambda entry: entry[0]["turn"])

    def begin(self, campaign: str, job: Job) -> None:
        """Records that a job is planned and started; with ``afresh``, drops its result."""
        with self._change() as change:
            number = self._want(change, self._number(change, campaign), job, attempts=1)
            change.execute("DELETE FROM failures WHERE task = ?", (number,))
            if job.afresh:
                for table in schema.OF_TASKS.values():
                    change.execute(f"DELETE FROM {table} WHERE task = ?", (number,))
                change.execute("UPDATE tasks SET seconds = NULL WHERE number = ?", (number,))

    def want(self, campaign: str, jobs: Iterable[Job]) -> None:
        """Records that jobs are planned."""
        jobs = list(jobs)
        with self._change() as change:
            owner = self._number(change, campaign)
            for job in jobs:
                self._want(change, owner, job)

    def save(self, campaign: str, result: JobResult) -> None:
        """Keeps a value, with the scratch of a `WithScratch`, or a failure unless the job has a value already."""
        job = result.job
        kept = Kept.of(result.value)
        header = {
            "campaign": campaign,
            "task": job.id,
            "kind": job.kind,
            "name": str(job),
            "arguments": job.arguments,
            "basis": job.basis,
            "seconds": result.seconds,
            "finished": now(),
        }
        body = scratch = None
        if result.failure is None:
            has_scratch = kept.forgotten or kept.scratch is not None
            body = seal(kept.value, {"what": "result", "scratch": has_scratch, **header})
            scratch = None if kept.scratch is None else seal(kept.scratch, {"what": "scratch", **header})
        with self._change() as change:
            number = self._want(change, self._number(change, campaign), job)
            if body is None:
                change.execute(
                    "INSERT OR REPLACE INTO failures SELECT number, ? FROM tasks WHERE number = ? AND seconds IS NULL",
                    (_utf8(result.failure or ""), number),
                )
                return
            change.execute("INSERT OR REPLACE INTO results VALUES (?, ?)", (number, body))
            change.execute("DELETE FROM failures WHERE task = ?", (number,))
            change.execute("DELETE FROM scratch WHERE task = ?", (number,))
            if scratch is not None:
                change.execute("INSERT INTO scratch VALUES (?, ?)", (number, scratch))
            change.execute("UPDATE tasks SET seconds = ? WHERE number = ?", (result.seconds, number))

    def load(self, job: Job) -> Kept | None:
        """The stored value of a job; ``None`` if there is none."""
        with self._view() as view:
            row = view.execute(
                "SELECT results.body, scratch.body FROM tasks JOIN results ON results.task = number "
                "LEFT JOIN scratch ON scratch.task = number WHERE id = ?",
                (bytes.fromhex(job.id),),
            ).fetchone()
        if row is None:
            return None
        body, scratch = row
        header, value = self._unsealed(body, f"result of {job}", what="result", task=job.id)
        if scratch is None:
            return Kept(value, None, bool(header.get("scratch")))
        return Kept(value, self._unsealed(scratch, f"scratch of {job}", what="scratch", task=job.id)[1])

    def forget(self, jobs: Iterable[Job]) -> None:
        """Drops the scratch of jobs; `load` then reports it as forgotten."""
        rows = [(bytes.fromhex(job.id),) for job in jobs]
        with self._change() as change:
            change.executemany("DELETE FROM scratch WHERE task = (SELECT number FROM tasks WHERE id = ?)", rows)

    def finish(self, campaign: str, value: Any) -> None:
        """Keeps the result of a campaign."""
        with self._change() as change:
            number = self._number(change, campaign)
            row = change.execute("SELECT body FROM outcomes WHERE campaign = ?", (number,)).fetchone()
            last = self._unsealed(row[0], f"outcome of {campaign}", campaign=campaign)[0] if row else {}
            body = seal(value, {"what": "outcome", "campaign": campaign, "revision": (last.get("revision") or 0) + 1})
            change.execute("INSERT OR REPLACE INTO outcomes VALUES (?, ?)", (number, body))

    def outcome(self, campaign: str, allowance: Allowance | None = None) -> Any:
        """The result of a campaign; ``None`` if it has none.

        Args:
            campaign: Id of the campaign.
            allowance: Memory that the result may take; by default that of a file with nothing else.
        """
        with self._view() as view:
            row = view.execute(
                "SELECT outcomes.body FROM outcomes JOIN campaigns ON number = campaign WHERE id = ?", (campaign,)
            ).fetchone()
        if row is None:
            return None
        return self._unsealed(row[0], f"outcome of {campaign}", allowance, what="outcome", campaign=campaign)[1]

    def tally(self, campaign: str) -> CampaignTally:
        """Progress of a campaign."""
        mine = (
            "FROM wanted JOIN tasks ON tasks.number = wanted.task LEFT JOIN failures ON failures.task = tasks.number "
            "WHERE campaign = ?"
        )
        with self._view() as view:
            number = (self._number(view, campaign),)
            done = view.execute(
                f"SELECT kind, count(*), total(seconds) {mine} AND seconds IS NOT NULL GROUP BY kind", number
            ).fetchall()
            open_ = f"{mine} AND seconds IS NULL AND reason IS NULL"
            waiting = view.execute(f"SELECT kind, count(*) {open_} GROUP BY kind", number).fetchall()
            begun = view.execute(f"SELECT name {open_} AND attempts > 0 ORDER BY tasks.number", number).fetchall()
            failed = view.execute(
                f"SELECT name, reason {mine} AND reason IS NOT NULL ORDER BY tasks.number", number
            ).fetchall()
            attempts = view.execute("SELECT sum(attempts) FROM wanted WHERE campaign = ?", number).fetchone()[0]
            most, finished = view.execute(
                "SELECT most, EXISTS (SELECT 1 FROM outcomes WHERE campaign = number) FROM campaigns WHERE number = ?",
                number,
            ).fetchone()
        return CampaignTally(
            done={kind: count for kind, count, _ in done},
            seconds={kind: seconds for kind, _, seconds in done},
            waiting=dict(waiting),
            begun=tuple(name for (name,) in begun),
            failed=tuple(Failed(name, reason) for name, reason in failed),
            attempts=attempts or 0,
            most=most,
            finished=bool(finished),
        )

    def __exit__(self, *raised: object) -> None:
        """Closes the file. After an error of mutiny, a file that was created here and has no campaign is removed."""
        unused = False
        try:
            created = isinstance(raised[1], MutinyError) and self._created and not self._file.lost()
            unused = created and not self.campaigns()
        finally:
            if unused:
                self._remove()
            else:
                self.close()

    def _remove(self) -> None:
        try:
            with self._turn:
                self._connection.close()
                for suffix in ("", "-wal", "-shm"):
                    with suppress(OSError):  # on Windows, a file that another process reads stays
                        self.path.with_name(self.path.name + suffix).unlink(missing_ok=True)
        finally:
            self._release()

    def close(self) -> None:
        """Closes the file, so that another process can write to it; raises `StoreLost` if it was lost unnoticed."""
        try:
            with self._turn, connection.translated(self.path):
                if self._lock is not None and self._lock.held:
                    self._stay()
                    self._mark.clear()
                    connection.shrink(self._connection)
        finally:
            try:
                self._connection.close()
            finally:
                self._release()
        if self._lock is None:
            connection.tidy(self.path)
        self._tell()

    def _release(self) -> None:
        if self._lock is not None:
            self._lock.release()

    def _number(self, cursor: sqlite3.Connection, campaign: str) -> int:
        row = cursor.execute("SELECT number FROM campaigns WHERE id = ?", (campaign,)).fetchone()
        if row is None:
            raise BadInput("campaign", campaign, "one of the store's", "Open it first.")
        return int(row[0])

    def _want(self, change: sqlite3.Connection, campaign: int, job: Job, attempts: int = 0) -> int:
        key = bytes.fromhex(job.id)
        row: Any = change.execute("SELECT number FROM tasks WHERE id = ?", (key,)).fetchone()
        if row is None:
            named = (key, _utf8(job.kind), _utf8(str(job)))
            row = (change.execute("INSERT INTO tasks (id, kind, name) VALUES (?, ?, ?)", named).lastrowid,)
        number = int(row[0])
        change.execute(
            "INSERT INTO wanted VALUES (?1, ?2, ?3) ON CONFLICT DO UPDATE SET attempts = attempts + ?3",
            (campaign, number, attempts),
        )
        return number

    def _unsealed(
        self, body: bytes, name: str, allowance: Allowance | None = None, **expected: str
    ) -> tuple[dict[str, Any], Any]:
        header, value = unseal(body, self.path, name, allowance)
        check_place(header, self.path, name, **expected)
        return header, value

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._turn:
            if self._lock is not None:
                self._stay()
                self._mark.set()
            yield from self._transaction("BEGIN IMMEDIATE")
            self._file.changed()
        self._tell()

    def _stay(self) -> None:
        """Goes on in a copy if the file was lost; `_tell` then raises the error."""
        what = self._file.lost()
        if not what:
            return
        lost = self.path
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")
        copy, told = rescue(self._connection, lost, what)
        with connection.translated(copy):
            self._connection.close()
            self._file.remove_log()
            self._release()
            self._lock = Lock(copy)
            self.path, self._connection, self._untold = copy, connection.to_write(copy), told
            self._file, self._mark = OpenFile(copy), LogMark(self._connection)

    def _tell(self) -> None:
        error, self._untold = self._untold, None
        if error is not None:
            raise error

    @contextmanager
    def _view(self) -> Iterator[sqlite3.Connection]:
        yield from self._transaction("BEGIN")

    def _transaction(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self._turn, connection.translated(self.path):
            if self._connection.in_transaction:  # Ctrl-C came right after an earlier BEGIN
                self._connection.execute("ROLLBACK")
            self._connection.execute(begin)
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise


def _utf8(text: str) -> str:
    return text.encode(errors="replace").decode()
