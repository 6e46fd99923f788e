import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mutiny.subjects.inference.condensed_outputs import KEEP, close, condense, losses, margins
from mutiny.subjects.tasks import Classification, Regression

pytestmark = pytest.mark.rounding


def drawn(n, columns, outputs, seed, dtype=torch.float32):
    logits = 3 * torch.randn(n, columns, generator=torch.Generator().manual_seed(seed))
    if outputs == "probabilities":
        logits = logits.softmax(1) if columns > 1 else logits.sigmoid()
    return logits.to(dtype)


def labels(n, classes, seed):
    return torch.randint(classes, (n,), generator=torch.Generator().manual_seed(seed + 1))


@given(
    st.sampled_from(["logits", "probabilities"]),
    st.sampled_from([2, 3, KEEP, KEEP + 1, 100]),
    st.booleans(),
    st.sampled_from([torch.float32, torch.float64, torch.float16]),
    st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_the_sign_of_the_margin_is_what_the_task_calls_correct(outputs, classes, single, dtype, seed):
    task = Classification(classes, outputs)
    values = drawn(80, 1 if single and classes == 2 else classes, outputs, seed, dtype)
    targets = labels(80, classes, seed)
    right, _ = task.judge(values, targets)
    kept = condense(task, values, targets)
    assert kept.shape[1] <= KEEP
    assert (kept.dtype, len(kept)) == (torch.float32, 80)
    lead = margins(task, kept, targets)
    clear = lead.abs() > 1e-5 if dtype == torch.float64 else lead != 0  # rounding may tie, a tie has no sign
    assert clear.float().mean() > 0.8
    assert torch.equal((lead > 0)[clear], right[clear])


@pytest.mark.parametrize("classes", [2, 10, KEEP + 1])
def test_margins_of_logits_are_those_of_a_plain_loop(classes):
    task, values, targets = Classification(classes, "logits"), drawn(50, classes, "logits", 3), labels(50, classes, 3)
    expected = [
        row[label] - max(value for place, value in enumerate(row) if place != label)
        for row, label in zip(values.tolist(), targets.tolist(), strict=True)
    ]
    assert margins(task, condense(task, values, targets), targets).tolist() == pytest.approx(expected, abs=1e-5)


def test_margins_of_probabilities_are_differences_of_logits():
    logits, targets = drawn(50, 5, "logits", 4), labels(50, 5, 4)
    kinds = {"logits": logits, "probabilities": logits.softmax(1)}
    leads = [margins(task := Classification(5, k), condense(task, v, targets), targets) for k, v in kinds.items()]
    assert torch.allclose(*leads, atol=1e-4)


@pytest.mark.parametrize("shape", [(50,), (50, 1)])
def test_one_column_is_the_logit_of_class_1(shape):
    logits, targets = drawn(50, 1, "logits", 5).reshape(shape), labels(50, 2, 5)
    both = torch.stack((torch.zeros(50), logits.reshape(-1)), 1)
    expected = margins(Classification(2, "logits"), both, targets)
    for outputs, values in (("logits", logits), ("probabilities", logits.sigmoid())):
        task = Classification(2, outputs)
        kept = condense(task, values, targets)
        assert kept.shape == (50, 1)
        assert torch.allclose(margins(task, kept, targets), expected, atol=1e-4)


@pytest.mark.parametrize("columns", [1, 2, KEEP + 8])
def test_sure_probabilities_have_finite_margins(columns):
    task = Classification(max(2, columns), "probabilities")
    rows = torch.tensor([[1.0], [0.0]]) if columns == 1 else torch.eye(columns)[:2]
    targets = torch.tensor([1, 0]) if columns == 1 else torch.tensor([0, 1])
    lead = margins(task, condense(task, rows, targets), targets)
    assert lead.isfinite().all()
    assert (lead > 50).all()
    flipped = 1 - targets
    assert (margins(task, condense(task, rows, flipped), flipped) < -50).all()


@pytest.mark.parametrize("classes", [2, 10, KEEP + 1])
@pytest.mark.parametrize("outputs", ["logits", "probabilities"])
@pytest.mark.parametrize("where", ["true", "other"])
def test_answers_that_are_no_numbers_are_hopeless(classes, outputs, where):
    task, values, targets = Classification(classes, outputs), drawn(9, classes, outputs, 6), labels(9, classes, 6)
    values[torch.arange(9), targets if where == "true" else (targets + 1) % classes] = torch.nan
    assert not task.judge(values, targets)[0].any()
    assert (margins(task, condense(task, values, targets), targets) < 0).all()


def test_one_column_that_is_no_number_is_hopeless_for_both_classes():
    task, targets = Classification(2, "logits"), torch.tensor([0, 1])
    assert (margins(task, condense(task, torch.full((2, 1), torch.nan), targets), targets) < 0).all()


@given(
    st.sampled_from(["mse", "mae"]),
    st.sampled_from([1, 2, KEEP, KEEP + 1, 90]),
    st.sampled_from([torch.float32, torch.float64]),
    st.integers(0, 10**6),
)
@settings(max_examples=60, deadline=None)
def test_losses_and_closeness_are_what_the_task_says(metric, outputs, dtype, seed):
    draw = torch.Generator().manual_seed(seed)
    targets = torch.randn(40, outputs, generator=draw).double()
    size = 0.3 * torch.rand(40, 1, generator=draw)
    values = (targets + size * torch.randn(40, outputs, generator=draw)).to(dtype)
    task = Regression(0.25, metric)
    right, shares = task.judge(values, targets)
    kept = condense(task, values, targets)
    assert kept.shape == (40, outputs if outputs <= KEEP else 1)
    assert torch.allclose(losses(task, kept, targets).double(), shares, rtol=1e-4, atol=1e-9)
    found = close(task, kept, targets)
    if outputs <= KEEP:
        assert torch.equal(found, right)
    else:
        assert found[right].all()  # the mean error is within the tolerance where all of them are


def test_closeness_at_the_tolerance_itself():
    task, targets = Regression(0.25), torch.zeros(3, 1).double()
    kept = condense(task, torch.tensor([[0.25], [-0.25], [0.2500001]]), targets)
    assert close(task, kept, targets).tolist() == [True, True, False]


def test_outputs_of_any_shape_become_rows():
    task, targets = Regression(1.0), torch.zeros(4, 6).double()
    values = torch.randn(4, 2, 3)
    assert torch.allclose(condense(task, values, targets), values.reshape(4, 6))
    assert condense(task, values[:, 0, 0], targets[:, :1]).shape == (4, 1)
