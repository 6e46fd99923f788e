"""Metrics of gates against scikit-learn, and against examples in the documentation of torchmetrics."""

import warnings

import numpy as np
import pytest
from sklearn import metrics as reference

from mutiny.verbs.assess.gates import class_metrics, probability_metrics, regression_metrics
from mutiny.verbs.assess.gates.answers import GateAnswers
from verbs.assess.gates.gate_cases import classified, random_answers, regressed

WEIGHTS = [None, np.random.default_rng(9).integers(0, 4, 200).astype(float)]
CASES = [(seed, undefined, weights) for seed in range(3) for undefined in (0.0, 0.1) for weights in WEIGHTS]


@pytest.mark.parametrize(("seed", "undefined", "weights"), CASES)
def test_class_metrics_are_those_of_scikit_learn(seed, undefined, weights):
    answers = random_answers(seed, undefined=undefined)
    given = (answers.targets, answers.predicted)
    labels = range(4)  # not -1: an undefined answer is of no class
    assert class_metrics.accuracy(answers, weights) == pytest.approx(
        reference.accuracy_score(*given, sample_weight=weights)
    )
    assert class_metrics.matthews_corrcoef(answers, weights) == pytest.approx(
        reference.matthews_corrcoef(*given, sample_weight=weights)
    )
    assert class_metrics.cohen_kappa(answers, weights) == pytest.approx(
        reference.cohen_kappa_score(*given, sample_weight=weights)
    )
    for mine, theirs in (
        (class_metrics.recall, reference.recall_score),
        (class_metrics.precision, reference.precision_score),
        (class_metrics.f1, reference.f1_score),
    ):
        options = {"labels": labels, "sample_weight": weights, "zero_division": 0}
        for average in ("macro", "micro", "weighted"):
            assert mine(answers, weights, average) == pytest.approx(theirs(*given, average=average, **options))
        each = theirs(*given, average=None, **options)
        assert [mine(answers, weights, label=label) for label in labels] == pytest.approx([*each])


@pytest.mark.parametrize("weights", WEIGHTS)
def test_balanced_accuracy_is_that_of_scikit_learn(weights):
    answers = random_answers(4)
    assert class_metrics.balanced_accuracy(answers, weights) == pytest.approx(
        reference.balanced_accuracy_score(answers.targets, answers.predicted, sample_weight=weights)
    )


def test_without_options_two_classes_have_class_1_as_the_positive_one():
    answers = classified([0, 1, 1, 0, 1], [0, 1, 0, 1, 1])
    given = (answers.targets, answers.predicted)
    assert class_metrics.f1(answers) == pytest.approx(reference.f1_score(*given))
    assert class_metrics.recall(answers) == pytest.approx(reference.recall_score(*given))
    assert class_metrics.precision(answers) == pytest.approx(reference.precision_score(*given))


def test_a_class_without_inputs_and_answers_is_left_out_of_means():
    answers = classified([0, 1, 1, 0], [0, 1, 0, 0], classes=5)
    given = (answers.targets, answers.predicted)
    assert class_metrics.f1(answers, average="macro") == pytest.approx(reference.f1_score(*given, average="macro"))
    assert class_metrics.recall(answers, label=4) == 0.0
    assert class_metrics.balanced_accuracy(answers) == pytest.approx(reference.balanced_accuracy_score(*given))


def test_constant_answers_have_no_correlation_and_constant_classes_no_kappa():
    assert class_metrics.matthews_corrcoef(classified([1, 1, 1], [0, 1, 1])) == 0.0
    assert np.isnan(class_metrics.cohen_kappa(classified([1, 1], [1, 1])))


@pytest.mark.parametrize(("seed", "weights"), [(seed, weights) for seed in range(3) for weights in WEIGHTS])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_probability_metrics_are_those_of_scikit_learn(seed, weights, dtype):
    answers = random_answers(seed, dtype=dtype)
    targets, chances = answers.targets, answers.probabilities
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sums of float32 rows differ from 1 by rounding
        wanted = reference.log_loss(targets, chances, sample_weight=weights)
    assert probability_metrics.log_loss(answers, weights) == pytest.approx(wanted, rel=1e-5)
    if dtype is np.float64:  # scikit-learn refuses rows of float32 whose sum differs from 1 by rounding
        area = reference.roc_auc_score(targets, chances, multi_class="ovr", average="macro", sample_weight=weights)
        assert probability_metrics.roc_auc(answers, weights) == pytest.approx(area)
    for k in (1, 2, 3):
        assert probability_metrics.top_k_accuracy(answers, weights, k=k) == pytest.approx(
            reference.top_k_accuracy_score(targets, chances, k=k, sample_weight=weights)
        )
    each = [
        reference.brier_score_loss(targets == label, chances[:, label], sample_weight=weights) for label in range(4)
    ]
    assert probability_metrics.brier_score(answers, weights) == pytest.approx(sum(each), rel=1e-5)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_metrics_of_two_classes_use_the_probability_of_class_1(weights):
    answers = random_answers(5, classes=2)
    second = answers.probabilities[:, 1]
    assert probability_metrics.roc_auc(answers, weights) == pytest.approx(
        reference.roc_auc_score(answers.targets, second, sample_weight=weights)
    )
    assert probability_metrics.brier_score(answers, weights) == pytest.approx(
        reference.brier_score_loss(answers.targets, second, sample_weight=weights)
    )


def test_log_loss_of_a_certain_wrong_answer_is_finite_as_in_scikit_learn():
    chances = np.array([[1.0, 0.0], [0.5, 0.5]])
    answers = classified([0, 0], [1, 0], probabilities=chances)
    assert probability_metrics.log_loss(answers) == pytest.approx(reference.log_loss([1, 0], chances))


def test_calibration_error_is_that_of_the_example_of_torchmetrics():
    # MulticlassCalibrationError(num_classes=3, n_bins=3, norm="l1"): tensor(0.2000)
    chances = np.array([[0.25, 0.20, 0.55], [0.55, 0.05, 0.40], [0.10, 0.30, 0.60], [0.90, 0.05, 0.05]])
    answers = classified(chances.argmax(1), [0, 1, 2, 0], probabilities=chances)
    assert probability_metrics.calibration_error(answers, bins=3) == pytest.approx(0.2)


@pytest.mark.parametrize("weights", WEIGHTS)
def test_calibration_error_is_that_of_a_loop_over_bins(weights):
    answers = random_answers(6)
    counts = np.ones(200) if weights is None else weights
    confidence = answers.probabilities.max(1)
    total = 0.0
    for low, high in zip(np.linspace(0, 1, 16)[:-1], np.linspace(0, 1, 16)[1:], strict=True):
        inside = (confidence >= low) & (confidence < high)
        if counts[inside].sum() > 0:
            accuracy = np.average(answers.correct[inside], weights=counts[inside])
            mean = np.average(confidence[inside], weights=counts[inside])
            total += counts[inside].sum() / counts.sum() * abs(accuracy - mean)
    assert probability_metrics.calibration_error(answers, weights) == pytest.approx(total)


def test_probabilities_that_are_not_numbers_leave_metrics_undefined():
    chances = np.array([[0.7, 0.3], [np.nan, np.nan]])
    answers = classified([0, -1], [0, 1], 2, chances)
    for metric in (probability_metrics.log_loss, probability_metrics.roc_auc, probability_metrics.calibration_error):
        assert np.isnan(metric(answers))
    assert np.isnan(probability_metrics.brier_score(answers))
    assert probability_metrics.top_k_accuracy(answers, k=1) == 0.5


def test_the_area_of_a_resample_without_a_class_is_undefined():
    answers = random_answers(7, inputs=20, classes=2)
    assert np.isnan(probability_metrics.roc_auc(answers, (answers.targets == 1).astype(float)))


@pytest.mark.parametrize("weights", [None, np.random.default_rng(1).integers(0, 4, 100).astype(float)])
@pytest.mark.parametrize("outputs", [1, 3])
def test_regression_metrics_are_those_of_scikit_learn(weights, outputs):
    answers = regressed(0, outputs=outputs)
    given, options = (answers.targets, answers.values), {"sample_weight": weights}
    squared = reference.mean_squared_error(*given, multioutput="raw_values", **options)
    assert regression_metrics.mse(answers, weights) == pytest.approx(np.mean(squared))
    assert regression_metrics.rmse(answers, weights) == pytest.approx(np.mean(np.sqrt(squared)))
    assert regression_metrics.mae(answers, weights) == pytest.approx(reference.mean_absolute_error(*given, **options))
    assert regression_metrics.r2(answers, weights) == pytest.approx(reference.r2_score(*given, **options))
    assert class_metrics.accuracy(answers, weights) == pytest.approx(np.average(answers.correct, weights=weights))


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0], [1.0, 2.0, 1.0]])
def test_the_explained_variance_of_a_constant_target_is_that_of_scikit_learn(values):
    targets, outputs = np.ones((3, 1)), np.array(values)[:, None]
    answers = GateAnswers(targets=targets, values=outputs, correct=np.ones(3, bool), metric="mse")
    assert regression_metrics.r2(answers) == reference.r2_score(targets, outputs)


def test_losses_take_the_place_of_outputs_for_the_metric_of_the_task():
    with_outputs = regressed(2, metric="mae")
    losses = np.abs(with_outputs.values - with_outputs.targets).mean(1)
    alone = GateAnswers(targets=with_outputs.targets, losses=losses, correct=with_outputs.correct, metric="mae")
    weights = np.arange(100.0)
    assert regression_metrics.mae(alone) == pytest.approx(regression_metrics.mae(with_outputs))
    assert regression_metrics.mae(alone, weights) == pytest.approx(regression_metrics.mae(with_outputs, weights))
