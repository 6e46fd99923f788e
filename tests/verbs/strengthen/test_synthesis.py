"""New inputs for mutants that the pool cannot kill: the originals keep their answer, instances lose it."""

import numpy as np
import pytest
import torch

import mutiny
import toys
from mutiny.core.errors import NotApplicable
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.context import StrengthenContext
from mutiny.verbs.strengthen.mutant_pool import KillableRange
from mutiny.verbs.strengthen.synthesis import synthesize
from verbs.strengthen.tables import strengthen, weak_subject


def context_of(subject, pool):
    task = mutiny.Classification(3, "logits") if isinstance(subject.task, mutiny.Classification) else subject.task
    evidence = Evidence(subject.models, task, pool, subject.train, pace=Pace(64))
    rule = KillRule().resolve(len(subject.models))
    return StrengthenContext(evidence, {**subject.splits(), "pool": pool}, rule, Search(), None)


@pytest.mark.parametrize(("code", "strength"), [("WI(ratio=0.3)", 0.8), ("NEB", 0.2)])
def test_originals_keep_what_instances_lose(code, strength):
    subject = weak_subject(3)
    states = [ModelState.of(model) for model in subject.models]
    context, operator = context_of(subject, subject.pool), as_operators(code)[0]
    candidates = synthesize(context, [KillableRange(operator, "it", 0.3, 1.0)], 3, [("it", strength)], 6)
    assert 0 < len(candidates) <= 6
    assert all(
        state.difference(ModelState.of(model)) is None for state, model in zip(states, subject.models, strict=True)
    )
    start = subject.pool.read(candidates.indices)
    torch.testing.assert_close(candidates.starts, start)
    low, high = float(subject.pool.inputs.min()), float(subject.pool.inputs.max())
    assert candidates.eps == pytest.approx(0.1 * (high - low))
    assert float((candidates.inputs - start).abs().max()) <= candidates.eps * (1 + 1e-6)
    assert low <= float(candidates.inputs.min()) <= float(candidates.inputs.max()) <= high
    runner = context.mutant_pool(3).runner
    lost = np.zeros(len(candidates))
    for number, model in enumerate(subject.models):
        with torch.no_grad():
            assert model(candidates.inputs).argmax(1).tolist() == candidates.answers.tolist()
            with runner.patch(operator.at(strength), number, 0).applied(model) as call:
                lost += (call(candidates.inputs).argmax(1).numpy() != candidates.answers) / 3
    np.testing.assert_allclose(candidates.lost, lost)
    assert (lost > 0).all()
    assert candidates.to_json()["count"] == len(candidates)


def test_what_has_no_boundary_or_cannot_move_is_refused():
    line = toys.line_subject(2)
    ranges = [KillableRange(as_operators("WI")[0], "it", 0.3, 1.0)]
    with pytest.raises(NotApplicable, match="no decision boundary"):
        synthesize(context_of(line, line.test), ranges, 0, [("it", 0.8)], 3)


def test_a_pool_far_from_the_boundary_calls_for_new_inputs():
    """Points that everybody is sure about tell no mutant from its original."""
    subject = weak_subject(1, pool=weak_subject(1).test.inputs * 1.01)
    result = strengthen(1, subject, budget=3)
    assert result.beyond
    assert result.measured == ()
    text = " ".join(result.notes)
    assert "probably cannot be killed with this pool" in text
    assert result.candidates is not None or "No input near the pool" in text
    without = strengthen(1, subject, budget=3, synthesize=0)
    assert without.candidates is None
    np.testing.assert_array_equal(without.chosen, result.chosen)


def test_what_loses_already_or_is_a_test_is_no_start():
    """Every proposal is a new input: no start tells the mutant from its originals, and none is there twice."""
    subject = weak_subject(3)
    context, operator = context_of(subject, subject.pool), as_operators("WI(ratio=0.3)")[0]
    ranges, keys, allowed = [KillableRange(operator, "it", 0.3, 1.0)], [("it", 0.8), ("it", 0.7)], np.arange(0, 200, 2)
    candidates = synthesize(context, ranges, 3, keys, 12, allowed)
    assert len(candidates) > 0
    assert set(candidates.indices.tolist()) <= set(allowed.tolist())
    assert (candidates.distances["linf"] > 0).all()
    assert len(np.unique(candidates.inputs.numpy(), axis=0)) == len(candidates)
    runner = context.mutant_pool(3).runner
    for start, (_, strength), answer in zip(candidates.starts, candidates.mutants, candidates.answers, strict=True):
        for number, model in enumerate(subject.models):
            with torch.no_grad(), runner.patch(operator.at(strength), number, 0).applied(model) as call:
                assert int(call(start[None]).argmax()) == answer
    assert synthesize(context, ranges, 3, keys, 12, np.zeros(0, np.int64)) is None


def test_nothing_is_synthesized_from_tests_or_copies(monkeypatch):
    asked = []

    def recorded(context, ranges, seed, mutants, count, allowed):
        asked.append(allowed)

    monkeypatch.setattr("mutiny.verbs.strengthen.verb.synthesize", recorded)
    test = weak_subject(1).test.inputs
    result = strengthen(1, weak_subject(1, pool=torch.cat([test, 1.01 * test, 1.01 * test])), budget=3, repeats=1)
    assert result.beyond
    np.testing.assert_array_equal(asked, [np.arange(60, 120)])


def test_a_mutant_made_twice_proposes_once():
    subject = weak_subject(3)
    context, operator = context_of(subject, subject.pool), as_operators("WI(ratio=0.3)")[0]
    once = synthesize(context, [KillableRange(operator, "it", 0.3, 1.0)], 3, [("it", 0.8)], 4)
    twice = synthesize(context, [KillableRange(operator, "it", 0.3, 1.0)], 3, [("it", 0.8), ("it", 0.8)], 8)
    assert twice.indices.tolist() == once.indices.tolist()
