"""Damaged stores: damage is noticed, results are never wrong, and everything on intact pages is recovered."""

import random
import shutil
import sqlite3
from contextlib import closing
from functools import cache

import numpy as np
import pytest

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores.base import Campaign, Kept
from mutiny.campaigns.stores.pages import Pages, columns, varint
from mutiny.campaigns.stores.salvage import ORPHANS, salvage
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreDamaged, StoreError

PAGE = 4096
COUNT = 120
CAMPAIGN = Campaign("c1", "assess", "digits", {"seed": 3})


def seeds(quick, most):
    """Seeds of which only the first run in `make test`, and all in `make torture`."""
    return [*range(quick), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(quick, most))]


def job(i):
    return Job("probe", (i,), name=f"job {i}")


@cache
def value(i):
    """Random bytes of 10 to 200,000, and their number."""
    size = int(10 ** (1 + (i * 37 % COUNT) / COUNT * 4.3))
    return (i, np.random.default_rng(i).bytes(size) if i % 2 else np.random.default_rng(i).random(size // 8 + 1))


def same(one, other):
    return repr(type(one)) == repr(type(other)) and one[0] == other[0] and bytes(one[1]) == bytes(other[1])


def fill(store, numbers=range(COUNT)):
    store.open(CAMPAIGN, most=500)
    for i in numbers:
        store.begin("c1", job(i))
        store.save("c1", JobResult(job(i), value(i), seconds=0.25))


@pytest.fixture(scope="module")
def pristine(tmp_path_factory):
    path = tmp_path_factory.mktemp("pristine") / "store"
    with SqliteStore(path) as store:
        fill(store)
    return path


@pytest.fixture(scope="module")
def owners(pristine):
    """Pages of each result, from SQLite's table ``dbstat``."""
    with closing(sqlite3.connect(pristine)) as connection:
        try:
            rows = connection.execute(
                "SELECT path, pageno, pagetype, ncell FROM dbstat WHERE name = 'results'"
            ).fetchall()
        except sqlite3.OperationalError:
            pytest.skip("this SQLite has no dbstat")
        jobs = [t for (t,) in connection.execute("SELECT task FROM results ORDER BY task")]
        ids = dict(connection.execute("SELECT number, id FROM tasks"))
    leaves = sorted((path, page, cells) for path, page, kind, cells in rows if kind == "leaf")
    overflow = {}
    for path, page, kind, _ in rows:
        if kind == "overflow":
            overflow.setdefault(path.rpartition("+")[0], []).append(page)
    found, order = {}, iter(jobs)
    for path, page, cells in leaves:
        for cell in range(cells):
            found[ids[next(order)]] = {page, *overflow.get(f"{path}{cell:03x}", [])}
    assert set.union(*found.values()) == {page for _, page, kind, _ in rows if kind != "internal"}
    return {i: found[bytes.fromhex(job(i).id)] for i in range(COUNT)}


def campaign_page(path):
    with closing(sqlite3.connect(path)) as connection:
        return {page for (page,) in connection.execute("SELECT pageno FROM dbstat WHERE name = 'campaigns'")}


def flip(content, draw):
    """A few changed bytes."""
    places = [draw.randrange(len(content)) for _ in range(draw.choice([1, 3, 30]))]
    for place in places:
        content[place] ^= draw.randrange(1, 256)
    return {place // PAGE + 1 for place in places}


def scramble(content, draw):
    """Some kilobytes of random bytes."""
    start, length = draw.randrange(len(content)), draw.choice([100, 4096, 50_000])
    end = min(start + length, len(content))
    content[start:end] = draw.randbytes(end - start)
    return set(range(start // PAGE + 1, (end - 1) // PAGE + 2))


def blank(content, draw):
    """Pages of zeros, the first one often among them."""
    pages = {draw.choice([1, draw.randrange(len(content) // PAGE) + 1]) for _ in range(draw.choice([1, 5, 50]))}
    for page in pages:
        content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    return pages


def cut(content, draw):
    """A truncated file."""
    length = draw.randrange(1, len(content))
    pages = set(range(length // PAGE + 1, len(content) // PAGE + 1))
    del content[length:]
    return pages


@pytest.mark.parametrize("seed", seeds(3, 8))
@pytest.mark.parametrize("damage", [flip, scramble, blank, cut], ids=lambda f: f.__name__)
def test_all_that_lies_on_intact_pages_comes_back(damage, seed, pristine, owners, tmp_path):
    draw = random.Random(f"{damage.__name__} {seed}")
    content = bytearray(pristine.read_bytes())
    hit = damage(content, draw)
    broken = tmp_path / "broken"
    broken.write_bytes(content)
    intact = {i for i in range(COUNT) if not owners[i] & hit}
    if not intact:
        return
    told = salvage(broken, tmp_path / "new")
    assert broken.read_bytes() == content
    with SqliteStore(tmp_path / "new") as store:
        back = {i for i in range(COUNT) if store.load(job(i)) is not None}
        assert back >= intact
        assert all(same(store.load(job(i)).value, value(i)) for i in back)
        assert told.results == len(back)
        assert set(told.lost) <= {f"job {i}" for i in range(COUNT) if i not in back}
        if not campaign_page(pristine) & hit:
            assert store.campaigns() == [CAMPAIGN]
            assert store.tally("c1").done == {"probe": len(back)}
            assert store.tally("c1").seconds == {"probe": 0.25 * len(back)}
            assert store.tally("c1").most == 500
    notice(broken)


def notice(broken):
    """A reader never gets a wrong result; damage is reported with its fix, to a writer as soon as it opens the file."""
    told, content = [], broken.read_bytes()
    try:
        with SqliteStore(broken, write=False) as store:
            for i in range(COUNT):
                kept = loaded(store, i, told)
                assert kept is None or same(kept.value, value(i))
    except StoreError as error:
        told.append(str(error))
    try:
        with SqliteStore(broken) as store:
            assert all(same(store.load(job(i)).value, value(i)) for i in range(COUNT))
            assert not told
    except StoreError as error:
        told.append(str(error))
        assert broken.read_bytes() == content
    assert all("--salvage" in sentence or "version" in sentence for sentence in told)


def loaded(store, i, told):
    try:
        return store.load(job(i))
    except StoreDamaged as error:
        told.append(str(error))
        return None


def test_damage_in_a_result_is_told_by_its_name(pristine, owners, tmp_path):
    content = bytearray(pristine.read_bytes())
    victim = max(owners, key=lambda i: len(owners[i]))
    page = max(owners[victim])
    content[page * PAGE - 9] ^= 1
    (tmp_path / "broken").write_bytes(content)
    with (
        SqliteStore(tmp_path / "broken", write=False) as store,
        pytest.raises(StoreDamaged, match=f"intact result of job {victim}, .* --salvage"),
    ):
        store.load(job(victim))
    told = salvage(tmp_path / "broken", tmp_path / "new")
    assert (told.results, told.campaigns, told.lost, told.notes) == (COUNT - 1, 1, (f"job {victim}",), ())


def test_a_result_that_is_gone_is_noticed(pristine, tmp_path):
    shutil.copyfile(pristine, tmp_path / "broken")
    with closing(sqlite3.connect(tmp_path / "broken")) as other:
        other.execute("DELETE FROM results WHERE task = 7")
        other.commit()
    with pytest.raises(StoreDamaged, match=r"intact result of job 6, .* --salvage"):
        SqliteStore(tmp_path / "broken")


@pytest.mark.parametrize("seed", seeds(12, 60))
def test_a_flipped_bit_on_the_first_page_is_damage_and_costs_nothing(seed, pristine, tmp_path):
    """The first page holds the list of tables: SQLite's message may not be valid text, and columns may be swapped."""
    draw, content = random.Random(seed), bytearray(pristine.read_bytes())
    start = content[:PAGE].index(b"CREATE TABLE") if seed % 6 else 0
    content[draw.randrange(start, PAGE)] ^= 1 << draw.choice([7, 4, draw.randrange(8)])
    broken = tmp_path / "broken"
    broken.write_bytes(content)
    notice(broken)
    assert salvage(broken, tmp_path / "new").results == COUNT


def test_damaged_outcomes_are_noticed_when_a_writer_opens(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        store.open(CAMPAIGN)
        store.finish("c1", noise := np.random.default_rng(0).bytes(9_000))
    content = bytearray((tmp_path / "store").read_bytes())
    content[content.index(noise[-20:])] ^= 1
    (tmp_path / "store").write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"intact outcome of c1, .* --salvage"):
        SqliteStore(tmp_path / "store")


def test_a_column_that_became_a_number_is_damage(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        fill(store, range(3))
    for number in (9, 2.5, "text"):
        with closing(sqlite3.connect(tmp_path / "store")) as other:
            other.execute("UPDATE results SET body = ? WHERE task = 2", (number,))
            other.commit()
        with pytest.raises(StoreDamaged, match="intact result of job 1"):
            SqliteStore(tmp_path / "store")


def test_a_place_that_cannot_be_written_gets_a_sentence(pristine, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("pathlib.Path.replace", refuse)
    with pytest.raises(StoreError, match=r"Read-only file system.*salvage it there"):
        salvage(pristine, tmp_path / "new")
    assert not list(tmp_path.iterdir())


def test_damaged_scratch_is_noticed_before_anything_is_done(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        store.open(CAMPAIGN)
        store.save("c1", JobResult(job(0), WithScratch(1, noise := np.random.default_rng(0).bytes(9_000))))
    content = bytearray((tmp_path / "store").read_bytes())
    content[content.index(noise[-20:])] ^= 1
    (tmp_path / "store").write_bytes(content)
    with pytest.raises(StoreDamaged, match=r"intact scratch of job 0, .* --salvage"):
        SqliteStore(tmp_path / "store")


def test_an_intact_store_comes_back_whole(pristine, tmp_path):
    told = salvage(pristine, tmp_path / "new")
    assert (told.results, told.campaigns, told.lost, told.notes) == (COUNT, 1, (), ())


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """A store as a killed process leaves it: the last results are only in the log; with scratch and outcomes."""
    folder = tmp_path_factory.mktemp("killed")
    with SqliteStore(folder / "store") as store:
        fill(store, range(100))
    store = SqliteStore(folder / "store")
    store._connection.execute("PRAGMA wal_autocheckpoint = 0")
    for i in range(100, 160):
        store.save("c1", JobResult(job(i), WithScratch(value(i), [i]), seconds=0.25))
    store.forget([job(159)])
    store.open(Campaign("c2", "select", "digits"))
    store.finish("c2", "first")
    store.finish("c2", {"order": [1, 2]})
    (folder / "copy").mkdir()
    for name in ("store", "store-wal"):
        shutil.copyfile(folder / name, folder / "copy" / name)
    store.close()
    return folder / "copy" / "store"


def copied(path, folder):
    for name in ("store", "store-wal"):
        shutil.copyfile(path.with_name(name), folder / name)
    return folder / "store"


def test_the_log_counts(killed, tmp_path):
    told = salvage(copied(killed, tmp_path), tmp_path / "new")
    assert (told.results, told.campaigns, told.lost, told.notes) == (160, 2, (), ())
    with SqliteStore(tmp_path / "new") as store:
        assert [c.id for c in store.campaigns()] == ["c1", "c2"]
        assert store.outcome("c2") == {"order": [1, 2]}
        assert store.load(job(120)).scratch == [120]
        assert all(same(store.load(job(i)).value, value(i)) for i in range(160))


@pytest.mark.parametrize("seed", seeds(6, 15))
def test_damage_in_the_log_costs_only_what_it_hit(seed, killed, tmp_path):
    draw = random.Random(seed)
    path = copied(killed, tmp_path)
    log = path.with_name("store-wal")
    content = bytearray(log.read_bytes())
    start = draw.choice([0, draw.randrange(len(content))])
    length = draw.choice([1, 30, 5000])
    content[start : start + length] = draw.randbytes(len(content[start : start + length]))
    if seed % 5 == 4:
        del content[start:]
    log.write_bytes(content)
    told = salvage(path, tmp_path / "new")
    with SqliteStore(tmp_path / "new") as store:
        back = {i for i in range(160) if store.load(job(i)) is not None}
        assert back >= set(range(100))
        assert all(same(store.load(job(i)).value, value(i)) for i in back)
        assert told.results == len(back)
    if seed % 5 != 4:
        assert len(back) > 100 + (60 if length < 5000 else 40) - 15  # a page holds a dozen small results


def test_a_log_that_began_again_has_old_pages_at_its_end(tmp_path):
    """The log begins newer than the file and ends older; everything saved is recovered at any moment."""
    (tmp_path / "live").mkdir()
    draw, count = random.Random(0), 0
    with SqliteStore(tmp_path / "live" / "store") as store:
        store._connection.execute("PRAGMA wal_autocheckpoint = 100")
        store.open(CAMPAIGN)
        for moment in range(15):
            for _ in range(draw.randrange(3, 25)):
                store.save(
                    "c1", JobResult(job(count), WithScratch((count, draw.randbytes(count)), draw.randbytes(3000)))
                )
                store.forget([job(draw.randrange(count + 1))])
                count += 1
            (tmp_path / str(moment)).mkdir()
            path = copied(tmp_path / "live" / "store", tmp_path / str(moment))
            told = salvage(path, tmp_path / f"new {moment}")
            assert (told.results, told.lost, told.notes) == (count, (), ())


def test_results_without_their_campaign_are_found_by_the_same_command(pristine, tmp_path):
    content = bytearray(pristine.read_bytes())
    for page in campaign_page(pristine):
        content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    (tmp_path / "broken").write_bytes(content)
    told = salvage(tmp_path / "broken", tmp_path / "new")
    assert (told.results, told.campaigns) == (COUNT, 0)
    assert "give the same command again" in told.notes[0]
    with SqliteStore(tmp_path / "new") as store:
        assert store.campaigns() == [ORPHANS]
        assert store.tally(ORPHANS.id).finished  # nobody can go on with it
        store.open(CAMPAIGN)
        store.want("c1", [job(1)])
        assert store.tally("c1").done == {"probe": 1}


def test_old_versions_of_a_record_do_not_win(tmp_path):
    """Free pages still hold old versions of rows, before or behind the pages with the current ones."""
    versions = []
    for number in range(3):
        with SqliteStore(tmp_path / "store") as store:
            store.open(Campaign("c1", "assess", "digits", command={"number": number}), number)
            store.finish("c1", number)
        versions.append((tmp_path / "store").read_bytes())
    for order in ([0, 1, 2], [2, 1, 0], [1, 2, 0]):
        broken = tmp_path / f"broken {order}"
        broken.write_bytes(b"".join(versions[number] for number in order))
        salvage(broken, tmp_path / f"new {order}")
        with SqliteStore(tmp_path / f"new {order}") as store:
            assert store.campaigns()[0].command == {"number": 2}
            assert (store.outcome("c1"), store.tally("c1").most) == (2, 2)


def in_the_log(folder):
    """A store whose log is never merged, and a function that copies both."""
    (folder / "live").mkdir()
    store = SqliteStore(folder / "live" / "store")
    store._connection.execute("PRAGMA wal_autocheckpoint = 0")
    store.open(CAMPAIGN)
    return store, lambda: copied(folder / "live" / "store", folder)


def test_scratch_of_finished_campaigns_is_not_brought_back(tmp_path):
    store, copy = in_the_log(tmp_path)
    with store:
        store.save("c1", JobResult(job(1), WithScratch(1, "notes")))
        store.forget([job(1)])
        store.finish("c1", 1)
        copy()
    salvage(tmp_path / "store", tmp_path / "new")
    with SqliteStore(tmp_path / "new") as store:
        assert store.load(job(1)) == Kept(1, forgotten=True)


def test_results_without_their_scratch_are_kept_whatever_else_is_lost(tmp_path):
    with SqliteStore(tmp_path / "store") as store:
        store.open(CAMPAIGN)
        for i in range(9):
            store.save("c1", JobResult(job(i), WithScratch((i, noise := np.random.default_rng(i).bytes(9_000)), [i])))
        store.forget([job(i) for i in range(0, 9, 2)])
    content = bytearray((tmp_path / "store").read_bytes())
    content[content.index(noise[-20:])] ^= 1
    (tmp_path / "store").write_bytes(content)
    told = salvage(tmp_path / "store", tmp_path / "new")
    assert (told.results, told.lost, told.notes) == (8, ("job 8",), ())
    with SqliteStore(tmp_path / "new") as store:
        kept = [store.load(job(i)) for i in range(8)]
    assert [(one.value[0], one.scratch, one.forgotten) for one in kept] == [
        (i, [i] if i % 2 else None, i % 2 == 0) for i in range(8)
    ]


def test_what_the_file_has_makes_up_for_a_damaged_log(tmp_path):
    store, copy = in_the_log(tmp_path)
    with store:
        fill(store, range(60))
        store._connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
        copy()
    content = bytearray((tmp_path / "store-wal").read_bytes())
    for place in range(32, len(content), PAGE + 24):
        content[place + 24 + 100 : place + 24 + 200] = bytes(100)  # in each page, whatever it is
    (tmp_path / "store-wal").write_bytes(content)
    assert salvage(tmp_path / "store", tmp_path / "new").results == 60


def test_older_pages_make_up_for_newer_ones(tmp_path):
    """Each result is saved twice, the second time over the pages of the first; then the second pages are lost."""
    store, copy = in_the_log(tmp_path)
    log = tmp_path / "live" / "store-wal"
    with store:
        fill(store, range(60))
        first = log.stat().st_size
        for i in range(60):
            store.save("c1", JobResult(job(i), value(i)))
        copy()
    content = bytearray((tmp_path / "store-wal").read_bytes())
    for place in range(first, len(content), PAGE + 24):
        content[place + 24 : place + 24 + PAGE] = bytes(PAGE)
    (tmp_path / "store-wal").write_bytes(content)
    told = salvage(tmp_path / "store", tmp_path / "new")
    with SqliteStore(tmp_path / "new") as store:
        assert told.results == 60
        assert all(same(store.load(job(i)).value, value(i)) for i in range(60))


def test_damage_where_nothing_is_sealed_is_noticed_at_once(tmp_path):
    with SqliteStore(tmp_path / "store") as store:  # tables and indices of several pages
        store.open(CAMPAIGN)
        for i in range(400):
            store.begin("c1", job(i))
            store.save("c1", JobResult(job(i), i))
    with closing(sqlite3.connect(tmp_path / "store")) as connection:
        pages = connection.execute(
            "SELECT name, pageno FROM dbstat WHERE name LIKE '%tasks%' OR name IN ('campaigns', 'wanted', 'failures')"
        ).fetchall()
    assert len(pages) > 10
    for _, page in pages:
        content = bytearray((tmp_path / "store").read_bytes())
        content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
        (tmp_path / "broken").write_bytes(content)
        for write in (True, False):
            with pytest.raises(StoreDamaged, match="--salvage"):
                SqliteStore(tmp_path / "broken", write=write)


def test_cycles_and_absurd_sizes_end(pristine, owners, tmp_path):
    content = bytearray(pristine.read_bytes())
    draw = random.Random(0)
    for page in {page for pages in owners.values() for page in pages}:
        if draw.random() < 0.5:  # links of pages to each other, also to themselves
            content[(page - 1) * PAGE : (page - 1) * PAGE + 4] = draw.choice([page, 2, 7, 1 << 31]).to_bytes(4, "big")
    (tmp_path / "broken").write_bytes(content)
    told = salvage(tmp_path / "broken", tmp_path / "new")
    assert 0 < told.results < COUNT


def test_refusals(pristine, tmp_path):
    (tmp_path / "text").write_text("hello " * 5000)
    (tmp_path / "empty").write_bytes(b"")
    for name in ("text", "empty"):
        with pytest.raises(StoreError, match="Nothing can be salvaged"):
            salvage(tmp_path / name, tmp_path / "new")
        assert not (tmp_path / "new").exists()
    with pytest.raises(StoreError, match="does not exist yet"):
        salvage(pristine, tmp_path / "text")
    with pytest.raises(StoreError, match="expected a file"):
        salvage(tmp_path / "nosuch", tmp_path / "new")


def test_a_salvage_that_was_killed_is_begun_again(pristine, tmp_path):
    (tmp_path / ".mutiny-left").mkdir()
    assert salvage(pristine, tmp_path / "new").results == COUNT
    assert {path.name for path in tmp_path.iterdir()} == {".mutiny-left", "new"}


def test_columns_are_those_of_sqlite(tmp_path):
    """Records as mutiny reads them, against SQLite."""
    path, draw = tmp_path / "any", random.Random(1)
    rows = [
        (
            i,
            draw.choice([None, 0, 1, -5, 300, 1 << 40, -(1 << 62), 1.5]),
            draw.randbytes(draw.choice([0, 5, 600, 9000])),
        )
        for i in range(1, 200)
    ]
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, a, b BLOB)")
        connection.executemany("INSERT INTO t VALUES (?, ?, ?)", rows)
        connection.commit()
        size = connection.execute("PRAGMA page_size").fetchone()[0]
    found = {}
    with Pages(path, size) as pages:
        for cell in pages.cells():
            record = next(pages.records(cell))
            told = columns(record)
            if len(told) == 3:
                _, place, length = told[2]
                found[cell.number] = record[place : place + length]
    assert found == {number: b for number, _, b in rows}


def test_a_page_that_follows_itself(tmp_path):
    with closing(sqlite3.connect(tmp_path / "any")) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("CREATE TABLE t (number INTEGER PRIMARY KEY, b BLOB)")
        connection.execute("INSERT INTO t VALUES (1, ?)", (bytes(100_000),))
        connection.commit()
    with Pages(tmp_path / "any") as pages:
        cell = next(cell for cell in pages.cells() if cell.follows)
        assert len(next(pages.records(cell))) == cell.size > 100_000
    content = bytearray((tmp_path / "any").read_bytes())
    content[(cell.follows - 1) * PAGE : (cell.follows - 1) * PAGE + 4] = cell.follows.to_bytes(4, "big")
    (tmp_path / "any").write_bytes(content)
    with Pages(tmp_path / "any") as pages:
        assert list(pages.records(cell)) == []


@pytest.mark.parametrize("number", [0, 127, 128, 16383, 16384, (1 << 56) - 1, 1 << 56, (1 << 64) - 1])
def test_varint(number):
    if number < 1 << 56:
        digits = [number >> 7 * i & 0x7F for i in range(max(1, -(-number.bit_length() // 7)))]
        coded = bytes([d | 0x80 for d in digits[:0:-1]] + digits[:1])
    else:
        coded = bytes([number >> 8 >> 7 * i & 0x7F | 0x80 for i in range(7, -1, -1)] + [number & 0xFF])
    assert varint(b"x" + coded + b"y", 1) == (number, 1 + len(coded))
