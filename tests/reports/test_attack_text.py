"""An attack for a terminal: 80 columns, every way, and what is said about mutants."""

import io

import numpy as np
import pytest
from rich.console import Console

from mutiny.core.results import SubjectRecord
from mutiny.core.stats import Interval
from mutiny.reports.attack_text import attack_text
from mutiny.verbs.attack.result import BUDGET, MUTANTS, ORIGINAL, SANE, AttackOutcome, Level, Robustness

LONG = "pgd(norm=l2, iterations=200, step=0.001, restarts=30, momentum=0.9)"


def assault(fooled, far=0.1):
    fooled = np.array(fooled, bool)
    each = np.broadcast_to(far, len(fooled)).astype(float)
    return AttackOutcome("pgd", None, np.zeros(len(fooled), int), fooled, {"l2": each}, 12_345_678, 1.0)


def shown(ways, eps=(0.1,), mutants=("GF 1%",) * 5, notes=()):
    correct = np.ones(len(next(iter(ways.values())).fooled), bool)
    levels = tuple(Level(one, ways, correct) for one in eps)
    result = Robustness(
        SubjectRecord("toy", "Toy"),
        {},
        {},
        LONG,
        mutants,
        np.ones((1, 1)),
        levels,
        np.arange(len(correct)),
        None,
        np.zeros(len(correct), int),
        notes,
        1.0,
        "",
    )
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(attack_text(result))
    text = console.export_text()
    assert max(map(len, text.splitlines())) <= 80
    return " ".join(text.split())


def test_every_way_has_a_line():
    ways = {name: assault([1] * 40 + [0] * 60) for name in (MUTANTS, ORIGINAL, BUDGET, SANE, "autoattack", LONG)}
    text = shown(ways, eps=(0.03137254901960784, 0.1), notes=("Something else.",))
    assert "with mutants 40.0% 30 to 50 0.1 12,345,678" in text
    assert text.count("alone, same passes 40.0%") == 2
    assert text.count("95%: -3.7 to +3.7") == 4
    assert "note Something else." in text


def test_a_sane_step_is_part_of_the_verdict():
    ways = {MUTANTS: assault([1] * 50 + [0] * 50), BUDGET: assault([0] * 100), SANE: assault([1] * 100)}
    text = shown(ways)
    assert "At 0.1 mutants help: +50.0 points" in text
    assert "At 0.1 mutants harm: -50.0 points" in text
    assert "against a sane step." in text


@pytest.mark.parametrize(
    ("far", "said"), [(0.05, "come nearer: L2 -0.05"), (0.15, "stay further away"), (0.1, "come as near: L2 +0 ")]
)
def test_the_nearest_are_compared_by_distance(far, said):
    ways = {MUTANTS: assault([1] * 30 + [0], far), ORIGINAL: assault([1] * 31), BUDGET: assault([0] + [1] * 30)}
    text = shown(ways, eps=(None,))
    assert f"mutants {said}" in text
    assert "on 29 that both fool" in text


def test_few_inputs_prove_nothing():
    ways = {MUTANTS: assault([1] * 4, 0.05), BUDGET: assault([1] * 4)}
    assert "come as near" in shown(ways, eps=(None,))
    nearer = Level(None, ways, np.ones(4, bool)).nearer()
    assert isinstance(nearer.interval, Interval)
    assert not nearer.clear
    assert Level(None, ways, np.zeros(4, bool)).nearer() is None


def test_no_verdict_without_the_same_passes():
    text = shown({MUTANTS: assault([1, 0]), ORIGINAL: assault([0, 0])})
    assert "the effect of the mutants cannot be stated" in text
    assert "mutants help:" not in text


def test_one_way_needs_no_name():
    text = shown({MUTANTS: assault([1, 0])}, mutants=())
    assert "with mutants" not in text
    assert "50.0%" in text
