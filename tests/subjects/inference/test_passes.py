import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import Runner
from mutiny.models import Patch, WeightEdit, default_forward
from mutiny.models.device import placement
from mutiny.subjects.data import as_data
from mutiny.subjects.inference.passes import Pace, clean_pass, evaluate
from mutiny.subjects.tasks import Classification, Regression
from toys import blobs, classifier, line, regressor

pytestmark = pytest.mark.rounding


def outcome_of(model, x, y, task, batch_size=64, call=None):
    targets = torch.from_numpy(task.check_targets(np.asarray(y), "test"))
    return evaluate(call or model, model, as_data((x, y), "test"), targets, task, Pace(batch_size))


def clean(model, x, y, task, batch_size=64):
    targets = torch.from_numpy(task.check_targets(np.asarray(y), "test"))
    return clean_pass(model, as_data((x, y), "test"), targets, task, default_forward, Pace(batch_size), "models[0]")


@given(st.integers(1, 50), st.integers(1, 64))
@settings(max_examples=25, deadline=None)
def test_classification_is_a_plain_loop_with_any_batch_size(n, batch_size):
    model, (x, y) = classifier(), blobs(n, seed=5)
    with torch.no_grad():
        expected = [int(model(one[None]).argmax()) == int(label) for one, label in zip(x, y, strict=True)]
        sure = [float(model(one[None]).softmax(1).max()) for one in x]
    for found in (
        outcome_of(model, x, y, Classification(3), batch_size),
        clean(model, x, y, Classification(3, "logits"), batch_size).outcome,
    ):
        assert found.correct.tolist() == expected
        assert found.metric == pytest.approx(np.mean(expected))
        assert found.inputs == n
    passed = clean(model, x, y, Classification(3, "logits"), batch_size)
    assert passed.confidence == pytest.approx(sure, abs=1e-6)
    assert passed.shares.tolist() == [float(right) for right in expected]


@pytest.mark.parametrize("metric", ["mse", "mae"])
@pytest.mark.parametrize("batch_size", [1, 7, 100])
def test_regression_is_a_plain_loop_with_any_batch_size(metric, batch_size):
    model, (x, y) = regressor(), line(30, seed=5)
    with torch.no_grad():
        errors = [abs(float(model(one[None])) - float(target)) for one, target in zip(x, y, strict=True)]
    losses = [e * e if metric == "mse" else e for e in errors]
    task = Regression(0.1, metric)
    passed = clean(model, x, y, task, batch_size)
    for found in (outcome_of(model, x, y, task, batch_size), passed.outcome):
        assert found.correct.tolist() == [e <= 0.1 for e in errors]
        assert found.metric == pytest.approx(np.mean(losses), rel=1e-5)
    of_errors = np.sqrt(passed.shares) if metric == "mse" else passed.shares
    assert of_errors == pytest.approx(errors, abs=1e-5)  # predictions are about 3, in single precision
    assert passed.confidence is None


def test_logits_that_happen_to_look_like_probabilities_are_no_error():
    """In a batch of one, two logits between 0 and 1 that sum to 1 are chance."""
    x, y = torch.tensor([[0.4, 0.6], [9.0, -9.0]]), [1, 0]
    assert clean(nn.Identity(), x, y, Classification(2, "logits"), batch_size=1).outcome.metric == 1.0


def test_a_row_that_is_no_probability_contradicts_probabilities_wherever_it_is():
    x, y = torch.tensor([[0.4, 0.6], [9.0, -9.0]]), [1, 0]
    with pytest.raises(BadInput, match="outputs='probabilities'"):
        clean(nn.Identity(), x, y, Classification(2, "probabilities"), batch_size=1)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_inputs_follow_the_models_type(dtype):
    model, (x, y) = classifier().to(dtype), blobs(60, seed=5)
    assert placement(model) == (torch.device("cpu"), dtype)
    with torch.no_grad():
        expected = (model(x.to(dtype)).argmax(1) == y).tolist()
    assert outcome_of(model, x, y, Classification(3)).correct.tolist() == expected
    assert clean(model, x, y, Classification(3, "logits")).outcome.correct.tolist() == expected


def test_whole_numbers_are_not_cast():
    model = nn.Sequential(nn.Embedding(5, 3), nn.Flatten()).eval()
    assert outcome_of(model, torch.arange(5)[:, None], [0, 1, 2, 0, 1], Classification(3)).inputs == 5


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_nan_outputs_of_mutants_count_as_wrong(bad):
    x, y = blobs(30, seed=5)
    model = classifier()
    right = outcome_of(model, x, y, Classification(3)).correct

    def broken(inputs):
        outputs = model(inputs).clone()
        outputs[inputs[:, 0] > 0] = float("nan")
        return outputs

    found = outcome_of(model, x, y, Classification(3), call=broken)
    assert np.array_equal(found.correct, right & (x[:, 0] <= 0).numpy())
    tolerant = outcome_of(regressor(), *line(9), Regression(1e9), call=lambda inputs: inputs[:, :1] * 0 + bad)
    assert not tolerant.correct.any()
    assert not np.isfinite(tolerant.metric)


def test_an_original_without_finite_answers_is_named():
    x, y = blobs(30)
    net = nn.Sequential(classifier(), nn.Threshold(1e9, float("inf"))).eval()
    with pytest.raises(BadInput, match=r"output of models\[0\]=NaN or infinite for input 0"):
        clean(net, x, y, Classification(3, "logits"))


def test_a_runner_patches_evaluates_and_remembers():
    x, y = blobs(50, seed=5)
    calls = []

    def forward(model, inputs):
        calls.append(len(inputs))
        return model(inputs)

    net = classifier()
    runner = Runner([net], Classification(3), {"train": as_data((x, y), "train")}, forward, seed=0, batch_size=20)
    assert runner.task == Classification(3, "logits")
    assert runner.clean(0, "train") is runner.clean(0, "train")
    assert calls == [20, 20, 10] * 2  # to settle the outputs, then the clean pass: never more than a batch
    empty = runner.run(Patch(()), 0, "train")
    assert np.array_equal(empty.bits, runner.clean(0, "train").outcome.bits)
    bias = Patch((WeightEdit("2.bias", np.arange(3), torch.tensor([1e6, 0.0, 0.0])),), "2")
    assert np.array_equal(runner.run(bias, 0, "train").correct, (y == 0).numpy())
    assert np.array_equal(runner.run(Patch(()), 0, "train").bits, empty.bits)


def test_what_the_model_returns_is_judged_on_inputs_from_everywhere_in_the_training_set():
    """The first thousand logits lie between 0 and 1; the last do not."""
    x = torch.cat([torch.full((1000, 1), 0.5), torch.tensor([[-4.0], [4.0]])])
    y = torch.cat([torch.ones(1000), torch.tensor([0, 1])]).long()
    runner = Runner([nn.Linear(1, 1)], Classification(2), {"train": as_data((x, y), "train")}, lambda _, x: x, 0, 64)
    assert runner.task.outputs == "logits"
