"""One store, several networks or test sets of one name: a page is about one of them."""

import json
import shutil
from dataclasses import fields
from pathlib import Path

import pytest

from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.decoding import Decoder
from mutiny.campaigns.stores.encoding import Encoder
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.limits import Allowance

SUBJECT = """
import dataclasses
from verbs.strengthen.tables import weak_subject
from toys import blobs, classifier

subject = weak_subject(1)
other = weak_subject(1, models=[classifier(7)], test=blobs(30, seed=9))
fewer = weak_subject(1, test=blobs(30, seed=9))
"""
QUICK = ("--operators", "NEB", "-q", "--store", "one.mutiny")


@pytest.fixture(scope="module")
def begun(tmp_path_factory):
    """Folder for the store of the first test that strengthens a subject."""
    return tmp_path_factory.mktemp("begun")


@pytest.fixture
def page(run, write, tmp_path, begun):
    """Strengthens one subject, assesses another, and reports: what is printed, and the page."""

    def made(later):
        first = write(SUBJECT)
        if not (begun / "one.mutiny").exists():
            assert run("assess", "--method", "muff", first, *QUICK).code == 0
            small = ("--minimize", "--seeds", "1", "--budget", "3")
            assert run("strengthen", first, *QUICK, *small).code == 0
            assert run("select", first, "-q", "--store", "one.mutiny").code == 0
            shutil.copy("one.mutiny", begun)
        shutil.copy(begun / "one.mutiny", Path())
        assert run("assess", "--method", "muff", first.replace(":subject", f":{later}"), *QUICK).code == 0
        ran = run("report", "one.mutiny", "-o", tmp_path / "page.html")
        assert ran.code == 0, ran.err
        return ran, (tmp_path / "page.html").read_text()

    return made


def test_results_of_another_network_are_left_out(page):
    ran, text = page("other")
    for verb, section in (("strengthen", "strengthen"), ("select", "selection")):
        told = f"The result of {verb} is left out: it is of another network than that of assess."
        assert told in " ".join(ran.out.split())
        assert told in text
        assert f'<section id="{section}"' not in text
    assert "test 30" in text
    assert "of 60 (" not in text


def test_strengthening_of_another_test_set_is_left_out(page):
    ran, text = page("fewer")
    told = "The result of strengthen is left out: it is about 60 tests, the assessment about 30."
    assert told in " ".join(ran.out.split())
    assert told in text
    assert "select is left out" not in ran.out
    assert '<section id="selection"' in text


def test_what_fits_is_found_again(page, run, write, tmp_path):
    page("other")
    assert run("assess", "--method", "muff", write(SUBJECT), *QUICK).code == 0  # the last that was asked for
    ran = run("report", "one.mutiny", "-o", tmp_path / "page.html")
    assert "left out" not in ran.out
    assert '<section id="strengthen"' in (tmp_path / "page.html").read_text()


def test_campaigns_of_older_files_have_no_network(run, write):
    encoder = Encoder()
    told = encoder.encode(Campaign("c", "assess", "digits", network="n"))
    del told["fields"]["network"]
    assert {field.name for field in fields(Campaign)} - set(told["fields"]) == {"network"}
    old = Decoder([], Allowance("store", "", 0)).decode(json.loads(json.dumps(told)))
    assert old.network == ""
    assert run("assess", "--method", "muff", write(SUBJECT), *QUICK).code == 0
    with SqliteStore("one.mutiny", write=False) as store:
        assert len(store.campaigns()[0].network) > 8
