"""The whole page without a browser: complete, escaped, self-contained."""

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

import numpy as np
import pytest

from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.method import UNKNOWN, assess_command
from mutiny.reports.page.page import page_of
from mutiny.reports.page.render import html_of
from reports.page.handmade import KILLED, SURVIVED, UNSTABLE, assessment, bits, operator

EVIL = "<script>alert('&')</script>"
VOID = {"meta", "link", "img", "input", "br", "hr"}
ORDER = ["score", "survivors", "tests", "advice", "method"]


class Reader(HTMLParser):
    """Reads a page strictly: every element is closed in its place."""

    def __init__(self, text):
        super().__init__()
        self.open, self.ids, self.found, self.texts = [], [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.found.append((tag, dict(attributes)))
        self.ids += [value for name, value in attributes if name == "id"]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)

    def all(self, tag):
        return [attributes for name, attributes in self.found if name == tag]

    @property
    def text(self):
        return " ".join(" ".join(self.texts).split())


def shown(result, **more):
    again = assess_command(result, "toy.py:subject")
    return html_of(page_of({"assess": result, **more}, CommandParts("toy.py:subject", again), {"assess": again}))


def small(**more):
    rng = np.random.default_rng(0)
    right, told = np.ones((5, 40), bool), rng.random((1, 5, 40)) < 0.8
    verdicts = {"train": {0.5: KILLED, 0.25: SURVIVED}, "test": {0.5: SURVIVED, 0.25: UNSTABLE}}
    kills = {("WI", 0.5, "test"): bits(right, told)}
    return assessment(operator("WI", verdicts), kills=kills, labels=np.arange(40).astype(np.uint8) % 3, **more)


@pytest.fixture(scope="module")
def text():
    return shown(small())


@pytest.fixture(scope="module")
def page(text):
    return Reader(text)


def test_sections_come_in_order(page):
    assert [one["id"] for one in page.all("section")] == ORDER


def test_headings_are_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.found if re.fullmatch("h[1-6]", tag)]
    assert levels.count(1) == 1
    assert levels[0] == 1
    assert all(later <= earlier + 1 for earlier, later in pairwise(levels))


def test_ids_are_unique_and_found(page):
    assert len(set(page.ids)) == len(page.ids)
    wanted = [one.get("aria-labelledby") for _, one in page.found if "aria-labelledby" in one]
    wanted += [one["href"][1:] for one in page.all("a")]
    assert wanted
    assert set(wanted) <= set(page.ids)


def test_tables_say_what_they_are(page, text):
    assert text.count("<table") == text.count("<caption") == text.count("<thead")
    assert all(one.get("scope") in ("col", "row") for one in page.all("th"))
    for table in re.findall(r"<table.*?</table>", text, re.S):
        widths = {len(re.findall(r"<t[hd][ >]", row)) for row in re.findall(r"<tr.*?</tr>", table, re.S)}
        assert len(widths) == 1


def test_pictures_are_described(page):
    pictures = [one for _, one in page.found if one.get("role") == "img"]
    assert len(pictures) == len(page.all("svg")) >= 5
    assert all(len(one["aria-label"]) > 20 for one in pictures)


def test_nothing_is_fetched(text):
    found = set(re.findall(r"(?:https?:)?//[\w.]+", re.sub(r"base64,[^\"]*", "", text)))
    assert found <= {"http://www.w3.org"}  # names of XML, which nobody fetches
    assert not re.search(r"@import|<link|src=\"(?!data:)|url\((?!#)", text)
    assert "default-src 'none'" in text


def test_what_users_write_is_text():
    evil = operator(
        EVIL, {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}}, title=EVIL, strength="<i>factor", reason=EVIL
    )
    result = assessment(evil, name=EVIL, notes=(EVIL, "<img src=x onerror=alert(1)>"))
    result = replace(result, settings={**result.settings, "<b>odd</b>": EVIL}, versions={EVIL: EVIL})
    text = shown(result)
    page = Reader(text)
    assert len(page.all("script")) == 1
    assert not page.all("i") + page.all("b") + page.all("img")
    assert "alert('&')" not in re.sub(r"<script>\"use strict.*</script>", "", text, flags=re.S)
    assert page.text.count(EVIL) >= 5  # to be read, not to be run


def test_the_one_script_is_the_one_that_may_run(text):
    import base64
    import hashlib

    (script,) = re.findall(r"<script>(.*?)</script>", text, re.S)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in text


def test_forty_operators_stay_below_three_megabytes():
    rng = np.random.default_rng(0)
    right = np.ones((20, 10_000), bool)
    told = bits(right, rng.random((1, 20, 10_000)) < 0.9)
    strengths = [(0.5 + 0.5 * n / 11) for n in range(11)]
    verdicts = {
        split: {s: KILLED if n > cut else SURVIVED for n, s in enumerate(strengths)}
        for split, cut in (("train", 2), ("test", 6), ("weak", 8))
    }
    records = [operator(f"O{n}", verdicts) for n in range(4)]
    kills = {(record.label, s, "test"): told for record in records for s in strengths}
    few = len(shown(assessment(*records[:1], kills=kills, labels=np.arange(10_000) % 10, classes=10)))
    more = len(shown(assessment(*records, kills=kills, labels=np.arange(10_000) % 10, classes=10)))
    assert few + 39 * (more - few) / 3 < 3e6


@pytest.mark.parametrize(
    ("result", "told"),
    [
        (assessment(operator("LR", {"train": {None: UNSTABLE}}, None, None)), "There is no score"),
        (assessment(operator(), originals=1, interval=None), "applies to this network only"),
        (assessment(operator(), classes=None), "A regression has no classes."),
        (assessment(operator(score=1.0)), "notices every fault"),
        (assessment(), "There is no score"),
        (assessment(operator()), "a JSON result has no kill bits"),
    ],
)
def test_odd_results_have_a_page_too(result, told):
    page = Reader(shown(result))
    assert told in page.text
    assert [one["id"] for one in page.all("section")] == ORDER


@pytest.mark.parametrize("name", ["assessed", "alone", "regressed"])
def test_real_results(request, name):
    page = Reader(shown(request.getfixturevalue(name)))
    assert [one["id"] for one in page.all("section")] == ORDER
    assert page.text.count("How good is my test set, and how sure is that?") == 2  # the question, and the way to it


def test_without_an_assessment_the_page_says_how_to_get_one():
    from reports.page.test_verbs import SELECTION

    again = f"mutiny assess {UNKNOWN}"
    page = page_of({"select": SELECTION}, CommandParts(UNKNOWN, again, "a.mutiny"), {})
    assert [section.id for section in page.sections] == ["notice", "selection", "method"]
    assert [block.line for block in page.sections[0].blocks if block.kind == "command"] == [f"{again} --store a.mutiny"]
    read = Reader(html_of(page))
    assert [one["id"] for one in read.all("section")] == ["notice", "selection", "method"]
    assert f"The test set was not assessed. To assess it: {again}" in read.text
    assert f"{UNKNOWN} stands for your subject" in read.text
    for muff in ("How good is my test set", "Which mutants are missed?", "Which tests kill the mutants?"):
        assert muff not in read.text
