"""The code in docs/attack.md runs."""

import re
from pathlib import Path

import pytest
import torch
from torch import nn

import mutiny
import toys

GUIDE = Path(__file__).parents[3] / "docs" / "attack.md"


def block(word):
    (found,) = [code for code in re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.S) if word in code]
    return found


class Wide(nn.Module):
    """Takes numbers of 0..1 to where the classifier was trained."""

    def __init__(self):
        super().__init__()
        self.model = toys.classifier()

    def forward(self, x):
        return self.model(10 * x - 5)


@pytest.fixture
def names():
    """What a reader is supposed to have."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 2, 5, stride=5), nn.ReLU(), nn.Flatten(), nn.Linear(72, 10)).eval()
    images = torch.rand(20, 3, 32, 32)
    return {"mutiny": mutiny, "model": model, "images": images, "labels": model(images).argmax(1)}


def test_attacks():
    x, y = toys.blobs(40)
    split = ((x + 5) / 10, y)
    subject = mutiny.Subject(models=[Wide().eval()], task=mutiny.Classification(3), train=split, test=split)
    names = {"subject": subject}
    code = block("level.gain()").replace("confidence=0.5", "confidence=0.5, iterations=2, searches=2")
    exec(code.replace("iterations=20", "iterations=2").replace('"pgd"', '"pgd(iterations=2)"'), names)
    assert len(names["found"].levels) == 3


def test_a_filter_of_your_own(names):
    exec(block("Rounded"), names)


def test_other_libraries(names):
    pytest.importorskip("torchattacks")
    pytest.importorskip("art")
    exec(block("torchattacks"), names)
    assert len(names["mutants"]) == 5
