"""`strengthen` from end to end: what it promises whatever the pool, the task and the number of originals are."""

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
from torch import nn

import mutiny
import toys
from mutiny.core.records import Status
from mutiny.models import ModelState
from mutiny.verbs.strengthen.starting_point import survivors
from verbs.strengthen.tables import COARSE, assessed, strengthen, weak_parts, weak_subject


@cache
def usual(originals=1):
    return strengthen(originals)


def plain(result):
    return {name: value for name, value in result.to_json().items() if name != "timing"}


def test_labels_that_kill_survivors_are_proposed_and_measured():
    result = usual()
    assert result.survivors == survivors(assessed(1))
    assert result.budgets == (5, 20)
    assert len(result.chosen) == len(set(result.chosen.tolist())) == 20
    assert result.predicted[20] == len(result.tried) > 0
    assert {(gain.method, gain.budget) for gain in result.measured} == {
        (method, budget) for method in ("strengthen", "random", "deepgini") for budget in (5, 20)
    }
    ours = result.gain("strengthen", 20)
    assert ours.gain.mean == pytest.approx(ours.score.mean - result.before.mean)
    assert ours.gain.mean > 0.3
    other = result.gain("random", 20)
    assert other.ahead.mean == pytest.approx(ours.score.mean - other.score.mean)
    assert "strengthen" in repr(result).lower()


def test_the_whole_result_is_json():
    values = json.loads(json.dumps(usual().to_json(), allow_nan=False))
    assert (values["schema"], values["verb"]) == (1, "strengthen")
    assert {"subject", "settings", "versions", "survivors", "chosen", "measured", "subset", "notes"} <= set(values)
    assert len(values["chosen"]["5"]) == 5
    assert [(mutant["operator"], mutant["strength"]) for mutant in values["tried"]] == [*usual().tried]
    assert usual().metrics()["before"] == values["before"]["mean"]
    assert "score" not in usual().metrics()
    assert values["chosen"]["20"][:5] == values["chosen"]["5"]


def test_labels_of_the_pool_are_never_read_for_choosing():
    x, y = weak_parts()[1]
    for labels in (None, torch.full((200,), -1), y.flip(0)):
        other = strengthen(1, weak_subject(1, pool=x if labels is None else (x, labels)), repeats=1)
        np.testing.assert_array_equal(other.chosen, usual().chosen)
        if labels is None or (labels < 0).all():
            assert other.measured == ()
            assert other.before is None
            assert "the choice was not scored" in " ".join(other.notes)


def test_partly_known_labels_count_as_unknown():
    x, y = weak_parts()[1]
    some = y.clone()
    some[:3] = -1
    result = strengthen(1, weak_subject(1, pool=(x, some)), budget=5, repeats=1)
    assert result.measured == ()
    assert "3 labels of the pool are unknown" in " ".join(result.notes)


def test_one_seed_has_one_answer_and_another_has_another():
    assert plain(strengthen(1)) == plain(usual())
    fresh = strengthen(1, seed=1)
    assert plain(fresh)["measured"] != plain(usual())["measured"]


@pytest.mark.parametrize("raising", [False, True])
def test_the_models_are_untouched(raising, monkeypatch):
    subject = weak_subject(3)
    states = [ModelState.of(model) for model in subject.models]
    if raising:
        calls = iter(range(10**6))

        def forward(model, x):
            if next(calls) > 150:
                raise KeyboardInterrupt
            return model(x)

        subject.forward = forward
        with pytest.raises(KeyboardInterrupt):
            strengthen(3, subject, minimize=True)
    else:
        strengthen(3, subject, minimize=True, budget=5)
    assert [state.difference(ModelState.of(model)) for state, model in zip(states, subject.models, strict=True)] == [
        None
    ] * 3


def test_a_smaller_test_set_is_judged_by_mutants_it_does_not_know():
    result = strengthen(1, weak_subject(1, pool=None), minimize=True)
    assert result.budgets == ()
    assert len(result.chosen) == 0
    assert 0 < len(result.subset) < result.subset.of == 60
    assert result.subset.score >= result.subset.score_of_all == pytest.approx(assessed(1).score.value)
    assert result.smaller.all.n == 2
    assert result.smaller.loss.mean == pytest.approx(result.smaller.all.mean - result.smaller.subset.mean)
    subset = result.to_json()["subset"]
    assert subset["size"] == len(subset["indices"]) == len(result.subset)


def test_nothing_slips_through():
    subject = weak_subject(1, test=toys.blobs())
    result = mutiny.assess(subject, "WI(ratio=0.3)", search=COARSE)
    stronger = strengthen(1, subject, assessment=result)
    assert result.score.value == 1.0
    assert stronger.survivors == ()
    assert stronger.notes[0].startswith("Nothing slips through")
    assert len(stronger.chosen) == 0


def test_no_mutant_that_train_kills():
    subject = weak_subject(3)
    result = mutiny.assess(subject, "NS", search=COARSE)
    assert result.operators[0].status is not Status.SCORED
    stronger = strengthen(3, subject, assessment=result, minimize=True)
    assert "nothing that the tests are known to miss" in stronger.notes[0]
    assert stronger.subset is None


def test_inputs_that_are_tests_already_are_not_proposed():
    (test_x, test_y), (x, y) = weak_parts()
    both = torch.cat([test_x, x]), torch.cat([test_y, y])
    result = strengthen(1, weak_subject(1, pool=both), repeats=1)
    assert result.chosen.min() >= 60
    assert "60 inputs of the pool are already in the test set" in " ".join(result.notes)
    with pytest.raises(mutiny.BadInput, match="at most 200"):
        strengthen(1, weak_subject(1, pool=both), budget=230)


def test_equal_inputs_are_proposed_once():
    x, y = weak_parts()[1]
    result = strengthen(1, weak_subject(1, pool=(torch.cat([x, x, x]), torch.cat([y, y, y]))), repeats=1)
    assert result.chosen.max() < 200
    assert len(np.unique(x[result.chosen].numpy(), axis=0)) == 20
    assert "400 inputs of the pool are copies of others in it" in " ".join(result.notes)
    np.testing.assert_array_equal(result.chosen, usual().chosen)


def test_a_pool_without_enough_new_inputs_is_refused_before_anything_runs():
    (test_x, test_y), (x, y) = weak_parts()
    subject = weak_subject(1, pool=(torch.cat([test_x, x[:3], x[:3]]), torch.cat([test_y, y[:3], y[:3]])))

    def forward(model, x):
        raise AssertionError("nothing is to be run")

    subject.forward = forward
    with pytest.raises(
        mutiny.BadInput, match="at most 3, the distinct inputs of the pool that are not in the test set"
    ):
        strengthen(1, subject, budget=4, assessment=None)


@pytest.mark.parametrize("originals", [1, 3])
def test_a_regression(originals):
    x, y = toys.line(80, seed=1)
    subject = toys.line_subject(originals, test=(x[:15], y[:15]), pool=toys.line(100, seed=3))
    result = mutiny.assess(subject, "WI(ratio=0.3)", search=replace(COARSE, rse=0.2))
    stronger = mutiny.strengthen(subject, None, 8, assessment=result, mutants=2, repeats=1, minimize=True)
    assert stronger.settings["methods"] == ["random", "disagreement" if originals > 1 else "kill-rate"]
    assert 0 < len(stronger.subset) < stronger.subset.of == 15
    assert stronger.subset.score >= stronger.subset.score_of_all == pytest.approx(result.score.value)
    assert stronger.survivors
    assert len(stronger.chosen) == 8
    assert len(stronger.measured) == 3 or "Nothing could be measured" in " ".join(stronger.notes)


def test_the_usual_methods_follow_the_originals_of_the_assessment():
    x, y = toys.line(80, seed=1)
    subject = toys.line_subject(3, test=(x[:15], y[:15]), pool=toys.line(100, seed=3))
    result = mutiny.assess(subject, "WI(ratio=0.3)", search=replace(COARSE, rse=0.2), originals=1)
    stronger = mutiny.strengthen(subject, None, 8, assessment=result, mutants=2, repeats=1)
    assert stronger.settings["methods"] == ["random", "kill-rate"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"budget": 300}, "between 1 and 200"),
        ({"budget": ()}, "at least one number"),
        ({"budget": "1%,x"}, "budget='x'"),
        ({"mutants": 0}, "mutants=0"),
        ({"repeats": 1.5}, "repeats=1.5"),
        ({"synthesize": -1}, "synthesize=-1"),
        ({"methods": "nosuch"}, "nosuch"),
        ({"tie_break": "deepgini,random"}, "one method"),
        ({"assessment": 3}, "what mutiny.assess returned"),
        ({"pool": torch.zeros(4)}, "pool"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else None,
)
def test_bad_input_gets_a_sentence(more, message):
    with pytest.raises(mutiny.BadInput, match=message):
        strengthen(1, **more)


def test_what_cannot_be_strengthened_gets_a_sentence():
    with pytest.raises(mutiny.BadInput, match="inputs to choose from"):
        strengthen(1, weak_subject(1, pool=None))
    with pytest.raises(mutiny.BadInput, match="the test set of the model"):
        mutiny.strengthen(nn.Linear(2, 2).eval())
    with pytest.raises(mutiny.BadInput, match="assessment=one of weak"):
        strengthen(1, weak_subject(1, test=toys.blobs(50)))


def test_methods_that_do_not_apply_are_left_out():
    result = strengthen(1, methods="random,mc-dropout", repeats=1, budget=5)
    assert {gain.method for gain in result.measured} == {"strengthen", "random"}
    assert "mc-dropout is left out" in " ".join(result.notes)
    with pytest.raises(mutiny.BadInput, match="applies here"):
        strengthen(1, tie_break="mc-dropout", repeats=1)


@pytest.mark.parametrize(("others", "judging"), [("", False), ("WI(ratio=0.3),", True)])
def test_mutants_of_which_there_are_only_a_few_do_not_judge(others, judging):
    """Another seed adds the same layer at the same few places: that would judge by what was chosen for."""
    result = assessed(1, f"{others}LA(activation=sigmoid)")
    assert result.operators[-1].status is Status.SCORED
    stronger = strengthen(1, assessment=result, budget=5, repeats=1, minimize=True)
    assert "Mutants of LA(activation=sigmoid) judge nothing" in " ".join(stronger.notes)
    assert bool(stronger.measured) is judging
    assert (stronger.smaller is not None) is judging
    assert not any("judge nothing" in note for note in usual().notes)


def test_a_bare_model_with_data_and_a_pool():
    test, pool = weak_parts()
    net, quick = toys.classifier(0), {"operators": "WI(ratio=0.3)", "mutants": 2, "repeats": 1, "synthesize": 0}
    result = mutiny.strengthen(net, pool, 5, data=test, train=toys.blobs(), batch_size=64, **quick)
    assert result.subject.name == "Sequential"
    assert len(result.order) in (0, 5)  # nothing is chosen if nothing survives
    with pytest.raises(mutiny.BadInput, match="train=None"):
        mutiny.strengthen(net, pool, 5, data=test)
