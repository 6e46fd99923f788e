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
from mutiny.core.stats.notice import notice_rate
from mutiny.models import ModelState
from verbs.strengthen.tables import OPERATORS, SPREAD, assessed, strengthen, weak_parts, weak_subject


@cache
def usual(originals=1):
    return strengthen(originals)


def plain(result):
    return {name: value for name, value in result.to_json().items() if name != "timing"}


def test_labels_that_make_faults_noticed_are_proposed_and_measured():
    result = usual()
    assert result.notice.rate == assessed(1).notice.rate
    assert result.budgets == (5, 20)
    assert len(result.chosen) == len(set(result.chosen.tolist())) == 20
    assert {(gain.method, gain.budget) for gain in result.measured} == {
        (method, budget) for method in ("strengthen", "random", "deepgini") for budget in (5, 20)
    }
    ours = result.gain("strengthen", 20)
    assert ours.gain.value == pytest.approx(ours.rate - result.before.rate)
    assert ours.gain.interval.low > 0.1
    other = result.gain("random", 20)
    assert other.ahead.value == pytest.approx(ours.rate - other.rate)
    assert other.ahead.value > 0.1
    assert abs(result.predicted[20] - ours.rate) < 0.25
    assert "strengthen" in repr(result).lower()


def test_the_whole_result_is_json():
    values = json.loads(json.dumps(usual().to_json(), allow_nan=False))
    assert (values["schema"], values["verb"]) == (1, "strengthen")
    assert {"subject", "settings", "versions", "notice", "chosen", "measured", "subset", "notes"} <= set(values)
    assert len(values["chosen"]["5"]) == 5
    assert usual().metrics()["before"] == values["before"]["rate"]
    assert values["chosen"]["20"][:5] == values["chosen"]["5"]


def test_labels_added_as_proposed_raise_the_notice_rate_of_an_assessment():
    """What a user would do: label, add, assess again with another seed."""
    (test_x, test_y), (x, y) = weak_parts()
    chosen = torch.from_numpy(usual().chosen)
    better = weak_subject(1, test=(torch.cat([test_x, x[chosen]]), torch.cat([test_y, y[chosen]])))
    after = mutiny.assess(better, OPERATORS, seeds=4, batch_size=64, seed=1)
    before = mutiny.assess(weak_subject(1), OPERATORS, seeds=4, batch_size=64, seed=1)
    assert after.notice.rate > before.notice.rate + 0.1


def test_labels_of_the_pool_are_never_read_for_choosing():
    x, y = weak_parts()[1]
    for labels in (None, torch.full((400,), -1), y.flip(0)):
        other = strengthen(1, weak_subject(1, pool=x if labels is None else (x, labels)))
        np.testing.assert_array_equal(other.chosen, usual().chosen)
        if labels is None or (labels < 0).all():
            assert other.measured == ()
            assert other.predicted == usual().predicted
            assert "the choice was not measured" in " ".join(other.notes)


def test_partly_known_labels_count_as_unknown():
    x, y = weak_parts()[1]
    some = y.clone()
    some[:3] = -1
    result = strengthen(1, weak_subject(1, pool=(x, some)), budget=5)
    assert result.measured == ()
    assert "3 labels of the pool are unknown" in " ".join(result.notes)


def test_one_seed_has_one_answer_and_another_has_another():
    assert plain(strengthen(1)) == plain(usual())
    fresh = strengthen(1, seed=1)
    assert plain(fresh)["measured"] != plain(usual())["measured"]


@pytest.mark.parametrize("raising", [False, True])
def test_the_models_are_untouched(raising, monkeypatch):
    subject = weak_subject(2)
    states = [ModelState.of(model) for model in subject.models]
    if raising:
        calls = iter(range(10**6))

        def forward(model, x):
            if next(calls) > 150:
                raise KeyboardInterrupt
            return model(x)

        subject.forward = forward
        with pytest.raises(KeyboardInterrupt):
            strengthen(2, subject, minimize=True, seeds=1)
    else:
        strengthen(2, subject, minimize=True, budget=5, seeds=1)
    assert [state.difference(ModelState.of(model)) for state, model in zip(states, subject.models, strict=True)] == [
        None
    ] * 2


def test_a_smaller_test_set_is_judged_by_faults_it_does_not_know():
    result = strengthen(
        1,
        weak_subject(1, pool=None, test=toys.blobs(300, seed=5, spread=SPREAD)),
        assessment=None,
        minimize=True,
        operators=OPERATORS,
        batch_size=64,
        seeds=4,
    )
    assert result.budgets == ()
    assert len(result.chosen) == 0
    assert 0 < len(result.subset) < result.subset.of == 300
    assert result.subset.rate_of_all - 0.02 <= result.subset.rate <= result.subset.rate_of_all
    assert result.smaller.all == result.before.rate
    assert result.smaller.subset <= result.smaller.all
    assert result.smaller.random < result.smaller.subset
    assert result.smaller.loss.value == pytest.approx(result.smaller.all - result.smaller.subset)
    subset = result.to_json()["subset"]
    assert subset["size"] == len(subset["indices"]) == len(result.subset)


def test_copies_of_tests_count_once_and_a_smaller_test_set_keeps_one_of_them():
    x, y = toys.blobs(300, seed=5, spread=SPREAD)
    order = np.r_[0, 0, :300]
    once, copied = (
        mutiny.strengthen(weak_subject(1, test=test), budget=5, operators="GF", seeds=2, batch_size=64, minimize=True)
        for test in ((x, y), (x[order], y[order]))
    )
    assert copied.subject == once.subject
    assert (copied.notice, copied.before, copied.smaller) == (once.notice, once.before, once.smaller)
    assert copied.chosen.tolist() == once.chosen.tolist()
    assert copied.subset.of == once.subset.of + 2
    first = np.unique(order, return_index=True)[1]
    assert copied.subset.indices.tolist() == first[once.subset.indices].tolist()
    assert f"2 of {len(order)} tests are copies of others; each counts once." in copied.notes
    assert mutiny.Strengthening.from_json(copied.to_json()).subset.of == len(order)


def test_everything_is_noticed():
    subject = weak_subject(1, test=toys.blobs(400, seed=9), validation=toys.blobs(400, seed=8))
    result = mutiny.assess(subject, "NEB", seeds=2, batch_size=64)
    edges = [each.low for each in result.notice.bins] + [result.notice.bins[-1].high]
    costly = tuple(fault for fault in result.faults if fault.noticed and fault.cost >= edges[0])
    all_noticed = replace(result, faults=costly)
    assert notice_rate([fault.cost for fault in costly], [True] * len(costly), edges) == 1.0
    stronger = strengthen(1, subject, assessment=all_noticed)
    assert stronger.notes[0].startswith("The test set notices every fault")
    assert len(stronger.chosen) == 0
    assert stronger.before is None


def test_inputs_that_are_tests_already_are_not_proposed():
    (test_x, test_y), (x, y) = weak_parts()
    both = torch.cat([test_x, x]), torch.cat([test_y, y])
    result = strengthen(1, weak_subject(1, pool=both))
    assert result.chosen.min() >= 60
    assert "60 inputs of the pool are already in the test set" in " ".join(result.notes)
    with pytest.raises(mutiny.BadInput, match="at most 400"):
        strengthen(1, weak_subject(1, pool=both), budget=430)


def test_equal_inputs_are_proposed_once():
    x, y = weak_parts()[1]
    result = strengthen(1, weak_subject(1, pool=(torch.cat([x, x, x]), torch.cat([y, y, y]))))
    assert result.chosen.max() < 400
    assert len(np.unique(x[result.chosen].numpy(), axis=0)) == 20
    assert "800 inputs of the pool are copies of others in it" in " ".join(result.notes)
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


@pytest.mark.parametrize("metric", ["mse", "mae"])
def test_a_regression(metric):
    subject = toys.line_subject(
        2, metric, test=toys.line(30, seed=1), pool=toys.line(200, seed=3), validation=toys.line(200, seed=4)
    )
    stronger = mutiny.strengthen(subject, None, 10, operators="GF", seeds=1, batch_size=64, minimize=True)
    assert stronger.settings["methods"] == ["random", "disagreement"]
    assert stronger.unit == f"percent added to the {metric}"
    assert len(stronger.chosen) == 10
    assert len(stronger.measured) == 3
    assert 0 < len(stronger.subset) <= stronger.subset.of == 30


def test_the_usual_methods_follow_the_originals_of_the_assessment():
    subject = toys.line_subject(3, test=toys.line(12, seed=1), pool=toys.line(100, seed=3))
    result = mutiny.assess(subject, "WI(ratio=0.3)", originals=1, seeds=2, batch_size=64)
    stronger = mutiny.strengthen(subject, None, 8, assessment=result)
    assert stronger.settings["methods"] == ["random", "kill-rate"]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"budget": 500}, "between 1 and 400"),
        ({"budget": ()}, "at least one number"),
        ({"budget": "1%,x"}, "budget='x'"),
        ({"seeds": 0}, "seeds=0"),
        ({"tolerance": 1.5}, "tolerance=1.5"),
        ({"tolerance": True}, "tolerance=True"),
        ({"synthesize": -1}, "synthesize=-1"),
        ({"methods": "nosuch"}, "nosuch"),
        ({"tie_break": "deepgini,random"}, "one method"),
        ({"assessment": 3}, "what mutiny.assess returned"),
        ({"operators": "GF,WI"}, "operators of the assessment: GF, NEB"),
        ({"pool": torch.zeros(4)}, "pool"),
    ],
    ids=lambda value: "-".join(map(str, value)) if isinstance(value, dict) else None,
)
def test_bad_input_gets_a_sentence(more, message):
    with pytest.raises(mutiny.BadInput, match=message):
        strengthen(1, **more)


def test_what_cannot_be_strengthened_gets_a_sentence():
    with pytest.raises(mutiny.BadInput, match=r"pool=None: expected a pool, because the subject has none\. Give pool="):
        strengthen(1, weak_subject(1, pool=None))
    with pytest.raises(mutiny.BadInput, match="the test set of the model"):
        mutiny.strengthen(nn.Linear(2, 2).eval())
    for other in ({"test": toys.blobs(50)}, {"validation": None}, {"validation": toys.blobs(300)}, {"name": "other"}):
        with pytest.raises(mutiny.BadInput, match="assessment=one of weak"):
            strengthen(1, weak_subject(1, **other))
    with pytest.raises(mutiny.BadInput, match="with method notice"):
        strengthen(1, assessment=mutiny.assess(weak_subject(1), "NEB", method="muff"))


def test_methods_that_do_not_apply_are_left_out():
    result = strengthen(1, methods="random,mc-dropout", budget=5)
    assert {gain.method for gain in result.measured} == {"strengthen", "random"}
    assert "mc-dropout is left out" in " ".join(result.notes)
    with pytest.raises(mutiny.BadInput, match="applies here"):
        strengthen(1, tie_break="mc-dropout")


@pytest.mark.parametrize(("others", "judging"), [("", False), ("WI(ratio=0.3),", True)])
def test_faults_of_which_there_are_only_a_few_are_not_held_out(others, judging):
    """Another seed adds the same layer at the same few places: that would judge by what was chosen for."""
    result = assessed(1, f"{others}LA(activation=sigmoid)")
    assert any(fault.operator.startswith("LA") for fault in result.faults)
    stronger = strengthen(1, assessment=result, budget=5)
    if stronger.budgets:
        assert "Faults of LA(activation=sigmoid) are not held out" in " ".join(stronger.notes)
    assert bool(stronger.measured) is judging
    assert not any("not held out" in note for note in usual().notes)


def test_a_bare_model_with_data_and_a_pool():
    test, (x, y) = weak_parts()
    net, quick = toys.classifier(0), {"operators": "NEB", "seeds": 1, "synthesize": 0, "batch_size": 64}
    result = mutiny.strengthen(net, (x, y), 5, data=test, validation=toys.blobs(), **quick)
    assert result.subject.name == "Sequential"
    assert len(result.order) == 5
    alone = mutiny.strengthen(net, (x, y), 5, data=test, **quick)
    assert "the pool that also measures what faults cost" in " ".join(alone.notes)
    unlabeled = mutiny.strengthen(net, x, 5, data=test, **quick)
    assert "the pool that also measures what faults cost" in " ".join(unlabeled.notes)
    with pytest.raises(mutiny.BadInput, match="besides the test set"):
        mutiny.strengthen(net, x[:200], 5, data=test)


def test_originals_that_a_recipe_trains_without_their_fold(tmp_path):
    """Costs are measured on the training inputs that each original did not see, as in `assess`."""
    train, pool = toys.blobs(1400, seed=11), weak_parts()[1][0]

    def network():
        return nn.Sequential(nn.Linear(2, 12), nn.ReLU(), nn.Linear(12, 3))

    recipe = mutiny.Recipe(network, epochs=3, batch_size=64)
    subject = mutiny.Subject(
        task=mutiny.Classification(3), train=train, test=weak_parts()[0], pool=pool, recipe=recipe, name="folded"
    )
    result = mutiny.strengthen(
        subject, budget=5, originals=2, operators="NEB", seeds=1, synthesize=0, batch_size=64, folder=tmp_path
    )
    assert len(result.chosen) == 5
