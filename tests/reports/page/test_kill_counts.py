"""What inputs and classes do, against slow loops."""

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mutiny.reports.page.classes import by_class, classes_part, killable
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.kill_counts import COLUMNS, busiest_half, concentration, kill_counts_of, matrix_of
from reports.page.handmade import KILLED, SURVIVED, UNSTABLE, assessment, bits, operator


@st.composite
def judged(draw):
    """Two mutants that train kills and one that it does not, with random answers, and labels of three classes."""
    inputs, originals, repetitions = draw(st.integers(1, 20)), draw(st.integers(1, 3)), draw(st.integers(1, 3))
    right = draw(arrays(bool, (originals, inputs)))
    answers = [draw(arrays(bool, (repetitions, originals, inputs))) for _ in range(3)]
    labels = draw(arrays(np.uint8, inputs, elements=st.integers(0, 2)))
    record = operator(
        "WI",
        {
            "train": {0.9: KILLED, 0.5: KILLED, 0.1: SURVIVED},
            "test": {0.9: KILLED, 0.5: SURVIVED, 0.1: UNSTABLE},
        },
    )
    kills = {("WI", s, "test"): bits(right, told) for s, told in zip((0.9, 0.5, 0.1), answers, strict=True)}
    return assessment(record, kills=kills, labels=labels), right, answers[:2], labels


@settings(deadline=None, max_examples=40)
@given(judged())
def test_inputs_are_counted_as_a_slow_loop_does(case):
    result, right, answers, _ = case
    work = kill_counts_of(result)
    inputs = right.shape[1]
    kills, breadth = [0] * inputs, [0] * inputs
    for told in answers:
        for at in range(inputs):
            dead = [(r, o) for r in range(len(told)) for o in range(len(right)) if right[o, at] and not told[r, o, at]]
            kills[at] += len(dead)
            breadth[at] += bool(dead)
    assert work.kills.tolist() == kills
    assert work.breadth.tolist() == breadth
    assert work.hopeless.tolist() == [not right[:, at].any() for at in range(inputs)]
    assert work.instances == sum(told.shape[0] * told.shape[1] for told in answers)
    assert work.mutants == ("WI at factor 0.9", "WI at factor 0.5")


@settings(deadline=None, max_examples=40)
@given(judged())
def test_classes_are_counted_as_a_slow_loop_does(case):
    result, right, answers, labels = case
    found = by_class(result)
    for label in range(3):
        members = [at for at in range(len(labels)) if labels[at] == label]
        assert found.inputs[label] == len(members)
        assert found.right[label] == sum(int(right[o, at]) for o in range(len(right)) for at in members)
        for original in range(len(right)):
            noticed = [
                any(right[original, at] and not row[original, at] for at in members) for told in answers for row in told
            ]
            assert found.noticed[original, label] == sum(noticed)
    assert found.mutants == 2
    assert found.kills.sum() == kill_counts_of(result).kills.sum()


@given(arrays(np.int64, st.integers(1, 300), elements=st.integers(0, 9)).filter(np.any))
def test_the_busiest_come_first(kills):
    points = concentration(kills)
    ys = [y for _, y in points]
    assert points[0] == (0, 0)
    assert points[-1] == (1, 1)
    assert ys == sorted(ys)
    assert all(y >= x - 1e-12 for x, y in points)  # no order does more at any point
    half, falling = busiest_half(kills), np.sort(kills)[::-1]
    assert falling[:half].sum() * 2 >= kills.sum() > falling[: half - 1].sum() * 2


@settings(deadline=None, max_examples=40)
@given(judged(), st.booleans())
def test_the_matrix_has_every_kill_once(case, with_labels):
    result, right, answers, labels = case
    work = kill_counts_of(result)
    matrix = matrix_of(work, labels if with_labels else None)
    instances = answers[0].shape[0] * answers[0].shape[1]
    assert matrix.values.shape == (2, right.shape[1])
    np.testing.assert_allclose(matrix.values.sum() * instances, work.kills.sum())
    assert matrix.groups == (("WI", 0, 2),)
    if with_labels:
        sizes = np.bincount(labels, minlength=3)
        assert [(name, last - first) for name, first, last in matrix.columns] == [
            (str(label), sizes[label]) for label in range(3) if sizes[label]
        ]


def test_many_inputs_share_columns():
    rng = np.random.default_rng(0)
    right, told = np.ones((2, 5 * COLUMNS + 7), bool), rng.random((1, 2, 5 * COLUMNS + 7)) < 0.5
    record = operator("WI", {"train": {0.5: KILLED}, "test": {0.5: KILLED}})
    result = assessment(record, kills={("WI", 0.5, "test"): bits(right, told)}, classes=None)
    matrix = matrix_of(kill_counts_of(result), None)
    assert matrix.values.shape == (1, COLUMNS)
    widths = np.diff(np.linspace(0, right.shape[1], COLUMNS + 1).astype(int))
    np.testing.assert_allclose((matrix.values[0] * widths).sum() * 2, (~told).sum())


def test_real_assessments_agree_with_their_own_records(assessed):
    """The share of (instance, input) pairs of each mutant is its triviality."""
    found = list(killable(assessed))
    assert found
    for _, mutant, told in found:
        np.testing.assert_allclose(told.per_input().sum() / mutant.instances / told.inputs, mutant.triviality)
    assert len(assessed.labels) == 120
    shares = by_class(assessed)
    test = [mutant.killed_classes for _, mutant, _ in found]
    weights = [mutant.instances for _, mutant, _ in found]
    np.testing.assert_allclose(shares.share.mean(), np.average(test, weights=weights))  # eq. 1


def texts(section):
    return " ".join(block.text for block in section.blocks if block.kind == "text")


def test_what_is_missing_is_said(assessed, regressed):
    assert "a JSON result has no kill bits" in texts(effective_tests_section(replace(assessed, kills={})))
    assert "a JSON result has no kill bits" in texts(classes_part(replace(assessed, kills={})))
    assert "older version" in texts(classes_part(replace(assessed, labels=None)))
    assert "no classes" in texts(classes_part(regressed))
    nothing = operator("WI", {"train": {0.5: SURVIVED}, "test": {0.5: SURVIVED}}, score=None)
    told = bits(np.ones((1, 4)), np.ones((1, 1, 4)))
    result = assessment(nothing, kills={("WI", 0.5, "test"): told}, labels=np.zeros(4, np.uint8))
    assert "no test can kill anything" in texts(effective_tests_section(result))
    assert "no class has anything to notice" in texts(classes_part(result))
