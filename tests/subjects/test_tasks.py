import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from mutiny.core.errors import BadInput
from mutiny.subjects.tasks import Classification, Regression

numbers = st.floats(-50, 50, width=32)


@st.composite
def scored(draw):
    n, classes = draw(st.integers(1, 12)), draw(st.integers(2, 6))
    scores = draw(hnp.arrays(np.float32, (n, classes), elements=numbers | st.just(float("nan"))))
    return scores, np.array(draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))


@given(scored())
@settings(max_examples=60, deadline=None)
def test_classification_against_a_loop(case):
    scores, labels = case
    correct, shares = Classification(scores.shape[1]).judge(torch.from_numpy(scores), torch.from_numpy(labels))
    for row, label, right, share in zip(scores, labels, correct.tolist(), shares.tolist(), strict=True):
        first_best = next((j for j, value in enumerate(row) if value == max(row)), None)
        assert right == (not np.isnan(row).any() and first_best == label)
        assert share == float(right)


@given(st.lists(numbers, min_size=1, max_size=12), st.data())
@settings(max_examples=60, deadline=None)
def test_one_column_is_a_logit_or_the_probability_of_class_1(logits, data):
    labels = torch.tensor(data.draw(st.lists(st.integers(0, 1), min_size=len(logits), max_size=len(logits))))
    column = torch.tensor(logits)
    two = torch.stack([torch.zeros_like(column), column], 1)
    expected = Classification(2, "logits").judge(two, labels)[0]
    for shape in ((-1,), (-1, 1)):
        as_logit = Classification(2, "logits").judge(column.reshape(shape), labels)[0]
        assert torch.equal(as_logit, expected)
        halves = column.double().sigmoid()
        as_probability = Classification(2, "probabilities").judge(halves.reshape(shape), labels)[0]
        assert torch.equal(as_probability[halves != 0.5], expected[halves != 0.5])
        both = Classification(2, "logits").probabilities(column.reshape(shape))
        assert torch.allclose(both, two.softmax(1), atol=1e-6)


def test_one_column_of_nan_is_wrong_whatever_the_label():
    for label in (0, 1):
        assert not Classification(2, "logits").judge(torch.tensor([float("nan")]), torch.tensor([label]))[0].any()


@given(
    hnp.arrays(np.float64, (7, 3), elements=numbers),
    hnp.arrays(np.float64, (7, 3), elements=numbers),
    st.floats(0.1, 60),
)
@settings(max_examples=60, deadline=None)
def test_regression_against_a_loop(outputs, targets, tolerance):
    for metric in ("mse", "mae"):
        task = Regression(tolerance, metric)
        right, losses = task.judge(torch.from_numpy(outputs), torch.from_numpy(targets))
        for j in range(7):
            errors = [abs(outputs[j, k] - targets[j, k]) for k in range(3)]
            assert bool(right[j]) == all(e <= tolerance for e in errors)
            assert float(losses[j]) == pytest.approx(sum(e**2 if metric == "mse" else e for e in errors) / 3)


def test_regression_with_nan_is_wrong_and_its_loss_is_no_number():
    right, loss = Regression(1e9).judge(torch.tensor([[float("nan")]]), torch.zeros(1, 1, dtype=torch.float64))
    assert not right.any()
    assert loss.isnan().all()


@given(st.integers(2, 6), st.integers(1, 20), st.data())
@settings(max_examples=40, deadline=None)
def test_labels_come_in_many_forms(classes, n, data):
    labels = np.array(data.draw(st.lists(st.integers(0, classes - 1), min_size=n, max_size=n)))
    task = Classification(classes)
    forms = [labels, labels.astype(np.uint8), labels.astype(np.float32), labels[:, None], np.eye(classes)[labels]]
    for form in forms:
        found = task.check_targets(form, "train")
        assert found.dtype == np.int64
        assert np.array_equal(found, labels)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([0, 1, 3], "test label at index 2=3: expected a class between 0 and 2"),
        ([0, -1, 3], "index 1=-1.*2 of 3 labels"),
        ([0.0, float("inf")], "index 1=inf"),
        ([0.5, 1.0], "whole numbers"),
        ([0.0, float("nan")], "whole numbers"),
        ([[0, 1, 1], [1, 0, 0]], "one-hot"),
        ([[0, 1], [1, 0]], r"shape \(2, 2\)"),
        (["cat", "dog"], "whole numbers"),
    ],
)
def test_other_labels_are_refused(labels, message):
    with pytest.raises(BadInput, match=message):
        Classification(3).check_targets(np.array(labels), "test")


@pytest.mark.parametrize("targets", [[1.0, float("nan")], [float("inf")], ["a"]])
def test_other_targets_are_refused(targets):
    with pytest.raises(BadInput, match="test targets"):
        Regression(0.1).check_targets(np.array(targets), "test")


LOGITS = torch.tensor([[2.0, -1.0, 0.3], [0.2, 0.3, 0.5]])
SURE = LOGITS.softmax(1)


@pytest.mark.parametrize(
    ("classes", "outputs", "seen"),
    [
        (3, LOGITS, "logits"),
        (3, SURE, "probabilities"),
        (3, SURE.log(), "logits"),
        (3, SURE.half(), "probabilities"),
        (2, torch.tensor([0.2, 0.9]), "probabilities"),
        (2, torch.tensor([[0.2], [0.9]]), "probabilities"),
        (2, torch.tensor([0.2, -0.9]), "logits"),
        (2, torch.tensor([[0.2], [3.0]]), "logits"),
    ],
)
def test_auto_sees_what_the_model_returns_and_contradictions_are_errors(classes, outputs, seen):
    assert Classification(classes).resolve(outputs) == Classification(classes, seen)
    assert Classification(classes, seen).resolve(outputs) == Classification(classes, seen)
    wrong = "logits" if seen == "probabilities" else "probabilities"
    if wrong == "logits" and classes == 2:  # a few numbers may well be logits, so the statement wins
        assert Classification(2, wrong).resolve(outputs) == Classification(2, wrong)
        outputs = outputs.repeat_interleave(20, dim=0)
    with pytest.raises(BadInput, match=f"outputs='{wrong}': expected '{seen}'"):
        Classification(classes, wrong).resolve(outputs)


@pytest.mark.parametrize("shape", [(), (4,), (4, 1), (4, 2), (4, 5), (4, 3, 2)])
def test_outputs_of_another_shape_are_refused(shape):
    with pytest.raises(BadInput, match="model output=shape"):
        Classification(3).resolve(torch.zeros(shape))


def test_regression_outputs_must_be_real_numbers_as_many_as_targets():
    for outputs in (torch.tensor(1.0), torch.tensor([1, 2])):
        with pytest.raises(BadInput, match="model output"):
            Regression(0.1).resolve(outputs)
    with pytest.raises(BadInput, match="2 numbers per input: expected 1"):
        Regression(0.1).judge(torch.zeros(3, 2), torch.zeros(3, 1))


@pytest.mark.parametrize("classes", [1, 0, -3, 2.0, True, "3", None])
def test_bad_class_counts_are_refused(classes):
    with pytest.raises(BadInput, match="classes"):
        Classification(classes)


def test_numpy_numbers_are_numbers():
    task = Classification(np.int64(4))
    assert task == Classification(4)
    assert type(task.classes) is int
    assert Regression(np.float32(0.5)).tolerance == 0.5


@pytest.mark.parametrize(
    "bad",
    [
        {"tolerance": 0},
        {"tolerance": float("nan")},
        {"tolerance": "1"},
        {"tolerance": -1},
        {"tolerance": 1, "metric": "rmse"},
    ],
)
def test_bad_regressions_are_refused(bad):
    with pytest.raises(BadInput):
        Regression(**bad)


def test_unknown_outputs_are_refused():
    with pytest.raises(BadInput, match="outputs='scores'"):
        Classification(3, "scores")
