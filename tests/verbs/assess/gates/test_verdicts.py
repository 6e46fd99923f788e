"""Whether networks pass a gate, the reasons, and which gates do not fit."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.bounds import bound_of, holds, shown_bound
from mutiny.verbs.assess.gates.grammar import parse_gate
from verbs.assess.gates.gate_cases import classified, counted, random_answers, regressed


@pytest.mark.parametrize(
    ("text", "clean", "tested", "passes"),
    [
        ("accuracy >= 0.97", 980, 970, True),
        ("accuracy > 0.97", 980, 970, False),
        ("accuracy >= 0.97", 980, 969, False),
        ("drop <= 0.5pt", 970, 965, True),
        ("drop < 0.5pt", 970, 965, False),
        ("drop <= 0.5pt", 970, 964, False),
        ("drop <= 0.5pt", 970, 990, True),
        ("not drop > 0.5pt", 970, 965, True),
        ("not accuracy >= 0.97", 980, 969, True),
        ("accuracy >= 0.9 and drop <= 1pt", 970, 950, False),
        ("accuracy >= 0.9 or drop <= 1pt", 970, 950, True),
    ],
)
def test_a_network_passes_if_the_condition_holds(text, clean, tested, passes):
    assert parse_gate(text).passes(counted(clean, 1000), counted(tested, 1000)) is passes


@given(st.integers(1, 20_000), st.integers(0, 20_000), st.integers(0, 400))
def test_a_drop_equal_to_its_bound_satisfies_it_whatever_the_rounding(inputs, right, lost):
    clean, tested = min(right, inputs), max(0, min(right, inputs) - lost)
    difference = clean / inputs - tested / inputs
    bound = (clean - tested) / inputs
    assert holds(difference, "<=", bound)
    assert not holds(difference, "<", bound)
    assert holds(difference, "<=", (clean - tested + 1) / inputs)
    assert not holds(difference, ">=", (clean - tested + 1) / inputs)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_the_text_of_a_bound_is_read_as_the_same_number(value):
    assert bound_of(shown_bound(value)) == value
    if 1e-300 < abs(value) < 1e300:
        assert bound_of(shown_bound(value, points=True).removesuffix("pt"), "pt") == value


@pytest.mark.parametrize(
    ("text", "tested", "reason"),
    [
        ("accuracy >= 0.97", 962, "accuracy 0.962 is below 0.97"),
        ("accuracy >= 0.97", 981, "accuracy 0.981 is at least 0.97"),
        ("accuracy > 0.97", 970, "accuracy 0.97 is not above 0.97"),
        ("accuracy <= 0.97", 981, "accuracy 0.981 is above 0.97"),
        ("accuracy < 0.97", 981, "accuracy 0.981 is not below 0.97"),
        ("drop <= 0.5pt", 962, "drop 1.8pt is above 0.5pt"),
        ("not drop > 0.5pt", 962, "drop 1.8pt is above 0.5pt"),
        ("drop <= 0.5pt and accuracy >= 0.97", 962, "drop 1.8pt is above 0.5pt, and accuracy 0.962 is below 0.97"),
        ("drop <= 5pt and accuracy >= 0.97", 962, "accuracy 0.962 is below 0.97"),
        ("drop <= 5pt or accuracy >= 0.97", 962, "drop 1.8pt is at most 5pt"),
    ],
)
def test_the_reason_names_the_comparisons_that_decide(text, tested, reason):
    assert parse_gate(text).reason(counted(980, 1000), counted(tested, 1000)) == reason


def test_a_reason_has_enough_digits_to_tell_a_value_from_its_bound():
    clean = counted(99_999, 100_000)
    assert parse_gate("accuracy >= 1").reason(clean, clean) == "accuracy 0.99999 is below 1"
    losses = np.full(10, 0.3 + 2e-10)
    answers = GateAnswers(targets=np.zeros((10, 1)), correct=np.ones(10, bool), metric="mse", losses=losses)
    assert parse_gate("mse <= 0.3").reason(answers, answers) == "mse 0.3000000002 is above 0.3"


@pytest.mark.parametrize(
    "text", ["log_loss <= 1", "not log_loss > 1", "rise(log_loss) <= 1", "log_loss <= 1 and accuracy > 0"]
)
def test_a_gate_on_an_undefined_metric_is_failed(text):
    chances = np.array([[0.7, 0.3], [np.nan, np.nan]])
    clean, broken = random_answers(0, inputs=2, classes=2), classified([0, -1], [0, 1], 2, chances)
    gate = parse_gate(text)
    assert not gate.passes(clean, broken)
    assert "undefined" in gate.reason(clean, broken)
    assert parse_gate("log_loss <= 1 or accuracy >= 0.5").passes(clean, broken)


def test_infinite_losses_are_large_and_not_undefined():
    losses = np.array([0.1, np.inf])
    clean, tested = (
        GateAnswers(targets=np.zeros((2, 1)), correct=np.ones(2, bool), metric="mse", losses=values)
        for values in (np.zeros(2), losses)
    )
    assert not parse_gate("mse <= 1").passes(clean, tested)
    assert parse_gate("mse > 1").passes(clean, tested)
    assert parse_gate("mse <= 1").reason(clean, tested) == "mse inf is above 1"
    assert not parse_gate("rise(mse) <= 1").passes(tested, tested)  # infinity minus infinity


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(-1, 2), st.integers(-1, 2), st.integers(0, 3)), min_size=4))
def test_weights_count_as_copies_of_inputs(rows):
    targets, before, after, times = (np.array(column) for column in zip(*rows, strict=True))
    times[0] = max(1, times[0])
    gate = parse_gate("drop(f1(macro)) <= 10pt")
    weighted = gate.value(classified(before, targets, 3), classified(after, targets, 3), times.astype(float))
    again = [np.repeat(values, times) for values in (targets, before, after)]
    copied = gate.value(classified(again[1], again[0], 3), classified(again[2], again[0], 3))
    assert weighted == pytest.approx(copied)


def test_only_a_gate_with_one_comparison_has_a_value():
    clean, tested = counted(97, 100), counted(95, 100)
    assert parse_gate("drop <= 1pt").value(clean, tested) == pytest.approx(0.02)
    assert math.isnan(parse_gate("drop <= 1pt and accuracy > 0").value(clean, tested))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("mse <= 1", "a metric of classification, not mse"),
        ("within_tolerance >= 0.9", "a metric of classification"),
        ("f1 >= 0.5", "because there are 4 classes"),
        ("recall(class=4) >= 0.5", "a class from 0 to 3, not 4"),
        ("recall(class=3) >= 0.5 and accuracy > 0", "not class 3"),
        ("log_loss <= 1", "because there are none for log_loss"),
        ("roc_auc >= 0.5", "because there are none for roc_auc"),
    ],
)
def test_a_metric_that_does_not_fit_a_classification_is_refused(text, words):
    predicted = np.array([0, 1, 2, 2, 1])
    answers = classified(predicted, [0, 1, 2, 2, 2], 4)
    with pytest.raises(BadInput, match=words) as refused:
        parse_gate(text, "--judge").check(answers)
    assert str(refused.value).startswith(f'--judge="{parse_gate(text)}"')


def test_as_many_probable_classes_as_there_are_always_contain_the_right_one():
    with pytest.raises(BadInput, match="k below the number of classes, 4"):
        parse_gate("top_k_accuracy(k=4) >= 0.5").check(random_answers(0))


def test_a_class_without_inputs_has_no_area():
    chances = np.full((4, 3), 1 / 3)
    with pytest.raises(BadInput, match="class 2 has none"):
        parse_gate("roc_auc >= 0.5").check(classified([0, 1, 1, 0], [0, 1, 1, 0], 3, chances))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accuracy >= 0.9", "a metric of regression, not accuracy"),
        ("drop <= 1pt", r"rise\(mse\)"),
        ("log_loss <= 1", "within_tolerance"),
        ("mae <= 1", "no outputs for mae"),
    ],
)
def test_a_metric_that_does_not_fit_a_regression_is_refused(text, words):
    answers = GateAnswers(targets=np.zeros((3, 1)), correct=np.ones(3, bool), metric="mse", losses=np.zeros(3))
    with pytest.raises(BadInput, match=words):
        parse_gate(text).check(answers)
    parse_gate("mse <= 1 and rise(mse) <= 0.1 and within_tolerance >= 90%").check(answers)


def test_all_metrics_fit_answers_that_have_everything():
    parse_gate(
        "accuracy > 0 and f1(macro) > 0 and recall(class=3) > 0 and log_loss < 9 and roc_auc > 0 and ece < 1 and "
        "top_k_accuracy(k=3) > 0 and cohen_kappa > 0 and drop(balanced_accuracy) < 1"
    ).check(random_answers(0))
    parse_gate("mse < 9 and mae < 9 and rmse < 9 and r2 > 0 and within_tolerance > 0").check(regressed(0))


def test_a_gate_that_the_clean_network_fails_is_refused_with_the_value():
    with pytest.raises(BadInput, match=r"that original 2 passes, but accuracy 0\.962 is below 0\.97"):
        parse_gate("accuracy >= 0.97").check_clean_passes(counted(962, 1000), "original 2")
    parse_gate("accuracy >= 0.96").check_clean_passes(counted(962, 1000))


def test_answers_have_a_row_for_each_input():
    with pytest.raises(BadInput, match="at least one input"):
        GateAnswers(targets=np.zeros(0), correct=np.zeros(0, bool))
    with pytest.raises(BadInput, match="one row for each of 3 inputs"):
        GateAnswers(targets=np.zeros(3), correct=np.zeros(3, bool), predicted=np.zeros(2, int))
