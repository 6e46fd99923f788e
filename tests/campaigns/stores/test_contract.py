"""Both stores pass the contract suite."""

import itertools

import pytest

from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.testing.store_survival import check_one_writer, check_reader, check_survival
from mutiny.testing.stores import check_store

OPENER = "mutiny.campaigns.stores.sqlite:SqliteStore"


def test_memory():
    check_store(MemoryStore, reopen=lambda store: store, sequences=200)


def test_sqlite(tmp_path):
    numbers = itertools.count()

    def reopen(store):
        store.close()
        return SqliteStore(store.path)

    check_store(lambda: SqliteStore(tmp_path / f"{next(numbers)}.mutiny"), reopen, sequences=20)


@pytest.mark.parametrize("kills", [2, pytest.param(12, marks=pytest.mark.slow)])
def test_what_a_killed_process_saved_is_there(tmp_path, kills):
    assert check_survival(OPENER, tmp_path / "store", kills=kills) > 20


def test_one_process_writes(tmp_path):
    check_one_writer(OPENER, tmp_path / "store")


def test_others_read_meanwhile(tmp_path):
    assert check_reader(OPENER, lambda path: SqliteStore(path, write=False), tmp_path / "store", 0.7) > 10
