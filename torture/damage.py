"""(e) The file of a half-finished campaign is cut, or bytes of it change."""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from collections import Counter
from contextlib import closing
from pathlib import Path

from torture.disk import half_done, one_sentence
from torture.lab import Campaign, Lab
from torture.watching import attempts, check, note, results, rows

PAGE = 4096


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    draw, origin = random.Random(lab.seed), lab.campaign()
    kept = half_done(lab, origin)
    pristine = origin.store.read_bytes()
    owners = _owners(origin.store)
    ways = [flip, cut] if lab.quick else [flip, blank, cut, flip_results, flip, blank, cut, flip_results]
    met: Counter[str] = Counter()
    back = again = 0
    for way in ways:
        content = bytearray(pristine)
        hit = way(content, draw, owners)
        intact = sum(not pages & hit for pages in owners.values())
        campaign = lab.campaign()
        campaign.store.write_bytes(content)
        shutil.copytree(origin.folder / "cache", campaign.folder / "cache")
        outcome, count = _mended(campaign, intact, len(kept))
        campaign.check_equal(lab.undisturbed())
        begun = sum(kept.get(job) is not None and times > 0 for job, times in attempts(campaign.store).items())
        redone = max(0, begun - (len(kept) - count)) if outcome.startswith("salvaged") else 0
        met[outcome] += 1
        back, again = back + count, again + redone
        note(f"    {way.__name__}: {len(kept)} kept, {intact} untouched: {outcome}, {count} back, {redone} done again")
    told = ", ".join(f"{count} {outcome}" for outcome, count in met.items())
    kept_back = f"every untouched result came back ({back} in all, {again} done again for what lost ones need of them)"
    return len(ways), f"all equal in the end: {told}; {kept_back}"


def _mended(campaign: Campaign, intact: int, kept: int) -> tuple[str, int]:
    """Follows mutiny's advice; returns what happened and the number of recovered results."""
    damaged = campaign.store.read_bytes()
    code, text = campaign.resume().wait()
    if code == 0:
        return "harmless", 0
    check(campaign.store.read_bytes() == damaged, "something was done before the damage was noticed")
    check(code == 2 and one_sentence(text), f"damage: exit code {code}: {text[-400:]}")
    check("have changed since they were written" in text, f"not told as damage: {text}")
    check("--salvage" in text, f"not told how to mend it: {text}")
    code, text = campaign.resume("serial", "--salvage").wait()
    check(campaign.store.read_bytes() == damaged, "the damaged file was changed")
    found = re.search(r"mutiny: (\d+) results are intact and now in (\S+?)(; lost: .*)?$", text, re.MULTILINE)
    if found is None:
        check(intact == 0 and "Nothing can be salvaged" in text, f"{intact} are intact, but: {text[-300:]}")
        campaign.store.unlink()
        campaign.begin().succeed()
        return "nothing left", 0
    count = int(found[1])
    check(intact <= count <= kept, f"{count} results salvaged, {intact} of {kept} are untouched")
    campaign.store = campaign.folder / "a-salvaged.mutiny"
    check(len(results(campaign.store)) >= count, "fewer results in the new file than told")
    if code == 0:
        return "salvaged", count
    check("give the same command again with the new file" in " ".join(text.split()), f"{code}: {text[-400:]}")
    campaign.begin().succeed()
    rows_of_salvage = rows(campaign.store, "SELECT id FROM campaigns WHERE id = 'salvaged'")
    check(bool(rows_of_salvage), "orphaned results belong to no campaign")
    return "salvaged without its campaign", count


def _owners(store: Path) -> dict[str, set[int]]:
    """Pages of each result, from SQLite's table ``dbstat``."""
    with closing(sqlite3.connect(f"{store.as_uri()}?mode=ro&immutable=1", uri=True)) as connection:
        query = "SELECT path, pageno, pagetype, ncell FROM dbstat WHERE name = 'results'"
        told = connection.execute(query).fetchall()
        order = iter(
            connection.execute("SELECT hex(id) FROM results JOIN tasks ON task = number ORDER BY task").fetchall()
        )
    overflow: dict[str, set[int]] = {}
    for path, page, kind, _ in told:
        if kind == "overflow":
            overflow.setdefault(path.rpartition("+")[0], set()).add(page)
    leaves = sorted((path, page, cells) for path, page, kind, cells in told if kind == "leaf")
    return {
        next(order)[0]: {page, *overflow.get(f"{path}{cell:03x}", ())}
        for path, page, cells in leaves
        for cell in range(cells)
    }


Owners = dict[str, set[int]]


def flip(content: bytearray, draw: random.Random, _: Owners) -> set[int]:
    """Changes a few bytes anywhere."""
    places = [draw.randrange(len(content)) for _ in range(draw.choice([1, 3, 30]))]
    for place in places:
        content[place] ^= draw.randrange(1, 256)
    return {place // PAGE + 1 for place in places}


def flip_results(content: bytearray, draw: random.Random, owners: Owners) -> set[int]:
    """Changes a byte of two results."""
    pages = {draw.choice(sorted(owners[job])) for job in draw.sample(sorted(owners), 2)}
    for page in pages:
        content[(page - 1) * PAGE + draw.randrange(PAGE // 2, PAGE)] ^= draw.randrange(1, 256)
    return pages


def blank(content: bytearray, draw: random.Random, _: Owners) -> set[int]:
    """Fills pages with zeros, the first often among them."""
    pages = {draw.choice([1, draw.randrange(len(content) // PAGE) + 1]) for _ in range(draw.choice([1, 5]))}
    for page in pages:
        content[(page - 1) * PAGE : page * PAGE] = bytes(PAGE)
    return pages


def cut(content: bytearray, draw: random.Random, _: Owners) -> set[int]:
    """Removes the end."""
    length = draw.randrange(PAGE, len(content))
    pages = set(range(length // PAGE + 1, len(content) // PAGE + 1))
    del content[length:]
    return pages
