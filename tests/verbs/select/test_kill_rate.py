import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from mutiny.core.errors import BadInput, NotApplicable
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState, SignalEdit, WeightEdit
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression, changed_answers
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.select.kill_rate import TIE, KillRate, at_ratio, kills, mutants_of
from mutiny.verbs.select.prima_kill import PrimaKill

pytestmark = pytest.mark.rounding

CLASSES = Classification(3, "logits")


def mlp(outputs=3):
    return nn.Sequential(nn.Linear(4, 12), nn.ReLU(), nn.Linear(12, 8), nn.ReLU(), nn.Linear(8, outputs)).eval()


def evidence_of(model, task=CLASSES, n=40, **more):
    x = np.random.default_rng(0).normal(size=(n, 4)).astype(np.float32)
    return Evidence([model], task, as_data((x, np.zeros(n, int)), "pool"), **{"batch_size": 16, "seed": 2, **more})


def mutated_by_hand(model, patch):
    """A copy of a sequential model: weights written one by one, blocked neurons as zero columns of the next layer."""
    mutant = copy.deepcopy(model)
    for edit in patch.edits:
        if isinstance(edit, WeightEdit):
            flat = dict(mutant.named_parameters())[edit.parameter].data.view(-1)
            for index, value in zip(edit.indices, edit.values, strict=True):
                flat[int(index)] = value
        else:
            assert isinstance(edit, SignalEdit)
            mutant[int(edit.layer.name) + 2].weight.data[:, edit.units] *= edit.factor
    return mutant


@torch.no_grad()
def by_hand(evidence, operators, total):
    """Kills and mean change of every input by all mutants, each a copy of the model."""
    x, seen = evidence.pool.first(99), set()
    clean = evidence.model(x)
    count, change = np.zeros(len(x)), np.zeros(len(x))
    for number in range(total):
        operator = operators[number % len(operators)]
        patch = operator.patch(evidence.view, evidence.rng("mutant", operator.code, number // len(operators)))
        if patch in seen:
            continue
        seen.add(patch)
        said = mutated_by_hand(evidence.model, patch)(x)
        for i in range(len(x)):
            if isinstance(evidence.task, Classification):
                count[i] += int(said[i].argmax() != clean[i].argmax())
                change[i] += float((said[i].softmax(0) - clean[i].softmax(0)).abs().sum() / 2)
            else:
                move = float((said[i] - clean[i]).abs().max())
                count[i] += move > evidence.task.tolerance
                change[i] += move / (move + evidence.task.tolerance)
    return count, change / len(seen), len(seen)


@pytest.mark.parametrize("text", ["GF,NEB,NAI,WS", "WI(factor=1.0)", "GF(ratio=0.3),NEB(ratio=0.2)"])
@pytest.mark.parametrize("task", [CLASSES, Regression(0.15)])
def test_kills_are_those_of_copies_mutated_by_hand(text, task):
    model = mlp()
    evidence = evidence_of(model, task)
    state = ModelState.of(model)
    found = kills(evidence, as_operators(text), 14, "kill-rate")
    count, change, mutants = by_hand(evidence, as_operators(text), 14)
    assert found.count.tolist() == count.tolist()
    assert found.change == pytest.approx(change, abs=1e-5)
    assert (found.mutants, found.count.max() > 0) == (mutants, True)
    scores = KillRate((text,), 14).score(evidence)
    assert scores == pytest.approx((count + TIE * change) / mutants, abs=1e-6)
    assert state.difference(ModelState.of(model)) is None


def test_prima_kill_counts_kills_of_a_hundred_mutants_at_a_tenth():
    evidence = evidence_of(mlp())
    operators = as_operators("GF(ratio=0.1),NEB(ratio=0.1),NAI(ratio=0.1),WS(ratio=0.1)")
    count, _, mutants = by_hand(evidence, operators, 100)
    assert PrimaKill().score(evidence).tolist() == count.tolist()
    assert mutants > 80
    as_rate = KillRate(ratio=0.1).score(evidence)
    assert np.floor(as_rate * mutants + 1e-9) == pytest.approx(count)


def test_ties_are_broken_by_change_and_kills_never_overturned():
    evidence = evidence_of(mlp())
    found = kills(evidence, as_operators("GF,WS"), 8, "kill-rate")
    scores = KillRate(("GF", "WS"), 8).score(evidence)
    order = np.lexsort((found.change, found.count))
    assert np.array_equal(np.argsort(scores, kind="stable"), order)
    assert len(np.unique(scores)) > len(np.unique(found.count))


def test_mutants_without_effect_kill_nothing():
    evidence = evidence_of(mlp())
    assert not KillRate(ratio=0.0).score(evidence).any()
    assert not KillRate(("WI(factor=0.0)",), 5).score(evidence).any()
    assert not PrimaKill(ratio=0.0).score(evidence).any()


def test_duplicates_of_a_mutant_count_once():
    evidence = evidence_of(nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 3)).eval())
    assert len([*mutants_of(evidence, as_operators("AFR"), 10, "kill-rate")]) == 1
    assert kills(evidence, as_operators("AFR"), 10, "kill-rate").mutants == 1
    assert set(KillRate(("AFR",)).score(evidence).round(2)) <= {0.0, 1.0}


def test_operators_take_turns_and_more_mutants_include_fewer():
    evidence = evidence_of(mlp())
    few, many = ([*mutants_of(evidence, as_operators("GF,NAI,WS"), total, "kill-rate")] for total in (4, 9))
    assert few == many[:4]
    assert [position for position, _ in many] == [0, 1, 2] * 3


def test_operators_that_do_not_apply_are_left_out():
    evidence = evidence_of(nn.Sequential(nn.Linear(4, 3)).eval())
    found = [*mutants_of(evidence, as_operators("NEB,GF"), 6, "kill-rate")]
    assert [position for position, _ in found] == [1] * 6
    assert any("kill-rate leaves out NEB" in note for note in evidence.notes)
    with pytest.raises(NotApplicable, match="no operator applies"):
        KillRate(("NEB",)).score(evidence)


@pytest.mark.parametrize("task", [CLASSES, Regression(0.1)])
def test_batches_do_not_matter_and_the_seed_does(task):
    model = mlp()
    first, smaller, again, other = (
        KillRate(mutants=8).score(evidence_of(model, task, batch_size=size, seed=seed))
        for size, seed in ((16, 0), (5, 0), (16, 0), (16, 1))
    )
    assert np.array_equal(first, again)
    assert first == pytest.approx(smaller, abs=1e-6)
    assert not np.allclose(first, other)


def test_the_model_stays_as_it_is_after_an_error():
    model, calls = mlp(), []

    def forward(model, x):
        calls.append(1)
        if len(calls) > 9:
            raise KeyboardInterrupt
        return model(x)

    state = ModelState.of(model)
    with pytest.raises(KeyboardInterrupt):
        KillRate().score(evidence_of(model, forward=forward))
    assert state.difference(ModelState.of(model)) is None


# changed


@given(st.integers(0, 10_000), st.booleans())
@settings(max_examples=30, deadline=None)
def test_change_is_none_from_itself_at_most_one_and_the_same_both_ways(seed, classes):
    task = CLASSES if classes else Regression(0.3)
    draw = torch.Generator().manual_seed(seed)
    before, after = 5 * torch.randn(2, 6, 3, generator=draw)
    killed, moved = changed_answers(task, before, after)
    assert bool(((moved >= 0) & (moved <= 1)).all())
    back = changed_answers(task, after, before)
    assert torch.equal(killed, back[0])
    assert torch.allclose(moved, back[1])
    same = changed_answers(task, before, before)
    assert not bool(same[0].any())
    assert not bool(same[1].any())


@pytest.mark.parametrize("broken", [float("nan"), float("inf")])
@pytest.mark.parametrize("task", [CLASSES, Regression(0.3)])
def test_a_mutant_with_nan_outputs_kills(task, broken):
    before, after = torch.zeros(2, 3), torch.tensor([[0.0, broken, 0.0], [0.0, 0.0, 0.0]])
    killed, moved = changed_answers(task, before, after)
    assert killed.tolist() == [True, False]
    assert moved.tolist() == [1.0, 0.0]


def test_regression_kills_by_the_tolerance():
    before, after = torch.zeros(3, 2), torch.tensor([[0.5, 0.0], [0.0, -0.25], [0.125, 0.125]])
    killed, moved = changed_answers(Regression(0.25), before, after)
    assert killed.tolist() == [True, False, False]
    assert moved.tolist() == pytest.approx([2 / 3, 1 / 2, 1 / 3])


def test_parameters_are_checked():
    with pytest.raises(BadInput, match="operator"):
        KillRate(("XX",))
    with pytest.raises(BadInput, match="kill-rate mutants"):
        KillRate(mutants=0)
    with pytest.raises(BadInput, match="kill-rate ratio"):
        KillRate(ratio=2)
    with pytest.raises(BadInput, match="prima-kill ratio"):
        PrimaKill(ratio=-1)
    assert KillRate("GF, WS").operators == ("GF, WS",)
    assert [operator.code for operator in at_ratio(as_operators(("GF", "AFR")), 0.2)] == ["GF", "AFR"]
