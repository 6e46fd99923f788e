"""The SQLite store on disks that are read-only, full or cut off."""

import os
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import numpy as np
import pytest

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores.base import Campaign, Kept
from mutiny.campaigns.stores.salvage import salvage
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreDamaged, StoreError, StoreFull

CAMPAIGN = Campaign("c1", "assess", "digits")


def job(i):
    return Job("probe", (i,), name=f"job {i}")


def filled(path, count=5):
    with SqliteStore(path) as store:
        store.open(CAMPAIGN, most=9)
        for i in range(count):
            store.save("c1", JobResult(job(i), i))
    return path


def left_by_a_killed_process(folder, count=5):
    """A store with all its results in the log."""
    original = folder / "original"
    store = SqliteStore(original)
    store._connection.execute("PRAGMA wal_autocheckpoint = 0")
    store.open(CAMPAIGN)
    for i in range(count):
        store.save("c1", JobResult(job(i), i))
    for name in ("", "-wal"):
        shutil.copyfile(f"{original}{name}", folder / f"store{name}")
    store.close()
    original.unlink()
    return folder / "store"


MAKE = """
import itertools, pathlib, sys
from mutiny.campaigns.stores.sqlite import SqliteStore
print("ready", flush=True)
for number in itertools.count():
    SqliteStore(pathlib.Path(sys.argv[1]) / str(number)).close()
"""


@pytest.mark.parametrize("seed", range(5))
def test_a_process_killed_while_it_makes_stores_leaves_what_can_be_opened(seed, tmp_path):
    process = subprocess.Popen([sys.executable, "-c", MAKE, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    time.sleep(random.Random(seed).uniform(0.01, 0.2))
    process.kill()
    process.communicate()
    for number in {re.match(r"\d+", path.name)[0] for path in tmp_path.iterdir()}:  # of the last, perhaps only the lock
        filled(tmp_path / number)
    assert all(path.name.isdigit() for path in tmp_path.iterdir())


@contextmanager
def nobody():
    """Drops the rights of root, which could write everywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder():
    """A folder that other users can enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
@pytest.mark.parametrize("make", [filled, left_by_a_killed_process], ids=["closed", "killed"])
def test_read_only_folders(make, open_folder):
    path = make(open_folder / "store") if make is filled else make(open_folder)
    for file in open_folder.iterdir():
        file.chmod(0o444)
    open_folder.chmod(0o555)
    before = {p.name: p.read_bytes() for p in open_folder.iterdir()}
    with nobody():
        with SqliteStore(path, write=False) as store:
            assert [store.load(job(i)) for i in range(5)] == [Kept(i) for i in range(5)]
            assert store.campaigns() == [CAMPAIGN]
        with pytest.raises(StoreError, match="a folder in which files can be written"):
            SqliteStore(path)
    assert {p.name: p.read_bytes() for p in open_folder.iterdir()} == before


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_tables_of_a_store_and_its_log_in_a_read_only_folder_are_checked(tmp_path, open_folder):
    made, path = filled(tmp_path / "store"), open_folder / "store"
    with closing(sqlite3.connect(made)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        with connection:
            connection.execute("UPDATE tasks SET name = x'ff'")
        for suffix in ("", "-wal"):
            shutil.copyfile(f"{made}{suffix}", f"{path}{suffix}")
    open_folder.chmod(0o555)
    with nobody(), pytest.raises(StoreDamaged, match="an intact table of tasks"):
        SqliteStore(path, write=False)


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_a_read_only_file_in_a_folder_that_is_not(open_folder):
    path = filled(open_folder / "store")
    path.chmod(0o444)
    open_folder.chmod(0o777)
    with nobody(), pytest.raises(StoreError, match="a file that can be opened and written"):
        SqliteStore(path)


def test_what_a_killed_process_left_is_read_without_changing_it(tmp_path):
    path = left_by_a_killed_process(tmp_path)
    before = path.read_bytes()
    with SqliteStore(path, write=False) as store:
        assert [store.load(job(i)) for i in range(5)] == [Kept(i) for i in range(5)]
    assert path.read_bytes() == before


def test_no_room_is_told_and_nothing_is_lost(tmp_path):
    """SQLite's own limit: the same error as that of a full disk."""
    with SqliteStore(filled(tmp_path / "store")) as store:
        store._connection.execute("PRAGMA max_page_count = 40")
        for i in range(5, 8):
            store.save("c1", JobResult(job(i), np.random.default_rng(i).random(3000)))
        i = 8
        with pytest.raises(StoreFull, match=r"room for more on its disk. Free some. Saved results are kept"):
            store.save("c1", JobResult(job(i), np.random.default_rng(i).random(30_000)))
        store._connection.execute("PRAGMA max_page_count = 100000")
        assert [store.load(job(k)) for k in range(5)] == [Kept(k) for k in range(5)]
        assert store.load(job(i)) is None
        store.save("c1", JobResult(job(i), i))
        assert store.load(job(i)) == Kept(i)


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this needs the right to mount")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def save_until_full(store, saved):
    for i in range(1000):
        size = int(10 ** random.Random(i).uniform(0, 4))
        store.save("c1", JobResult(job(i), np.random.default_rng(i).random(size)))
        saved.append(i)


def fill_to_the_last_byte(folder):
    with (folder / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(1 << 20))


def test_a_full_disk(small_disk):
    path, saved = small_disk / "store", []
    with SqliteStore(path) as store:
        store.open(CAMPAIGN)
        with pytest.raises(StoreError, match=r"Saved results are kept. Then run `mutiny resume"):
            save_until_full(store, saved)
        fill_to_the_last_byte(small_disk)
        for i in range(1000, 1003):
            with pytest.raises(StoreError, match="Saved results are kept"):
                store.save("c1", JobResult(job(i), np.random.default_rng(0).random(100_000)))
        assert len(saved) > 5
    with pytest.raises(StoreError, match=r"Saved results are kept|can be written"):
        SqliteStore(small_disk / "another")
    assert not (small_disk / "another.lock").exists()
    with SqliteStore(path, write=False) as store:  # reading needs no room
        assert store.tally("c1").done == {"probe": len(saved)}
    with pytest.raises(StoreFull, match="salvage again"):
        salvage(path, small_disk / "saved")
    assert not [*small_disk.glob("*saved*")]
    (small_disk / "filler").unlink()
    with SqliteStore(path, write=False) as store:
        assert [i for i in range(1003) if store.load(job(i)) is not None] == saved
        assert store.tally("c1").done == {"probe": len(saved)}


def test_room_is_given_back_when_scratch_is_forgotten(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        store.open(CAMPAIGN)
        for i in range(20):
            store.save("c1", JobResult(job(i), WithScratch(i, np.random.default_rng(i).random(300_000))))
        store.forget([job(i) for i in range(20)])
    assert (tmp_path / "store").stat().st_size < 100_000
    with SqliteStore(tmp_path / "store") as store:
        assert [store.load(job(i)) for i in range(20)] == [Kept(i, forgotten=True) for i in range(20)]


def test_small_results_take_little_room(tmp_path):
    filled(tmp_path / "store", 1000)
    assert (tmp_path / "store").stat().st_size < 1000 * 700
