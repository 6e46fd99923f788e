"""The verdict: intervals that cover the truth, and no "repaired" where nobody can know."""

from io import StringIO

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from scipy import stats

import mutiny
import toys
from mutiny.core.errors import BadInput
from mutiny.reports.repair_text import repair_text
from mutiny.verbs.repair.verdict import PASSES, Change
from verbs.repair.spoilt import QUICK, data, faulty


def change(mended, broken, failing, passing):
    before = np.repeat([False, True, False, True], [mended, broken, failing, passing])
    after = np.repeat([True, False, False, True], [mended, broken, failing, passing])
    return Change.of(~before, before, after)


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 60))
def test_a_gain_is_shown_when_the_exact_test_says_so(mended, broken, same):
    before = np.repeat([False, True, True], [mended, broken, same])
    after = np.repeat([True, False, True], [mended, broken, same])
    change = Change.of(~before, before, after)
    least = stats.binomtest(mended, mended + broken, alternative="greater").pvalue if mended + broken else 1.0
    assert change.helps == (least < 0.025)
    assert change.gain_interval.low <= change.gain <= change.gain_interval.high or not mended + broken
    assert (change.repaired.count, change.broken.count) == (mended, broken)


@pytest.mark.parametrize(("mended", "broken", "n"), [(0.1, 0.0, 150), (0.1, 0.02, 60), (0.05, 0.05, 80)])
def test_the_interval_of_the_gain_covers_the_truth(mended, broken, n):
    covered = 0.0
    for m in range(n + 1):
        for b in range(n + 1 - m if broken else 1):
            chance = stats.multinomial.pmf([m, b, n - m - b], n, [mended, broken, 1 - mended - broken])
            if chance > 1e-7:
                found = change(m, b, 0, n - m - b).gain_interval
                covered += chance * (found.low <= mended - broken <= found.high)
    assert covered >= 0.93


def test_without_passes_nobody_can_tell():
    assert change(30, 0, 10, PASSES).verdict == "repaired"
    assert change(30, 0, 10, PASSES - 1).verdict == "cannot tell"
    assert change(0, 0, 10, 3).verdict == "not repaired"


def test_failures_alone_are_not_enough(tmp_path):
    model, _ = faulty()
    x, y = data()
    wrong = model(x).argmax(1) != y
    found = mutiny.repair(model, QUICK["tune"], data=(x[wrong], y[wrong]))
    assert found.held_out.helps
    assert not found.repaired
    assert found.verdict == found.to_json()["verdict"] == "cannot tell"
    assert any("give all data, not only failures" in note for note in found.notes)
    with pytest.raises(BadInput, match="no repair"):
        found.save(tmp_path / "weights.safetensors")
    console = Console(width=80, record=True, file=StringIO())
    console.print(repair_text(found))
    said = " ".join(console.export_text().split())
    assert "Cannot tell: " in said
    assert "no held-out passes. Gain, fixed minus broken: +" in said


def test_one_class_only_is_refused():
    model, _ = faulty()
    x, y = data()
    with pytest.raises(BadInput, match="only class 1: expected at least two classes"):
        mutiny.repair(model, QUICK["tune"], data=(x[y == 1], y[y == 1]))


def test_classes_that_nobody_looked_at_are_named():
    model, _ = faulty()
    x, y = data()
    found = mutiny.repair(model, QUICK["tune"], data=(x[y != 2], y[y != 2]))
    told = "No held-out input is of class 2: the effect of the patch on such inputs is unknown."
    assert found.patch.edits
    assert told in found.notes
    assert told not in mutiny.repair(model, QUICK["tune"], data=(x, y)).notes


def test_of_several_originals_the_first_is_repaired():
    found = mutiny.repair(toys.blob_subject(3), "tune(epochs=1)")
    assert found.notes[0] == "The subject has 3 originals; only the first was repaired."
    assert not any("originals" in note for note in mutiny.repair(toys.blob_subject(1), "tune(epochs=1)").notes)
