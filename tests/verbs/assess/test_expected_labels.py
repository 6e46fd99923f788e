"""Costs on an unlabeled pool: what the other originals expect a fault to cost."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.reports.notice_sentences import bias_sentence
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.notice_advice import next_steps
from mutiny.subjects.data import as_pool
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.expected_labels import expect_labels
from mutiny.verbs.assess.notice import ReferenceRecord
from mutiny.verbs.assess.reference import MOST_UNLABELED, Reference
from reports.page.handmade import rated
from verbs.assess.found import points, regression, separator, subject

pytestmark = pytest.mark.rounding

CPU = torch.device("cpu")


def sharp(seed):
    """A classifier that is as sure as it is right, more or less."""
    net = separator(seed)
    with torch.no_grad():
        net.weight *= 8
    return net


def pooled(originals=3, pool=600, **more):
    """Classifiers without validation and training set; ``pool`` is a number of unlabeled inputs, or a pool."""
    pool = points(pool, seed=2)[0] if isinstance(pool, int) else pool
    parts = {"models": [sharp(seed) for seed in range(originals)], "validation": None, "pool": pool}
    return subject(**{**parts, **more})


def assessed(some, operators="GF,WI", **more):
    return mutiny.assess(some, operators, seeds=3, batch_size=256, **more)


def runner_of(models, x, classes=3):
    pool = as_pool(x)
    reference = Reference("unlabeled", {f"pool for original {n + 1}": pool for n in range(len(models))})
    runner = Runner(models, Classification(classes, "logits"), reference.sets, default_forward, 0, 64)
    expect_labels(runner, reference)
    return runner, reference


@pytest.mark.parametrize("originals", [1, 3])
def test_a_cost_is_the_expected_loss_of_right_answers(originals):
    models, x = [sharp(seed) for seed in range(originals)], points(400, seed=2)[0]
    runner, reference = runner_of(models, x)
    (operator,) = as_operators("GF(ratio=1.0, sd=1.0, clip=none)")
    for number, model in enumerate(models):
        patch = runner.patch(operator, number, 0)
        with torch.no_grad():
            others = [other for other in models if other is not model] or [model]
            expected = sum(other(x).double().softmax(1) for other in others) / len(others)
            before = model(x).argmax(1)
            with patch.applied(model, default_forward) as call:
                after = call(x).argmax(1)
        change = runner.change(patch, number, reference.split(number))
        by_hand = [float(expected[i, before[i]] - expected[i, after[i]]) for i in range(len(x))]
        assert np.allclose(change, by_hand, atol=1e-5)
        assert np.any(change)
        some = np.array([40, 3, 7])
        assert np.allclose(runner.change(patch, number, reference.split(number), some), change[some], atol=1e-6)


def test_an_answer_that_is_not_a_number_is_never_expected():
    outputs = torch.tensor([[torch.nan, 0.0], [0.0, 1.0]])
    right, shares = Classification(2, "logits").judge(outputs, torch.tensor([[0.75, 0.25], [0.75, 0.25]]))
    assert (right.tolist(), shares.tolist()) == ([False, False], [0.0, 0.25])


def test_one_column_of_outputs_and_more_classes_than_are_kept():
    torch.manual_seed(0)
    runner, reference = runner_of([nn.Linear(6, 1).eval() for _ in range(2)], torch.randn(300, 6), classes=2)
    assert runner.targets(reference.split(0), CPU).shape == (300, 2)
    assert runner.clean(0, reference.split(0)).outcome.metric > 0
    runner, reference = runner_of([nn.Linear(6, 40).eval() for _ in range(2)], torch.randn(300, 6), classes=40)
    assert runner.clean(1, reference.split(1)).condensed.shape == (300, 2)


def test_the_rate_is_near_that_of_the_labeled_pool():
    unlabeled, labeled = assessed(pooled(originals=4)), assessed(pooled(originals=4, validation=points(600, 2)))
    assert unlabeled.notice.reference.kind == "unlabeled"
    assert unlabeled.notice.reference.inputs == 600
    assert labeled.notice.reference.kind == "validation"
    assert unlabeled.notice.faults >= 10
    assert abs(unlabeled.notice.rate - labeled.notice.rate) < 0.2
    costs = {(f.operator, f.strength, f.original, f.seed): f.cost for f in labeled.faults}
    keys = {(f.operator, f.strength, f.original, f.seed): f.cost for f in unlabeled.faults}
    both = [(cost, costs[key]) for key, cost in keys.items() if key in costs]
    assert len(both) >= 10
    assert np.corrcoef(np.array(both).T)[0, 1] > 0.9


def test_labels_of_a_pool_that_are_partly_unknown_are_not_used():
    x, y = points(600, seed=2)
    y[7] = -1
    assert assessed(pooled(pool=(x, y))).to_json()["faults"] == assessed(pooled(pool=x)).to_json()["faults"]


def test_workers_know_the_expected_labels():
    runner, reference = runner_of([sharp(0), sharp(1)], points(40, seed=2)[0])
    there = pickle.loads(pickle.dumps(runner))
    split = reference.split(1)
    assert torch.equal(there.targets(split, CPU), runner.targets(split, CPU))
    assert there.unlabeled == runner.unlabeled == set(reference.sets)
    assert there.labels(split).tolist() == runner.targets(split, CPU).argmax(1).tolist()


def test_it_is_preferred_to_training_inputs_but_not_for_regression():
    assert assessed(pooled(train=points(600, seed=3))).notice.reference.kind == "unlabeled"
    some = regression(validation=None, train=regression().validation, pool=torch.randn(300, 3))
    assert assessed(some, "GF").notice.reference.kind == "train"


def test_the_inputs_of_the_test_set_are_refused_without_their_labels_too():
    x, y = points(300, seed=1)
    with pytest.raises(BadInput, match="pool=300 of 300 inputs that are in the test set"):
        assessed(pooled(test=(x, y), pool=copy.copy(x)[torch.randperm(300)]))


def test_a_large_pool_of_test_inputs_is_refused_although_only_a_part_would_be_used():
    x, y = points(MOST_UNLABELED + 200, seed=1)
    with pytest.raises(BadInput, match=f"pool={MOST_UNLABELED:,} of {MOST_UNLABELED:,} inputs that are in"):
        assessed(pooled(test=(x, y), pool=copy.copy(x)))
    assert assessed(pooled(pool=points(len(x), seed=4)[0]), "GF(ratio=0.5)").notice.reference.inputs == MOST_UNLABELED


def test_the_answer_says_what_measured_the_costs():
    notes = " ".join(assessed(pooled()).notes)
    assert "costs are expected values, by the class probabilities of the other originals." in notes
    assert "Costs were measured on" not in notes
    alone = assessed(pooled(originals=1))
    assert "by the class probabilities of the network itself." in " ".join(alone.notes)


@pytest.mark.parametrize(
    ("originals", "rate", "told"), [(1, 0.6, "7 to 15"), (1, 0.9, "7 to 10"), (1, 0.95, ""), (3, 0.6, "")]
)
def test_a_network_that_is_too_sure_of_itself_makes_the_rate_too_low(originals, rate, told):
    """By no more than there is room for."""
    faults = {"GF": [(0.6, True), (1.5, True), (3.0, True), (5.0, False)]}
    result = rated(faults, originals=originals, reference=ReferenceRecord("unlabeled", 600, 0.9))
    notice = replace(result.notice, rate=rate, bins=())
    result = replace(result, notice=notice)
    said = bias_sentence(notice)
    assert ("costs were measured by the network's own probabilities, which are overconfident" in said) == bool(told)
    assert told in said
    steps = str(next_steps(result, CommandParts("mine.py:subject", "mutiny assess"), {}))
    assert ("Measure costs with labels" in steps) == bool(told)
