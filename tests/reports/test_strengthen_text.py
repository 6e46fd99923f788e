"""What `strengthen` says on a terminal is what it found."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from mutiny.core.stats import Interval
from mutiny.reports.strengthen_text import strengthen_text
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.result import SubsetScores
from verbs.strengthen.tables import strengthen, weak_subject


def shown(result):
    console = Console(width=80)
    with console.capture() as capture:
        console.print(strengthen_text(result))
    return " ".join(capture.get().split())


@pytest.fixture(scope="module")
def smaller():
    return strengthen(1, weak_subject(1, pool=None), minimize=True)


def test_one_repeat_has_no_interval():
    assert "95%: interval" not in shown(strengthen(1, repeats=1, budget=5))
    assert "95%: interval over 2 repeats" in shown(strengthen(1, budget=5))


def test_a_smaller_set_keeps_or_loses(smaller):
    def held(part, whole):
        each = [Repeated(mean, 5, Interval(0.1, 0.9, 0.95, "student")) for mean in (whole, part, 0.1, whole - part)]
        return replace(smaller, smaller=SubsetScores(*each))

    assert "Enough: " in shown(held(0.5, 0.5))
    fell = shown(held(0.3, 0.5))
    assert "Fewer: " in fell
    assert "but fewer of other mutants" in fell
    assert "they score 30.0% (10% to 90%), all tests 50.0% (10% to 90%)" in fell


def test_kills_that_only_the_part_makes_are_told(smaller):
    small = replace(smaller.subset, kept=(), more=(("WI", 0.5), ("WI", 0.6)), fresh=3)
    told = shown(replace(smaller, subset=small))
    assert "All tests kill no mutant of the assessment, but 3 of other seeds, and so do these." in told
    assert "They also kill 2 mutants of the assessment that all tests do not" in told


def test_distances_are_means():
    far = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    pool = 8 * far / np.linalg.norm(far, axis=1, keepdims=True)
    found = strengthen(1, weak_subject(1, pool=pool), budget=1, repeats=1)
    assert found.candidates is not None
    told = shown(found)
    assert f"on average {found.candidates.distances['linf'].mean():.3g} (Linf)" in told
    assert "each" not in told
