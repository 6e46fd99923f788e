"""``mutiny report -o``: campaign files and JSON results as one page, as a user sees it."""

import json
import re
import shutil
import sqlite3
from pathlib import Path

import pytest

from mutiny.cli.command import COMMANDS
from mutiny.cli.demo import write_page
from mutiny.cli.stored_command import OUTPUT_OPTIONS, command_line
from reports.page.handmade import rated, without_spans

SUBJECT = """
subject = mutiny.Subject([classifier(seed) for seed in range(5)], task=mutiny.Classification(3), train=blobs(),
                         test=blobs(120, seed=1), name="blobs<b>")
"""
QUICK = ("--operators", "NEB,AFR", "--max-probes", "3", "--k-max", "2", "--batch-size", "128", "-q")


def assessed(run, write, folder):
    ran = run(
        "assess",
        "--method",
        "muff",
        write(SUBJECT),
        *QUICK,
        "--store",
        folder / "x.mutiny",
        "--json",
        folder / "x.json",
    )
    assert ran.code == 0, ran
    return folder / "x.mutiny", folder / "x.json"


@pytest.fixture
def kept(run, write, tmp_path, tmp_path_factory):
    """A campaign file and the JSON of the same result, of which every test has copies."""
    folder = tmp_path_factory.getbasetemp() / "kept"
    if not folder.is_dir():
        folder.mkdir()
        assessed(run, write, folder)
    return [Path(shutil.copy(folder / name, tmp_path)) for name in ("x.mutiny", "x.json")]


def test_a_store_becomes_a_page(run, write, tmp_path):
    store, _ = assessed(run, write, tmp_path)
    (tmp_path / "mine.py").unlink()  # nothing but the file is needed
    ran = run("report", store, "-o", tmp_path / "page.html")
    assert (ran.code, ran.err) == (0, "")
    assert "The report is in" in ran.out
    assert ran.out.count("\n") == 1
    text = without_spans(tmp_path / "page.html")
    assert "<h1>blobs&lt;b&gt;</h1>" in text
    assert 'id="chart-matrix"' in text
    subject = f"{tmp_path}/mine.py:subject"
    assert f"<code>mutiny assess {subject} --operators NEB,AFR --method muff" in text
    assert f"<code>mutiny locate {subject} --store {store}</code>" in text
    assert not list(tmp_path.glob(".*part"))


def test_one_file_one_page(run, kept, tmp_path):
    for name in ("a.html", "b.html"):
        assert run("report", kept[0], "-o", tmp_path / name).code == 0
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_json_becomes_a_page_and_says_what_it_lacks(run, kept, tmp_path):
    ran = run("report", kept[1], "-o", tmp_path / "page.html")
    assert ran.code == 0
    text = without_spans(tmp_path / "page.html")
    assert "a JSON result has no kill bits" in text
    assert 'id="chart-matrix"' not in text
    muff = "mutiny assess FILE.py:NAME --method muff"
    assert f"{muff} --operators NEB,AFR --originals 5 --seed 0 --k-max 2 --max-probes 3" in text


def test_json_is_shown_on_a_terminal(run, kept):
    ran = run("report", kept[1])
    assert ran.code == 0
    assert ran.out == run("report", kept[0]).out
    assert max(map(len, ran.out.splitlines())) <= 80


def test_several_sources_are_one_page(run, kept, write, tmp_path):
    ran = run("select", write(SUBJECT), "-q", "--no-store", "--json", tmp_path / "select.json", "--budget", "10")
    assert ran.code == 0, ran
    ran = run("report", kept[0], tmp_path / "select.json", "--out", tmp_path / "page.html")
    assert ran.code == 0, ran
    text = (tmp_path / "page.html").read_text()
    sections = re.findall(r'<section id="(\w+)"', text)
    assert sections == ["score", "survivors", "tests", "advice", "selection", "method"]
    both = run("report", kept[0], tmp_path / "select.json")
    assert both.code == 0
    assert "NEB" in both.out
    assert "budget: 10" in both.out


def test_subjects_are_not_mixed(run, kept, tmp_path):
    other = json.loads(kept[1].read_text())
    other["subject"]["name"] = "another"
    other["verb"] = "assess"
    (tmp_path / "other.json").write_text(json.dumps(other))
    select = {
        **{"schema": 1, "verb": "select", "settings": {}, "versions": {}, "references": {}, "skipped": {}, "notes": []},
        "subject": {
            **{"name": "third", "model": "M", "originals": 1, "pool": {"inputs": 1}},
            "task": {"kind": "classification", "metric": "accuracy"},
        },
        "methods": [{"method": "m", "title": "M", "order": [0], "scores": [1.0]}],
        "budget": 1,
    }
    (tmp_path / "select.json").write_text(json.dumps(select))
    ran = run("report", tmp_path / "other.json", tmp_path / "select.json", "-o", tmp_path / "page.html")
    assert ran.code == 2
    assert "expected results of one subject, here another; it has third" in ran.err
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b'{"schema": 1, "verb": "assess"}', "It has no subject."),
        (b"{", "cannot be read"),
        (b"{\xff}", "cannot be read"),
        (b"", "mutiny"),
        (b"precious", "expected"),
        (b"\x89PNG", "expected"),
    ],
)
def test_a_file_that_is_something_else(run, tmp_path, content, told):
    (tmp_path / "a").write_bytes(content)
    for more in ((), ("-o", tmp_path / "page.html")):
        ran = run("report", tmp_path / "a", *more)
        assert ran.code == 2
        assert ran.err.startswith("mutiny: ")
        assert ran.err.count("\n") == 1
        assert told in ran.err
        assert not (tmp_path / "page.html").exists()


def test_places_that_cannot_be_written(run, kept, tmp_path):
    before = kept[0].read_bytes()
    for out, told in (
        (kept[0], "another file than those it is made from"),
        (tmp_path / "none" / "a.html", "existing folder"),
        (tmp_path, "existing folder"),
    ):
        ran = run("report", kept[0], "-o", out)
        assert ran.code == 2
        assert told in ran.err
    assert kept[0].read_bytes() == before


def test_json_of_json_is_refused(run, kept, tmp_path):
    ran = run("report", kept[1], "--json", tmp_path / "y.json")
    assert ran.code == 2
    assert "single campaign file" in ran.err


def test_page_and_json_at_once(run, kept, tmp_path):
    ran = run("report", kept[0], "--json", tmp_path / "y.json", "-o", tmp_path / "page.html")
    assert ran.code == 0
    assert (tmp_path / "y.json").read_text() == kept[1].read_text()
    same = run("report", kept[0], "--json", tmp_path / "z", "-o", tmp_path / "z")
    assert same.code == 2


def test_an_old_store_without_labels_is_still_read(run, kept, tmp_path):
    """As versions before the HTML report wrote it."""
    from mutiny.campaigns.stores.decoding import Decoder
    from mutiny.campaigns.stores.encoding import Encoder
    from mutiny.campaigns.stores.sealed_part import SealedPart
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.limits import Allowance

    with SqliteStore(kept[0], write=False) as store:
        (campaign,) = store.campaigns()
        result = store.outcome(campaign.id)
    assert result.labels.tolist() == [n % 3 for n in range(120)]
    assert result.labels.dtype.itemsize == 1
    encoder = Encoder()
    told = encoder.encode(result)
    del told["fields"]["labels"]
    allowance = Allowance("store", "", 0)
    parts = [SealedPart(memoryview(part), False, allowance) for part in encoder.parts]
    old = Decoder(parts, allowance).decode(told)
    assert old.labels is None
    assert old.to_json() == result.to_json()
    with SqliteStore(tmp_path / "old.mutiny") as store:
        store.open(campaign)
        store.finish(campaign.id, old)
    assert run("report", tmp_path / "old.mutiny", "-o", tmp_path / "page.html").code == 0
    assert "older version of mutiny" in (tmp_path / "page.html").read_text()


def test_an_unfinished_campaign_says_how_to_go_on(run, tmp_path):
    from mutiny.campaigns.stores.base import Campaign
    from mutiny.campaigns.stores.sqlite import SqliteStore

    with SqliteStore(tmp_path / "x.mutiny") as store:
        store.open(Campaign("1", "assess", "blobs"))
    ran = run("report", tmp_path / "x.mutiny", "-o", tmp_path / "page.html")
    assert ran.code == 2
    assert "mutiny resume" in ran.err


def test_a_foreign_database_is_refused(run, tmp_path):
    connection = sqlite3.connect(tmp_path / "a.db")
    connection.execute("CREATE TABLE t (x)")
    connection.close()
    ran = run("report", tmp_path / "a.db", "-o", tmp_path / "page.html")
    assert ran.code == 2


@pytest.mark.parametrize("verb", COMMANDS)
def test_a_command_line_means_the_same_again(verb, monkeypatch):
    """What is left out is as usual: parsed again, every argument has its value."""
    import shlex

    from typer.main import get_command

    from mutiny.cli.app import app

    monkeypatch.delenv("MUTINY_DATA", raising=False)
    usual = {n: p.default for n, p in COMMANDS[verb].parameters.items() if n not in OUTPUT_OPTIONS}
    given = {**usual, "subject": "a b.py:subject", "seed": 3, "batch_size": 7, "data": {"path": "/data of mine"}}
    numbers = {n: v + 1 for n, v in usual.items() if isinstance(v, int) and not isinstance(v, bool) and n != "seed"}
    given |= numbers | {n: True for n, v in usual.items() if v is False}
    line = command_line({"verb": verb, "arguments": given})
    context = get_command(app).commands[verb].make_context(verb, shlex.split(line)[2:])
    for name, value in given.items():
        wanted = value["path"] if isinstance(value, dict) else value
        assert str(context.params[name]) == str(() if name == "judge" else wanted), name  # repeated, so never None


def test_no_command_line_writes_files():
    """A command that is copied from a page replaces nothing."""
    options = [option for verb in COMMANDS.values() for option in verb.parameters.values()]
    files = {option.name for option in options if option.annotation.__origin__ == Path | None}
    assert files - {"data"} <= OUTPUT_OPTIONS


def test_the_demo_writes_its_page(tmp_path, monkeypatch):
    result = rated({"GF": [(0.6, False), (5.0, True)]}, name="digits")
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert write_page(result, "mutiny demo --seed 5").endswith(": mutiny-report.html")
    text = without_spans(tmp_path / "here" / "mutiny-report.html")
    assert "<code>mutiny demo --seed 5</code>" in text
    assert "Your 449 tests notice 50%" in text
    assert "<code>mutiny strengthen digits" in text
    (tmp_path / "here" / "mutiny-report.html").unlink()
    (tmp_path / "here" / "mutiny-report.html").mkdir()
    (tmp_path / "here" / "mutiny-report.html" / "full").write_text("")
    assert "was not written: " in write_page(result, "x")


def test_help_names_the_options(run):
    assert "--no-report" in run("demo", "--help").out
    assert "--out" in run("report", "--help").out
