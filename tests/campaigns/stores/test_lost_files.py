"""Stores whose file is deleted, replaced, truncated or copied without its log."""

import os
import shutil
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.stores.base import Campaign, Kept
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput, StoreError, StoreLost

CAMPAIGN = Campaign("c1", "assess", "digits")
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="Windows keeps open files")


def job(i):
    return Job("probe", (i,), name=f"job {i}")


def save(store, numbers, size=0):
    for i in numbers:
        store.save("c1", JobResult(job(i), np.arange(size) if size else i))


def opened(path, old=5, new=5):
    """A store with some results in the file and some in the log."""
    with SqliteStore(path) as store:
        store.open(CAMPAIGN)
        save(store, range(old))
    store = SqliteStore(path)
    save(store, range(old, old + new))
    return store


def results(path):
    with SqliteStore(path, write=False) as store:
        assert store.incomplete == ""
        return [i for i in range(100) if store.load(job(i)) is not None]


def deleted(path):
    path.unlink()


def deleted_with_its_log(path):
    for file in path.parent.iterdir():
        file.unlink()


def moved(path):
    path.rename(path.with_name("moved"))


def replaced(path):
    with SqliteStore(path.with_name("other")) as other:
        other.open(Campaign("other", "select", "digits"))
    path.with_name("other").replace(path)


def folder_deleted(path):
    shutil.rmtree(path.parent)


TOLD = {
    deleted: "it was deleted or moved",
    deleted_with_its_log: "it was deleted or moved",
    moved: "it was deleted or moved",
    replaced: "it was replaced by another file",
    folder_deleted: "it was deleted or moved",
}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder for the store, and another current folder."""
    for name in ("there", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "there"


@pytest.mark.parametrize("lose", TOLD, ids=lambda lose: lose.__name__)
def test_a_lost_file_is_noticed_at_the_next_change_which_is_kept_elsewhere(place, lose):
    store = opened(place / "x.mutiny")
    lose(place / "x.mutiny")
    with pytest.raises(StoreLost) as caught:
        save(store, [10])
    copy = (Path.cwd() if lose is folder_deleted else place) / "x-rescued.mutiny"
    assert TOLD[lose] in str(caught.value)
    assert f"All of it is now in {copy}." in str(caught.value)
    assert store.path == copy
    save(store, [11])  # the store goes on in the copy
    store.close()
    assert results(copy) == [*range(12)]
    assert copy.stat().st_mode & 0o077 == 0
    assert not [*place.glob("x.mutiny-*"), *place.glob("*.lock")]


def test_another_store_of_the_same_name_is_left_alone(place):
    store = opened(place / "x.mutiny")
    replaced(place / "x.mutiny")
    content = (place / "x.mutiny").read_bytes()
    with pytest.raises(StoreLost):
        store.close()
    assert (place / "x.mutiny").read_bytes() == content
    with SqliteStore(place / "x.mutiny", write=False) as other:
        assert [campaign.id for campaign in other.campaigns()] == ["other"]


def test_a_file_in_the_place_of_a_new_one_is_not_removed(place):
    def refused():
        with SqliteStore(place / "x.mutiny"):
            replaced(place / "x.mutiny")
            raise BadInput("a", 1, "b")

    with pytest.raises(BadInput):
        refused()
    assert (place / "x.mutiny").is_file()


@pytest.mark.parametrize("length", [0, 100, 12_288])
def test_a_truncated_file_is_noticed_and_what_is_intact_is_kept(place, length):
    store = opened(place / "x.mutiny")
    os.truncate(place / "x.mutiny", length)
    with pytest.raises(StoreLost, match=rf"it was cut from [\d,]+ to {length:,} bytes\. (All|What is intact)"):
        save(store, [10])
    store.close()
    assert {*range(5, 11)} <= {*results(store.path)}


def test_results_that_were_cut_off_are_the_only_loss(place):
    path = place / "x.mutiny"
    with SqliteStore(path) as store:
        store.open(CAMPAIGN)
        save(store, range(3), size=100_000)
    store = SqliteStore(path)
    store._connection.execute("PRAGMA cache_size = 10")
    save(store, [3])
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreLost, match="What is intact of it is now in"):
        save(store, [4])
    store.close()
    kept = results(store.path)
    assert {3, 4} <= {*kept} != {*range(5)}


@pytest.mark.parametrize("lose", [deleted, replaced], ids=lambda lose: lose.__name__)
def test_a_file_lost_after_the_last_change_is_noticed_at_the_end(place, lose):
    store = SqliteStore(place / "x.mutiny")
    store.open(CAMPAIGN)
    save(store, range(3))
    store.finish("c1", "a result")
    lose(place / "x.mutiny")
    with pytest.raises(StoreLost):
        store.close()
    assert results(place / "x-rescued.mutiny") == [0, 1, 2]
    with SqliteStore(place / "x-rescued.mutiny", write=False) as copy:
        assert copy.outcome("c1") == "a result"


def test_a_loss_is_told_although_another_error_hid_it_first(place):
    store = opened(place / "x.mutiny")
    deleted(place / "x.mutiny")
    with pytest.raises(BadInput, match="one of the store's"):
        store.finish("nosuch", 1)
    with pytest.raises(StoreLost):
        store.close()
    assert results(place / "x-rescued.mutiny") == [*range(10)]


def test_no_earlier_copy_is_replaced(place):
    for name in ("x-rescued.mutiny", "x-rescued-2.mutiny"):
        (place / name).write_text("precious")
    (place / "x-rescued-3.mutiny").symlink_to(place / "victim")
    store = opened(place / "x.mutiny")
    deleted(place / "x.mutiny")
    with pytest.raises(StoreLost):
        store.close()
    assert (place / "x-rescued.mutiny").read_text() == "precious"
    assert not (place / "victim").exists()
    assert results(place / "x-rescued-4.mutiny") == [*range(10)]


def test_a_loss_without_room_for_a_copy_says_so(place, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(place / "nosuch"))
    store = opened(place / "x.mutiny")
    store._connection.execute("DROP TABLE about")  # so that no copy can be made
    folder_deleted(place / "x.mutiny")
    with pytest.raises(StoreLost, match="Its content could not be copied"):
        save(store, [10])
    with pytest.raises(StoreLost):
        store.close()
    assert store._lock is not None
    assert not store._lock.held


def test_a_touched_or_longer_file_is_not_lost(place):
    with opened(place / "x.mutiny") as store:
        os.utime(place / "x.mutiny", (0, 0))
        save(store, [10])
        save(store, range(11, 14), size=3_000_000)  # large enough to be moved from the log into the file
        save(store, [14])
        store.forget([job(11)])
    assert results(place / "x.mutiny") == [*range(15)]


def copied_without_log(place):
    """A copy of the file only, made while it is written."""
    with opened(place / "x.mutiny"):
        shutil.copyfile(place / "x.mutiny", place / "copy")
    return place / "copy"


def test_a_copy_without_its_log_says_so_until_it_is_written(place):
    copy = copied_without_log(place)
    for _ in range(2):
        with SqliteStore(copy, write=False) as store:
            assert store.incomplete == (
                "copy was copied without its log, copy-wal, or that was deleted: new results may be missing."
            )
            assert store.load(job(4)) == Kept(4)
            assert store.load(job(9)) is None
    with SqliteStore(copy) as store:
        assert "copied without its log" in store.incomplete
        save(store, [9])
    assert results(copy) == [0, 1, 2, 3, 4, 9]


def test_a_copy_with_its_log_is_complete(place):
    with opened(place / "x.mutiny"):
        for suffix in ("", "-wal"):
            shutil.copyfile(place / f"x.mutiny{suffix}", place / f"copy{suffix}")
        assert results(place / "x.mutiny") == [*range(10)]  # a reader of a file that is being written
    assert results(place / "copy") == [*range(10)]
    assert results(place / "x.mutiny") == [*range(10)]


def test_the_mark_of_a_log_is_in_the_file_itself(place):
    copy = copied_without_log(place)
    with closing(sqlite3.connect(f"{copy.as_uri()}?mode=ro&immutable=1", uri=True)) as file:
        assert file.execute("SELECT value FROM about WHERE key = 'log'").fetchone() == ("in use",)


def test_opening_without_a_change_leaves_the_file_as_it_was(place):
    opened(place / "x.mutiny").close()
    content = (place / "x.mutiny").read_bytes()
    SqliteStore(place / "x.mutiny").close()
    assert (place / "x.mutiny").read_bytes() == content


def test_reading_results_of_an_incomplete_copy_warns(place):
    from mutiny.reports.loading import read_results

    copy = copied_without_log(place)
    with pytest.warns(UserWarning, match="copied without its log"), pytest.raises(StoreError.__base__):
        read_results([copy])
