"""A real Chromium, and a page with everything in it."""

import os
import shutil

import numpy as np
import pytest

EVIL = "<script>window.hacked = 1</script>"


@pytest.fixture(scope="session")
def chromium():
    sync_api = pytest.importorskip("playwright.sync_api", reason="make test-browser installs it")
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("there is no Chromium")
    root = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with sync_api.sync_playwright() as started:
        browser = started.chromium.launch(executable_path=found, args=root)
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def file(tmp_path_factory):
    """All verbs, every verdict, and names that would like to be code."""
    from mutiny.reports.page.advice import CommandParts
    from mutiny.reports.page.page import page_of
    from mutiny.reports.page.render import write_html
    from reports.page.handmade import KILLED, SURVIVED, UNSTABLE, assessment, bits, operator
    from reports.page.test_strengthen import STRENGTHENED
    from reports.page.test_verbs import SELECTION, location, repaired, robustness

    rng = np.random.default_rng(0)
    strengths = [0.125, 0.25, 0.5, 0.75, 1.0]
    verdicts = {
        "train": dict(zip(strengths, [SURVIVED, KILLED, KILLED, KILLED, KILLED], strict=True)),
        "test": dict(zip(strengths, [SURVIVED, SURVIVED, UNSTABLE, KILLED, KILLED], strict=True)),
        "weak": dict(zip(strengths, [SURVIVED, SURVIVED, SURVIVED, SURVIVED, KILLED], strict=True)),
    }
    codes = ["WI", "NI(ratio=0.1,layers=features.0.block.conv1)", "GF", "NEB", EVIL]
    records = [operator(code, verdicts, score=at / 5) for at, code in enumerate(codes)]
    records.append(operator("LR", {"train": {None: UNSTABLE}}, None, None, reason="every mutant is unstable"))
    right = np.ones((5, 40), bool)
    kills = {(code, s, "test"): bits(right, rng.random((1, 5, 40)) < 1 - s / 3) for code in codes for s in strengths}
    found = assessment(*records, name=EVIL, notes=(EVIL, "A note."), kills=kills, labels=np.arange(40) % 3)
    again = "mutiny assess toy.py:subject --operators " + ",".join(["WI"] * 30)
    results = {
        "assess": found,
        "strengthen": STRENGTHENED,
        "select": SELECTION,
        "locate": location(),
        "repair": repaired([False] * 20 + [True] * 20, [True] * 20 + [True] * 19 + [False]),
        "attack": robustness((4, 1, 28, 28)),
    }
    page = page_of(results, CommandParts("toy.py:subject", again, "a.mutiny"), {"assess": again})
    path = tmp_path_factory.mktemp("browser") / "report.html"
    write_html(path, page)
    return path


@pytest.fixture(scope="session")
def notice_file(tmp_path_factory):
    """The page of a notice rate, with names that would like to be code."""
    from mutiny.reports.page.advice import CommandParts
    from mutiny.reports.page.page import page_of
    from mutiny.reports.page.render import write_html
    from reports.page.handmade import fault, rated

    costs = [0.6, 0.9, 1.5, 3.0, 5.0, 7.0, 12.0]
    faults = {
        code: [fault(code, cost, cost > 2 + at, n, hits=n % 3) for n, cost in enumerate(costs * 2)]
        for at, code in enumerate(["WI", "NI(ratio=0.1,layers=features.0.block.conv1)", EVIL])
    }
    found = rated({**faults, "LR": []}, reasons={"LR": EVIL}, name=EVIL, notes=(EVIL, "A note."))
    again = "mutiny assess toy.py:subject --operators " + ",".join(["WI"] * 30)
    path = tmp_path_factory.mktemp("browser") / "notice.html"
    write_html(path, page_of({"assess": found}, CommandParts("toy.py:subject", again, "a.mutiny"), {"assess": again}))
    return path


@pytest.fixture
def opened(chromium, file):
    """Opens the page with a window of its own; whatever goes wrong in it fails the test."""
    yield from _opener(chromium, file)


@pytest.fixture
def opened_notice(chromium, notice_file):
    """The same for the page of a notice rate."""
    yield from _opener(chromium, notice_file)


def _opener(chromium, file):
    contexts, wrong = [], []

    def open_(width=1280, height=900, **options):
        context = chromium.new_context(viewport={"width": width, "height": height}, **options)
        contexts.append(context)
        page = context.new_page()
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("request", lambda request: None if request.url == file.as_uri() else _note(wrong, request.url))
        page.goto(file.as_uri())
        return page

    yield open_
    for context in contexts:
        context.close()
    assert wrong == []


def _note(wrong, url):
    if not url.startswith("data:"):
        wrong.append(f"asked for {url}")
