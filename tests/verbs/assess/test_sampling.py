"""Large sets are sampled until bin and verdict are clear: against all inputs, for faults made from their records."""

import numpy as np
import pytest
import torch
from scipy import stats

import mutiny
from mutiny.core.records import Basis
from mutiny.faults.parsing import as_operators
from mutiny.verbs.assess.sampling import same_bin, same_verdict
from references import verdicts
from verbs.assess.found import points, subject

EDGES = (0.5, 1, 2, 4, 8)


def large(**more):
    return subject(originals=2, test=points(6000, seed=1), validation=points(9000, seed=2), **more)


@pytest.fixture(scope="module")
def sampled():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mutiny.verbs.assess.sampling.LEAST_WORK", 0.0)  # small networks are not sampled otherwise
        return mutiny.assess(large(), "GF,WI", seeds=2, batch_size=2048)


def exactly(some, faults):
    """Cost and p-value of each fault over all inputs."""
    sets = [
        (torch.as_tensor(data.read(slice(None))), torch.as_tensor(data.targets))
        for data in (some.validation, some.test)
    ]
    for fault in faults:
        (operator,) = as_operators(fault.configuration)
        net = some.models[fault.original]
        mutant = verdicts.mutant(net, sets[0][0][:4], operator, 0, fault.original, fault.seed)
        with torch.no_grad():
            right = [[(model(x).argmax(1) == y).numpy() for model in (net, mutant)] for x, y in sets]
        cost = 100 * (right[0][0].mean() - right[0][1].mean())
        broken, repaired = (right[1][0] & ~right[1][1]).sum(), (~right[1][0] & right[1][1]).sum()
        changed = int(broken + repaired)
        yield cost, stats.binomtest(int(broken), changed, alternative="greater").pvalue if changed else 1.0


def test_bins_and_verdicts_are_those_of_all_inputs(sampled):
    truth = [*exactly(large(), sampled.faults)]
    same_verdicts = [fault.noticed == (p < 0.05) for fault, (_, p) in zip(sampled.faults, truth, strict=True)]
    bins = [np.searchsorted(EDGES, [fault.cost for fault in sampled.faults], side="right")]
    bins.append(np.searchsorted(EDGES, [cost for cost, _ in truth], side="right"))
    assert len(truth) > 18
    assert np.mean(same_verdicts) >= 0.95
    assert np.mean(bins[0] == bins[1]) >= 0.9
    costs, found = np.array([cost for cost, _ in truth]), np.array([fault.cost for fault in sampled.faults])
    inside = (costs > 0.5) & (costs < 8)
    assert np.mean(found[inside] - costs[inside]) == pytest.approx(0, abs=0.1)  # no bias


def test_sampling_says_so_and_evaluates_less(sampled):
    assert {fault.basis for fault in sampled.faults} >= {Basis.PREDICTED}
    assert sampled.evaluation["evaluated"] < 0.7 * sampled.evaluation["everything"]
    assert sampled.changed.weight.max() > 1


def test_the_rate_is_near_that_of_all_inputs(sampled):
    exact = mutiny.assess(large(), "GF,WI", seeds=2, batch_size=2048, exact=True)
    assert {fault.basis for fault in exact.faults} == {Basis.EXACT}
    assert exact.evaluation["evaluated"] == exact.evaluation["everything"]
    assert exact.notice.rate == pytest.approx(sampled.notice.rate, abs=0.1)
    *sizes, smallest = zip(exact.notice.plan, sampled.notice.plan, strict=True)
    assert all(0.6 < other.inputs / size.inputs < 1.4 for size, other in sizes)
    assert 0.4 < smallest[1].inputs / smallest[0].inputs < 2.5  # few answers change: the exact plan is uncertain, too


def test_small_sets_and_small_networks_are_evaluated_whole():
    result = mutiny.assess(large(), "GF", seeds=1, batch_size=2048)
    assert {fault.basis for fault in result.faults} == {Basis.EXACT}


def test_a_bin_is_clear_if_nearly_all_predictions_agree():
    broken = np.full(1000, 150)
    assert same_bin(EDGES, 10_000, broken, np.zeros(1000, int))  # 1.5 points
    broken[:5] = 250  # 0.5% of the predictions: 2.5 points
    assert same_bin(EDGES, 10_000, broken, np.zeros(1000, int))
    broken[:50] = 250
    assert not same_bin(EDGES, 10_000, broken, np.zeros(1000, int))


def test_a_verdict_is_clear_if_nearly_all_predictions_agree():
    broken, repaired = np.full(1000, 30), np.full(1000, 5)
    assert same_verdict(0.05, broken, repaired)
    broken[0] = 6
    assert same_verdict(0.05, broken, repaired)
    broken[:10] = 6
    assert not same_verdict(0.05, broken, repaired)
    assert same_verdict(0.05, np.full(1000, 6), repaired)
