"""The SQLite store as a file: refusals, versions, interruptions."""

import os
import random
import shutil
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from mutiny import __version__
from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores import connection, schema
from mutiny.campaigns.stores.base import Campaign, Kept
from mutiny.campaigns.stores.lock import holder
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput, StoreBusy, StoreDamaged, StoreError

CAMPAIGN = Campaign("c1", "assess", "digits")


def job(i):
    return Job("probe", (i,), name=f"job {i}")


def filled(path, count=5):
    with SqliteStore(path) as store:
        store.open(CAMPAIGN, most=9)
        for i in range(count):
            store.save("c1", JobResult(job(i), i))
    return path


def another_program(path):
    with closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE songs (title)")


def text(path):
    path.write_text("mutiny " * 1000)


def rubbish(path):
    path.write_bytes(random.Random(0).randbytes(20_000))


def one_byte(path):
    path.write_bytes(b"S")


@pytest.mark.parametrize("write", [True, False])
@pytest.mark.parametrize("make", [another_program, text, rubbish, one_byte], ids=lambda f: f.__name__)
def test_files_that_are_no_store_are_refused_and_left_alone(make, write, tmp_path):
    path = tmp_path / "file"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"expected a file that mutiny wrote. Choose another") as caught:
        SqliteStore(path, write=write)
    assert not isinstance(caught.value, StoreDamaged)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_folders_and_missing_files_are_refused(tmp_path):
    with pytest.raises(StoreError, match="expected a file, got a folder"):
        SqliteStore(tmp_path)
    with pytest.raises(StoreError, match="a folder in which files can be written"):
        SqliteStore(tmp_path / "nosuch" / "store")
    with pytest.raises(StoreError, match="Check the name"):
        SqliteStore(tmp_path / "nosuch", write=False)
    (tmp_path / "empty").touch()
    with pytest.raises(StoreError, match="a store with a campaign; it is empty"):
        SqliteStore(tmp_path / "empty", write=False)
    assert [p.name for p in tmp_path.iterdir()] == ["empty"]


def test_empty_and_missing_files_become_stores_and_one_file_is_left(tmp_path):
    (tmp_path / "empty").touch()
    for name in ("empty", "name with ?#% and ü"):
        store = SqliteStore(str(tmp_path / name))
        store.open(CAMPAIGN)
        store.close()
        store.close()
        with SqliteStore(tmp_path / name, write=False) as reading:
            assert reading.campaigns() == [CAMPAIGN]
    assert {p.name for p in tmp_path.iterdir()} == {"empty", "name with ?#% and ü"}


def test_a_link_is_the_same_store(tmp_path):
    (tmp_path / "link").symlink_to(filled(tmp_path / "store"))
    with SqliteStore(tmp_path / "link"), pytest.raises(StoreBusy, match=f"this process \\({os.getpid()}\\)"):
        SqliteStore(tmp_path / "store")


def test_a_store_of_a_newer_version_is_refused(tmp_path):
    path = filled(tmp_path / "store")
    with closing(sqlite3.connect(path)) as other:
        other.execute("UPDATE about SET value = '9.9'")
        other.execute(f"PRAGMA user_version = {len(schema.STEPS) + 1}")
        other.commit()
    for write in (True, False):
        with pytest.raises(StoreError) as caught:
            SqliteStore(path, write=write)
        assert f"version {len(schema.STEPS)} or older, which mutiny {__version__} reads" in str(caught.value)
        assert f"it has version {len(schema.STEPS) + 1}, written by mutiny 9.9" in str(caught.value)


def test_what_cannot_be_a_store_is_left_alone(tmp_path):
    for path in (Path(os.devnull), tmp_path / ("x" * 245)):
        with pytest.raises(StoreError, match=r"got a device|a name of at most"):
            SqliteStore(path)
    assert not [*tmp_path.iterdir()]
    assert not Path(f"{os.devnull}-journal").exists()


def test_a_new_store_is_told_by_its_file_alone(tmp_path):
    with SqliteStore(tmp_path / "store"):
        copy = Path(shutil.copyfile(tmp_path / "store", tmp_path / "copy"))
    with SqliteStore(copy, write=False) as store:
        assert store.campaigns() == []


def test_older_versions_are_brought_up_to_date_step_by_step(tmp_path, monkeypatch):
    path = filled(tmp_path / "store")
    steps = [
        schema.statements(
            "\nALTER TABLE tasks ADD COLUMN priority INTEGER DEFAULT 1\n\nUPDATE tasks SET priority = 5\n"
        ),
        schema.statements("\nCREATE TABLE notes (text)\n\nINSERT INTO nosuch VALUES (1)\n"),
    ]
    before = len(schema.STEPS)
    monkeypatch.setattr(schema, "STEPS", [*schema.STEPS, *steps])
    with pytest.raises(StoreError):
        SqliteStore(path)
    with closing(sqlite3.connect(path)) as other:  # the first step is done and stays, the second left nothing
        assert other.execute("PRAGMA user_version").fetchone()[0] == before + 1
        assert other.execute("SELECT DISTINCT priority FROM tasks").fetchall() == [(5,)]
        assert not other.execute("SELECT * FROM sqlite_master WHERE name = 'notes'").fetchall()
    schema.STEPS[-1] = schema.statements("\nCREATE TABLE notes (text)\n")
    content = path.read_bytes()
    with SqliteStore(path, write=False) as store:
        assert store.load(job(3)) == Kept(3)
        assert store._connection.execute("SELECT * FROM notes").fetchall() == []
        with pytest.raises(StoreError, match="can be opened and written"):
            store.forget([job(3)])
    assert path.read_bytes() == content
    assert [file.name for file in tmp_path.iterdir()] == ["store"]
    with SqliteStore(path) as store:
        assert store.load(job(3)) == Kept(3)
        assert schema.user_version(store._connection) == before + 2
        assert store._connection.execute("SELECT * FROM notes").fetchall() == []


def test_rows_in_each_others_place_are_noticed(tmp_path):
    path = filled(tmp_path / "store")
    with closing(sqlite3.connect(path)) as other:
        other.execute(
            "UPDATE results SET body = (SELECT body FROM results AS o WHERE o.task = 3 - results.task) WHERE task < 3"
        )
        other.commit()
    with SqliteStore(path, write=False) as store:
        with pytest.raises(StoreDamaged, match="result of job 0"):
            store.load(job(0))
        assert store.load(job(4)) == Kept(4)
    with pytest.raises(StoreDamaged, match="result of job 0"):
        SqliteStore(path)


def test_reading_changes_nothing(tmp_path):
    path = filled(tmp_path / "store")
    before = path.read_bytes()
    with SqliteStore(path, write=False) as store:
        assert store.load(job(1)) == Kept(1)
        assert store.tally("c1").done == {"probe": 5}
        for act in (
            lambda: store.open(CAMPAIGN),
            lambda: store.begin("c1", job(1)),
            lambda: store.save("c1", JobResult(job(1), 2)),
            lambda: store.forget([job(1)]),
            lambda: store.finish("c1", 1),
        ):
            with pytest.raises(StoreError, match="can be opened and written"):
                act()
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["store"]


def test_a_reader_sees_what_a_writer_of_the_same_process_saves(tmp_path):
    with SqliteStore(filled(tmp_path / "store")) as store, SqliteStore(tmp_path / "store", write=False) as reader:
        store.save("c1", JobResult(job(77), "new"))
        assert reader.load(job(77)) == Kept("new")


def test_shared_by_threads(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        store.open(CAMPAIGN)

        def work(numbers):
            for i in numbers:
                store.begin("c1", job(i))
                store.save("c1", JobResult(job(i), i))

        threads = [threading.Thread(target=work, args=(range(k, 200, 4),)) for k in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.tally("c1").done == {"probe": 200}
        assert all(store.load(job(i)) == Kept(i) for i in range(200))


def test_values_that_cannot_be_kept_leave_nothing_behind(tmp_path):
    with SqliteStore(filled(tmp_path / "store")) as store:
        with pytest.raises(BadInput, match="nothing else can be kept"):
            store.save("c1", JobResult(job(9), WithScratch(1, object())))
        with pytest.raises(BadInput, match="nothing else can be kept"):
            store.finish("c1", object())
        assert store.load(job(9)) is None
        assert not store.tally("c1").finished
        store.save("c1", JobResult(job(9), 9))


def test_an_interruption_in_the_middle_of_a_change_leaves_it_out(tmp_path):
    def jobs():
        yield job(10)
        raise KeyboardInterrupt

    with SqliteStore(filled(tmp_path / "store")) as store:
        with pytest.raises(KeyboardInterrupt):
            store.want("c1", jobs())
        assert store.tally("c1").waiting == {}
        store._connection.execute("BEGIN")  # as if the interruption came before anything could be done about it
        store._connection.execute("DELETE FROM results")
        assert store.load(job(1)) == Kept(1)


def test_odd_names(tmp_path):
    odd = Job("probe", ("\udc80", "\0"), name="a\udc80b\0c")
    with SqliteStore(filled(tmp_path / "store")) as store:
        store.begin("c1", odd)
        assert store.tally("c1").begun == ("a?b\0c",)
        store.save("c1", JobResult(odd, failure="no \udcff"))
        assert store.tally("c1").failed[0].reason == "no ?"
        store.save("c1", JobResult(odd, "\udc80"))
        assert store.load(odd) == Kept("\udc80")


def test_stores_do_not_need_torch():
    modules = ("sqlite", "salvage", "memory")
    names = ", ".join(f"mutiny.campaigns.stores.{name}" for name in modules)
    code = f"import sys, {names}; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "False\n"


def test_another_program_that_writes_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.1)
    with SqliteStore(filled(tmp_path / "store")) as store, closing(sqlite3.connect(tmp_path / "store")) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreBusy, match="no other program holds"):
            store.save("c1", JobResult(job(1), 1))
        other.execute("ROLLBACK")
        store.save("c1", JobResult(job(1), 1))


class Unreadable(SqliteStore):
    """A store that cannot be read any more."""

    def campaigns(self):
        raise StoreError("store", self.path, "a disk that reads")


def test_a_store_that_cannot_be_read_at_the_end_is_closed(tmp_path):
    with pytest.raises(StoreError, match="a disk that reads"), Unreadable(tmp_path / "a.mutiny"):
        raise BadInput("model", 1, "a network")
    assert holder(tmp_path / "a.mutiny") is None
    SqliteStore(tmp_path / "a.mutiny").close()


def test_a_store_that_cannot_be_opened_leaves_no_file_open(tmp_path, monkeypatch):
    def broken(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr("mutiny.campaigns.stores.sqlite.missing_log", broken)
        with pytest.raises(KeyboardInterrupt) as raised:
            SqliteStore(tmp_path / "a.mutiny")
    assert not (tmp_path / "a.mutiny-wal").exists(), raised  # SQLite removes it with the last connection
    SqliteStore(tmp_path / "a.mutiny").close()
