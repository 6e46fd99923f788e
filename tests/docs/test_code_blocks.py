"""Every block of Python in the README and the guides runs, here or in a test that does more with it."""

import contextlib
import io
import itertools
import re
import sys
import types

import numpy as np
import pytest
import torch
from tests.docs.pages import PAGES, ROOT, blocks, code, forget, words
from tests.docs.readers import HAS

import mutiny
from mutiny.testing.gate import assert_notice_rate
from mutiny.verbs.attack.base import Batch
from mutiny.verbs.attack.ensemble import Ensemble
from mutiny.verbs.locate.measures import Counts

ELSEWHERE = {
    "docs/attack.md": "tests/verbs/attack/test_attack_guide.py",
    "docs/campaigns.md": "tests/e2e/test_documentation.py",
    "docs/own-training.md": "tests/e2e/test_own_training.py",
    "docs/pytest.md": "tests/docs/test_pytest_guide.py",
    "docs/strengthen.md": "tests/verbs/strengthen/test_strengthen_guide.py",
    "docs/tutorial.md": "tests/docs/test_tutorial.py",
}
"""Pages whose code is run by tests of their own."""
OPTIONAL = ("mlflow", "tensorboard")
"""Packages of extras that need not be installed; blocks that want them are left out then."""
QUICKER = {
    "docs/notebooks.md": [('mutiny.load_subject("digits")', "subject")],
    "docs/ci.md": [('"digits"', "subject"), ("at_least=0.9", 'at_least=0.1, operators="GF"')],
    "docs/repair.md": [
        ("repair(subject)", 'repair(subject, "tune")'), ("passes=5", "passes=5, generations=3"),
        ('"scale"', '"scale(generations=25)"'),
    ],
}  # fmt: skip
"""What is put in the place of what takes long."""


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Runs a page's blocks, or the first of them, in a module of their own, as a reader would."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "runs").as_uri())  # a reader has a server
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    forget()

    def run(page, first=None):
        module = types.ModuleType("read")
        monkeypatch.setitem(sys.modules, "read", module)  # dataclasses look there
        vars(module).update({"mutiny": mutiny, **HAS.get(page, lambda folder: {})(tmp_path)})
        shown = {
            block.line: output.text for block, output in itertools.pairwise(blocks(page)) if output.language == "text"
        }
        for block in code(page)[:first]:
            text = block.text
            for old, new in QUICKER.get(page, ()):
                text = text.replace(old, new)
            try:
                with contextlib.redirect_stdout(io.StringIO()) as said:
                    exec(compile("\n" * block.line + text, page, "exec"), vars(module))
            except ModuleNotFoundError as missing:
                if missing.name in OPTIONAL:
                    continue
                raise
            assert words(said.getvalue()) == words(shown.get(block.line, said.getvalue()))
        return module

    yield run
    forget()


@pytest.mark.parametrize("page", [page for page in PAGES if code(page) and page not in ELSEWHERE])
def test_blocks_run(page, read):
    found = read(page)
    if page == "docs/ci.md":
        found.test_our_tests_would_notice(assert_notice_rate)


@pytest.mark.parametrize("page", ELSEWHERE)
def test_other_pages_have_a_test_that_reads_them(page):
    name = page.removeprefix("docs/")
    assert name in (ROOT / ELSEWHERE[page]).read_text()
    assert code(page)


def test_replacements_are_of_something():
    for page, pairs in QUICKER.items():
        whole = "".join(block.text for block in code(page))
        assert all(old in whole for old, _ in pairs), page


def test_the_selector_of_the_guide_says_why_it_does_not_apply(read):
    guide = read("docs/adding-a-selector.md", first=1)
    with pytest.raises(mutiny.BadInput, match="no rival at place 7"):
        mutiny.select(guide.net, guide.RivalRatio(place=7), pool=guide.inputs)


def test_the_measure_of_the_guide_keeps_the_laws(read):
    phi = read("docs/adding-a-measure.md", first=1).Phi()
    failing, passing = 5, 7
    ef, ep = (part.ravel().astype(float) for part in np.meshgrid(range(failing + 1), range(passing + 1), indexing="ij"))
    table = phi(Counts(ef, ep, failing - ef, passing - ep)).reshape(failing + 1, passing + 1)
    activity = np.array([1.0] * 3 + [0.0] * 2 + [1.0] * 2 + [0.0] * 5)
    failed = np.array([1.0] * 5 + [0.0] * 7)
    assert table[3, 2] == pytest.approx(np.corrcoef(activity, failed)[0, 1])
    assert (np.diff(table[:, 1:-1], axis=0) >= -1e-12).all()
    assert (np.diff(table[1:-1], axis=1) <= 1e-12).all()
    assert table[failing, 0] == table.max() == 1
    assert table[0, 0] == table[failing, passing] == 0


def test_the_attack_of_the_guide_keeps_the_contract(read):
    guide = read("docs/adding-an-attack.md", first=1)
    attack, model, x, y = guide.RandomSigns(tries=3), guide.model, guide.inputs, guide.labels
    ensemble = Ensemble(model, [])
    whole = attack.attacked(ensemble, Batch(x, y, 0, -5.0, 5.0, 0), 0.8)
    assert (whole.inputs - x).abs().max() <= 0.8
    assert whole.inputs.abs().max() <= 5
    assert whole.passes == 3 * len(x)
    half = attack.attacked(ensemble, Batch(x[20:], y[20:], 20, -5.0, 5.0, 0), 0.8)
    assert torch.equal(half.inputs, whole.inputs[20:])
    once = guide.RandomSigns(tries=1).attacked(ensemble, Batch(x, y, 0, -5.0, 5.0, 0), 0.8)
    wrong = [int((model(inputs).argmax(1) != y).sum()) for inputs in (x, once.inputs, whole.inputs)]
    assert wrong[0] < wrong[1] < wrong[2]
    assert attack.times(2).tries == 6


def test_every_public_name_that_blocks_use_exists():
    for page in PAGES:
        for block in code(page):
            for name in re.findall(r"\bmutiny\.([A-Za-z_]\w*)", block.text):
                assert hasattr(mutiny, name) or (ROOT / "src" / "mutiny" / name).is_dir(), f"{page}: mutiny.{name}"
