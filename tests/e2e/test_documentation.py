"""The code in the documentation runs."""

import importlib
import re
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from torch import nn

import toys
from mutiny import Classification, NotApplicable, Recipe, Subject, assess
from mutiny.faults.training.base import Program
from mutiny.testing.operators import check_operator

ROOT = Path(__file__).parents[2]


def code_blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), flags=re.S)


def test_the_operator_of_the_guide_keeps_the_contract(tmp_path, monkeypatch):
    (tmp_path / "guide_operator.py").write_text(code_blocks("docs/adding-an-operator.md")[0])
    monkeypatch.syspath_prepend(tmp_path)
    guide = importlib.import_module("guide_operator")
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3)).eval()
    check_operator(guide.SignFlip(), model, torch.randn(5, 4))


def test_the_fault_before_training_of_the_guide_can_be_assessed(tmp_path, monkeypatch):
    (tmp_path / "guide_fault.py").write_text(code_blocks("docs/adding-an-operator.md")[2])
    monkeypatch.syspath_prepend(tmp_path)
    guide = importlib.import_module("guide_fault")
    recipe = Recipe(lambda: nn.Sequential(nn.Linear(2, 8), nn.ReLU(), nn.Linear(8, 3)), epochs=8, learning_rate=0.02)
    subject = Subject(task=Classification(3), train=toys.blobs(120), test=toys.blobs(60, seed=1), recipe=recipe)
    (record,) = assess(subject, [guide.SmoothedLabels()], originals=3, folder=tmp_path, method="muff").operators
    tried = [mutant.strength for mutant in record.mutants if mutant.guiding_set == "train" and mutant.searched]
    assert (record.code, record.bounds, tried[0]) == ("TLS", (0.0, 0.9), 0.9)
    other = Program(replace(recipe, loss="hinge"), subject.train, subject.task)
    with pytest.raises(NotApplicable, match="not the cross-entropy"):
        guide.SmoothedLabels().configurations(other)


def test_the_guide_names_every_operator_on_trained_networks():
    from mutiny.faults import OPERATORS

    text = (ROOT / "docs" / "assess.md").read_text()
    assert all(re.search(rf"\b{code}\b", text) for code in OPERATORS)


def test_the_readme_is_read_in_a_minute():
    text = (ROOT / "README.md").read_text()
    assert len(text.split()) <= 700
    assert "](docs/pictures/report.png)" in text


def test_every_link_in_the_documentation_leads_somewhere():
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_campaign_of_the_guide_is_found_done(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "cache"))
    block, *_ = code_blocks("docs/campaigns.md")
    slow = 'mutiny.load_subject("digits")'
    assert slow in block
    exec(compile(block.replace(slow, "subject"), "docs/campaigns.md", "exec"), {"subject": toys.blob_subject(2)})
    assert (tmp_path / "digits.mutiny").is_file()
