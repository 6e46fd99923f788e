"""New inputs for faults that no pool input reveals: the originals keep their answer, the fault loses it."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import mutiny
import toys
from mutiny.core.errors import NotApplicable
from mutiny.core.parsing import described
from mutiny.core.records import FaultRecord
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.cost_unit import unit_of
from mutiny.verbs.assess.fault_search import FaultSearch
from mutiny.verbs.assess.reference import Reference
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.context import POOL, StrengthenContext
from mutiny.verbs.strengthen.synthesis import synthesize
from verbs.strengthen.tables import assessed, strengthen, weak_subject


def context_of(subject, pool, operators="WI(ratio=0.3),NEB"):
    splits = {"validation": subject.train, "test": subject.test, POOL: pool}
    runner = Runner(subject.models, subject.task, splits, subject.forward, 0, pace=Pace(64))
    search = FaultSearch(runner, Reference("validation", {"validation": subject.train}), unit_of(runner.task), 0.05)
    evidence = Evidence(subject.models, runner.task, pool, pace=Pace(64))
    known = dict(zip(operators.split(","), as_operators(operators), strict=True))
    return StrengthenContext(search, known, evidence)


def fault_of(label, strength, original=0, cost=3.0):
    operator = as_operators(label)[0].at(strength)
    text = described(operator, operator.code)
    return FaultRecord(label, text, operator.strength, strength, original, 2, cost, False, 1.0)


@pytest.mark.parametrize(("label", "strength", "original"), [("WI(ratio=0.3)", 0.8, 1), ("NEB", 0.5, 0)])
def test_originals_keep_what_the_fault_loses(label, strength, original):
    subject = weak_subject(3)
    states = [ModelState.of(model) for model in subject.models]
    context, fault = context_of(subject, subject.pool), fault_of(label, strength, original)
    candidates = synthesize(context, [fault], 6)
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
    with torch.no_grad():
        for model in subject.models:
            assert model(candidates.inputs).argmax(1).tolist() == candidates.answers.tolist()
        operator = as_operators(label)[0].at(strength)
        with context.search.runner.patch(operator, original, 2).applied(subject.models[original]) as call:
            assert (call(candidates.inputs).argmax(1).numpy() != candidates.answers).all()
            assert (call(start).argmax(1).numpy() == candidates.answers).all()
    assert candidates.to_json()["count"] == len(candidates)
    assert len(np.unique(candidates.inputs.numpy(), axis=0)) == len(candidates)


def test_what_has_no_boundary_or_cannot_move_is_refused():
    line = toys.line_subject(2)
    with pytest.raises(NotApplicable, match="no decision boundary"):
        synthesize(context_of(line, line.test, "WI"), [fault_of("WI", 0.8)], 3)


def test_inputs_start_where_they_may():
    subject, allowed = weak_subject(3), np.arange(0, 400, 2)
    context, faults = context_of(subject, subject.pool), [fault_of("NEB", 0.5), fault_of("WI(ratio=0.3)", 0.8, 1)]
    candidates = synthesize(context, faults, 8, allowed)
    assert set(candidates.indices.tolist()) <= set(allowed.tolist())
    assert (candidates.distances["linf"] > 0).all()
    assert synthesize(context, faults, 8, np.zeros(0, np.int64)) is None


def test_the_costliest_faults_come_first():
    subject = weak_subject(1)
    context = context_of(subject, subject.pool)
    mild, costly = fault_of("WI(ratio=0.3)", 0.7, cost=1.0), fault_of("WI(ratio=0.3)", 0.8, cost=5.0)
    candidates = synthesize(context, [mild, costly], 5)
    assert set(candidates.faults) == {costly}


def test_a_pool_far_from_the_boundary_calls_for_new_inputs():
    """Points that everybody is sure about tell no fault from its original."""
    subject = weak_subject(1, pool=weak_subject(1).test.inputs * 1.01)
    result = strengthen(1, subject, budget=3, synthesize=10)
    assert result.beyond
    assert not any(fault.noticed for fault in result.beyond)
    assert result.measured == ()
    text = " ".join(result.notes)
    assert "probably cannot be noticed with this pool" in text
    assert result.candidates is not None or "No input near the pool" in text
    without = strengthen(1, subject, budget=3, synthesize=0)
    assert without.candidates is None
    np.testing.assert_array_equal(without.chosen, result.chosen)


def test_every_fault_of_an_assessment_can_be_made_again():
    """Also those of operators without a strength, of which one seed draws several."""
    operators = "WI,NI,GF,NEB,NS,LA"
    subject, result = weak_subject(2), assessed(2, operators, seeds=2)
    context = context_of(subject, subject.pool, operators)
    tried = [context.tried(record) for record in result.faults]
    assert {record.operator for record in result.faults} == set(operators.split(","))
    for fault in tried:
        assert context.search.unit.p_value(fault.on_tests, fault.metric) == fault.record.p_value
    known = StrengthenContext(context.search, context.operators, context.evidence, subject.pool.targets)
    context.search.runner.add_split("labeled", subject.pool)
    for record in result.faults[::5]:
        fault = known.tried(record)
        change = context.search.runner.change(context.patch(record), record.original, "labeled")
        on_pool = np.zeros(400, np.float32)
        on_pool[fault.positions] = fault.change
        np.testing.assert_array_equal(on_pool, change)


def test_a_fault_of_another_operator_is_refused():
    subject = weak_subject(1)
    context = context_of(subject, subject.pool, "NEB")
    with pytest.raises(mutiny.BadInput, match="a fault of NEB"):
        context.patch(replace(fault_of("NEB", 0.2), configuration="NEB(ratio=0.9, x=1)"))
