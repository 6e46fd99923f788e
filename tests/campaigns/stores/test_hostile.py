"""Stores that someone made on purpose, with right checksums: an answer or a sentence, within the allowed memory."""

import hashlib
import json
import sqlite3
import struct
import tracemalloc
import zlib
from contextlib import closing

import numpy as np
import pytest

from mutiny.campaigns.jobs import Job, JobResult
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.salvage import salvage
from mutiny.campaigns.stores.sealing import MARK, header_of, seal, unseal
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreDamaged, StoreError
from mutiny.core.stats import Interval

HEADER = {"what": "outcome", "campaign": "c1", "revision": 1, "mutiny": "0.1.0"}
MEBI = 1 << 20


def forged(tree=None, *parts, text=None, header=HEADER, packed_header=False, count=None):
    """Bytes with a right checksum around any content; the value and further parts are compressed."""
    texts = [json.dumps(header).encode(), json.dumps(tree).encode() if text is None else text, *parts]
    flags = [packed_header, *[True] * (len(texts) - 1)]
    stored = [zlib.compress(part, 9) if flag else part for flag, part in zip(flags, texts, strict=True)]
    table = b"".join(struct.pack("<BQ", flag, len(part)) for flag, part in zip(flags, stored, strict=True))
    body = struct.pack("<BI", 1, len(stored) if count is None else count) + table + b"".join(stored)
    return MARK + hashlib.sha256(body).digest() + body


def array(shape, dtype="|u1", **more):
    return {"!": "array", "dtype": dtype, "shape": shape, "axes": [*range(len(shape))], "part": 0, **more}


@pytest.fixture
def small(monkeypatch):
    """Files may take 10 MB."""
    monkeypatch.setenv("MUTINY_LIMIT", "10MB")


@pytest.mark.parametrize(
    "sealed",
    [
        forged(array([64 * MEBI]), bytes(64 * MEBI)),
        forged({"!": "tensor", "dtype": "uint8", "shape": [64 * MEBI], "axes": [0], "part": 0}, bytes(64 * MEBI)),
        forged({"!": "bytes", "part": 0}, bytes(64 * MEBI)),
        forged([{"!": "bytes", "part": 0}] * 200, bytes(MEBI)),
        forged([array([6 * MEBI]), array([6 * MEBI], part=1)], bytes(6 * MEBI), bytes(6 * MEBI)),
        forged(text=b'"' + b"a" * 64 * MEBI + b'"'),
        forged(text=b"[" + b"[]," * MEBI + b"0]"),
        forged(array([1 << 40], "|S0")),
    ],
    ids="array tensor bytes copies sum text lists nothings".split(),
)
def test_what_takes_too_much_memory_is_refused_before_it_does(small, sealed):
    import tracemalloc

    assert len(sealed) < MEBI
    tracemalloc.start()
    try:
        with pytest.raises(StoreError, match=r"at most 10.0MB in memory, .*: --limit ") as caught:
            unseal(sealed, "a.mutiny", "outcome")
        assert tracemalloc.get_traced_memory()[1] < 12e6
    finally:
        tracemalloc.stop()
    assert not isinstance(caught.value, StoreDamaged)  # salvaging would not help


def test_what_takes_as_much_as_is_allowed_is_read(monkeypatch):
    sealed = seal(np.zeros(3 * MEBI, np.uint8), {})
    monkeypatch.setenv("MUTINY_LIMIT", "7MB")  # the bytes and their copy
    assert unseal(sealed)[1].nbytes == 3 * MEBI


@pytest.mark.parametrize(
    "sealed",
    [
        forged(array([3]), b"ab"),
        forged(array([2]), b"abc"),
        forged(array([-1]), b"a"),
        forged(array([2.0]), b"ab"),
        forged(array([True]), b"a"),
        forged(array([0, 1 << 62, 1 << 62])),
        forged({"!": "tensor", "dtype": "float32", "shape": [0, 1 << 61, 1 << 61], "axes": [0, 1, 2], "part": 0}),
        forged(array([1] * 60), b"a"),
        forged(array([1, 1], axes=[0, 0]), b"a"),
        forged(array([1], "<f4,<f4"), b"a"),
        forged(array([1], "(2,)|u1"), b"a"),
        forged(array([1], 5), b"a"),
        forged([{"!": "tensor", "dtype": "uint8", "shape": [n], "axes": [0], "part": 0} for n in (2, 3)], b"ab"),
        forged({"!": "set", "items": [[]]}),
        forged(text=b"[" * 900 + b"]" * 900),
        forged(text=b"[" * 500_000),
        forged(text=b"1" * 10_000),
        forged(text=b'"\xff"'),
        forged(1, count=0),
        forged(1, count=1),
        forged(1, count=(1 << 32) - 1),
        forged(1, packed_header=True),
        forged(1, header=[]),
        forged(1, header={**HEADER, "revision": "1"}),
        forged(1, header={**HEADER, "revision": 1 << 63}),
        forged(1, header={**HEADER, "campaign": "\ud800"}),
        forged(1, header={**HEADER, "seconds": -1.0}),
        forged(1, header={**HEADER, "seconds": True}),
    ],
    ids=lambda sealed: hashlib.sha256(sealed).hexdigest()[:6],
)
def test_what_mutiny_never_wrote_gets_a_sentence(sealed):
    for read in (unseal, header_of):
        try:
            read(sealed, "a.mutiny", "outcome")
        except StoreError:
            continue
        assert read is header_of  # the value is wrong, the header is not


def test_fields_of_records_have_their_types():
    def record(**fields):
        whole = {"low": 0.0, "high": 1.0, "level": 0.95, "method": "wilson"}
        return forged({"!": "record", "class": "mutiny.core.stats.intervals:Interval", "fields": {**whole, **fields}})

    assert unseal(record())[1] == Interval(0.0, 1.0, 0.95, "wilson")
    for fields in ({"low": "0"}, {"low": None}, {"method": 5}, {"high": [1.0]}, {"level": 10**400}):
        with pytest.raises(StoreError, match=r"Interval whose .* has another type"):
            unseal(record(**fields))


@pytest.fixture
def store(tmp_path):
    path = tmp_path / "a.mutiny"
    with SqliteStore(path) as made:
        made.open(Campaign("c1", "assess", "digits"))
        made.save("c1", JobResult(Job("probe", ("WI",), name="WI"), value=1, seconds=0.5))
        made.save("c1", JobResult(Job("probe", ("GF",), name="GF"), failure="it failed"))
        made.finish("c1", 1)
    return path


def test_a_campaign_whose_turn_is_no_number_is_damaged(store):
    odd = seal(Campaign("c1", "assess", "digits"), {"what": "campaign", "campaign": "c1", "turn": None})
    change(store, "UPDATE campaigns SET body = ?", odd)
    with SqliteStore(store, write=False) as opened, pytest.raises(StoreDamaged, match="campaign c1"):
        opened.campaigns()


@pytest.mark.parametrize("header", [{"revision": None}, {}], ids=["null", "missing"])
def test_a_campaign_without_a_revision_can_be_opened_again(store, header):
    campaign = Campaign("c1", "assess", "digits")
    change(store, "UPDATE campaigns SET body = ?", seal(campaign, {"what": "campaign", "campaign": "c1", **header}))
    change(store, "UPDATE outcomes SET body = ?", seal(1, {"what": "outcome", "campaign": "c1", **header}))
    with SqliteStore(store) as opened:
        opened.open(campaign)
        opened.finish("c1", 2)
        assert opened.campaigns() == [campaign]
        assert opened.outcome("c1") == 2


def change(path, statement, *values):
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement, values)


@pytest.mark.parametrize(
    "change_of",
    [
        "tasks SET name = x'00'",
        "tasks SET kind = x'ff'",
        "tasks SET id = 'ab'",
        "tasks SET id = x'ab'",
        "tasks SET seconds = 9e999",
        "tasks SET seconds = -1.0",
        "tasks SET seconds = x''",
        "failures SET reason = x'00'",
        "wanted SET attempts = 4611686018427387904",
        "wanted SET attempts = -1",
        "wanted SET attempts = x'00'",
        "campaigns SET most = x'00'",
        "campaigns SET most = -5",
        "campaigns SET id = x'6331'",
    ],
)
def test_columns_of_other_types_are_damage(store, change_of):
    where = "" if "tasks SET id" not in change_of else " WHERE number = 1"
    change(store, f"UPDATE {change_of}{where}")
    for write in (False, True):
        with pytest.raises(StoreDamaged, match="expected an intact table of"):
            SqliteStore(store, write=write)


CAMPAIGN = {"what": "campaign", "campaign": "c1", "revision": 1, "turn": 1}


@pytest.mark.parametrize(
    "value", [5, None, Campaign("other", "assess", "digits"), Interval(0.0, 1.0, 0.9, "")], ids=str
)
def test_a_campaign_that_is_another_value_is_damage_and_is_not_salvaged(store, value, tmp_path):
    change(store, "UPDATE campaigns SET body = ?", seal(value, CAMPAIGN))
    with SqliteStore(store, write=False) as opened, pytest.raises(StoreDamaged, match="expected an intact campaign c1"):
        opened.campaigns()
    saved = salvage(store, tmp_path / "b.mutiny")
    assert (saved.results, saved.campaigns) == (1, 0)


@pytest.mark.parametrize("missing", ["campaign", "task", "kind", "name", "basis", "seconds", "what"])
def test_results_without_what_names_them_are_not_salvaged(store, missing, tmp_path):
    with closing(sqlite3.connect(store)) as connection:
        (body,) = connection.execute("SELECT body FROM results").fetchone()
    header, value = unseal(body)
    del header[missing]
    change(store, "UPDATE results SET body = ?", seal(value, header))
    assert salvage(store, tmp_path / "b.mutiny").results == 0


@pytest.mark.parametrize("header", [b"[" * 60_000, b"{" * 60_000, b"1" * 60_000, b"[" + b"[]," * MEBI + b"0]"], ids=len)
def test_the_header_of_a_damaged_row_is_read_with_care(store, header, tmp_path):
    body = struct.pack("<BI", 1, 2) + struct.pack("<BQ", 0, len(header)) + struct.pack("<BQ", 0, 1) + header + b"1"
    change(store, "UPDATE results SET body = ?", MARK + bytes(32) + body)
    tracemalloc.start()
    assert salvage(store, tmp_path / "b.mutiny").results == 0
    assert tracemalloc.get_traced_memory()[1] < 40 * MEBI
    tracemalloc.stop()


def test_a_store_whose_campaigns_take_too_much_together_is_refused(store, small):
    change(store, "DELETE FROM outcomes")
    for number in range(4):
        campaign = Campaign(f"x{number}", "assess", "digits", refused="a" * MEBI)
        body = seal(campaign, {**CAMPAIGN, "campaign": campaign.id})
        change(store, "INSERT INTO campaigns (id, body) VALUES (?, ?)", campaign.id, body)
    with SqliteStore(store, write=False) as opened, pytest.raises(StoreError, match=r"at most 10.0MB in memory"):
        opened.campaigns()


def test_pages_that_many_rows_share_are_not_read_forever(tmp_path, monkeypatch):
    from mutiny.campaigns.stores import pages

    path = tmp_path / "a"
    page = bytearray(4096)
    page[0] = pages.LEAF
    start = 3000
    chain = 64
    size = 3500 + 4092 * chain
    cell = bytes([0x80 | size >> 14, 0x80 | size >> 7 & 127, size & 127, 1])
    for index in range(400):  # all of them go on at page 2
        at = start - 2 * index
        struct.pack_into(">H", page, 8 + 2 * index, at)
    struct.pack_into(">H", page, 3, 400)
    page[start : start + len(cell)] = cell
    path.write_bytes(
        bytes(page) + b"".join(struct.pack(">I", (at + 3) % (chain + 2)) + bytes(4092) for at in range(chain))
    )
    monkeypatch.setattr(pages, "WORK", 2)
    with pages.Pages(path) as opened:
        total = sum(len(record) for row in opened.cells() for record in opened.records(row))
    assert total < 4 * path.stat().st_size
