"""New inputs for mutants that the pool cannot kill: the originals keep their answer, instances lose it."""

import numpy as np
import pytest
import torch

import mutiny
import toys
from mutiny.errors import NotApplicable
from mutiny.evaluation.exact import Pace
from mutiny.models import ModelState
from mutiny.mutation.kill import KillRule
from mutiny.mutation.search import Search
from mutiny.operators.parsing import as_operators
from mutiny.selection.evidence import Evidence
from mutiny.strengthening.casting import Range
from mutiny.strengthening.stage import Stage
from mutiny.strengthening.synthesising import synthesise
from strengthening.tables import strengthen, weak_subject


def stage_of(subject, pool):
    task = mutiny.Classification(3, "logits") if isinstance(subject.task, mutiny.Classification) else subject.task
    evidence = Evidence(subject.models, task, pool, subject.train, pace=Pace(64))
    rule = KillRule().resolve(len(subject.models))
    return Stage(evidence, {**subject.splits(), "pool": pool}, rule, Search(), None)


@pytest.mark.parametrize("code", ["WI(ratio=0.3)", "NEB"])
def test_originals_keep_what_instances_lose(code):
    subject = weak_subject(3)
    states = [ModelState.of(model) for model in subject.models]
    stage, operator = stage_of(subject, subject.pool), as_operators(code)[0]
    found = synthesise(stage, [Range(operator, "it", 0.3, 1.0)], 3, [("it", 0.8)], 6)
    assert 0 < len(found) <= 6
    assert all(
        state.difference(ModelState.of(model)) is None for state, model in zip(states, subject.models, strict=True)
    )
    start = subject.pool.read(found.indices)
    torch.testing.assert_close(found.starts, start)
    low, high = float(subject.pool.inputs.min()), float(subject.pool.inputs.max())
    assert found.eps == pytest.approx(0.1 * (high - low))
    assert float((found.inputs - start).abs().max()) <= found.eps * (1 + 1e-6)
    assert low <= float(found.inputs.min()) <= float(found.inputs.max()) <= high
    runner = stage.troupe(3).runner
    lost = np.zeros(len(found))
    for number, model in enumerate(subject.models):
        with torch.no_grad():
            assert model(found.inputs).argmax(1).tolist() == found.answers.tolist()
            with runner.patch(operator.at(0.8), number, 0).applied(model) as call:
                lost += (call(found.inputs).argmax(1).numpy() != found.answers) / 3
    np.testing.assert_allclose(found.lost, lost)
    assert (lost > 0).all()
    assert found.to_json()["count"] == len(found)


def test_what_has_no_boundary_or_cannot_move_is_refused():
    line = toys.line_subject(2)
    ranges = [Range(as_operators("WI")[0], "it", 0.3, 1.0)]
    with pytest.raises(NotApplicable, match="no answer"):
        synthesise(stage_of(line, line.test), ranges, 0, [("it", 0.8)], 3)


def test_a_pool_far_from_the_boundary_calls_for_new_inputs():
    """Points that everybody is sure about tell no mutant from its original."""
    subject = weak_subject(1, pool=weak_subject(1).test.inputs * 1.01)
    found = strengthen(1, subject, budget=3)
    assert found.beyond
    assert found.measured == ()
    text = " ".join(found.notes)
    assert "cannot be killed with this pool" in text
    assert found.candidates is not None or "No input near the pool's" in text
    without = strengthen(1, subject, budget=3, synthesize=0)
    assert without.candidates is None
    np.testing.assert_array_equal(without.chosen, found.chosen)
