"""Assessments by the notice rate, from end to end, on networks that take no time."""

import json
import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest
import torch
from scipy import stats
from torch import nn

import mutiny
from mutiny.campaigns.engines.serial import Serial
from mutiny.faults import Operator
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState, WeightEdit
from mutiny.reports.notice_sentences import headline
from mutiny.reports.plan_sentences import plan_sentence
from mutiny.verbs.assess.fault_search import distinct
from mutiny.verbs.assess.notice import Notice
from references import verdicts
from verbs.assess.found import fault as fault_record
from verbs.assess.found import points, rate_spelled_out, regression, separator, subject

pytestmark = pytest.mark.rounding

WEIGHTS = "GF,WI"


def assessed(some, operators=WEIGHTS, **more):
    return mutiny.assess(some, operators, **{"seeds": 2, "batch_size": 512, **more})


def arrays(data):
    return torch.as_tensor(data.read(slice(None))), torch.as_tensor(data.targets)


def by_hand(some, result):
    """Each fault beside original and mutant, made again from nothing but its record."""
    for fault in result.faults:
        (operator,) = as_operators(fault.configuration)
        original = some.models[fault.original]
        probe = torch.as_tensor(some.test.first(4))
        seed = result.settings["seed"]
        yield fault, original, verdicts.mutant(original, probe, operator, seed, fault.original, fault.seed)


@pytest.fixture(scope="module")
def several():
    some = subject(originals=3)
    return some, assessed(some, seed=4)


def test_costs_verdicts_and_classes_are_those_of_brute_force(several):
    some, result = several
    assert len(result.faults) > 20
    sets = {name: arrays(data) for name, data in (("test", some.test), ("validation", some.validation))}
    for fault, original, mutant in by_hand(some, result):
        right = {}
        for name, (x, y) in sets.items():
            with torch.no_grad():
                right[name] = [(net(x).argmax(1) == y).numpy() for net in (original, mutant)]
        before, after = right["validation"]
        assert fault.cost == pytest.approx(100 * (before.mean() - after.mean()), abs=1e-6)
        before, after = right["test"]
        broken, repaired = int((before & ~after).sum()), int((~before & after).sum())
        p = stats.binomtest(broken, broken + repaired, alternative="greater").pvalue if broken + repaired else 1.0
        assert fault.p_value == pytest.approx(p)
        assert fault.noticed == (p < 0.05)
        labels = sets["validation"][1].numpy()
        before, after = right["validation"]
        lost = [int(before[labels == c].sum()) - int(after[labels == c].sum()) for c in range(3)]
        assert fault.hits == (int(np.argmax(lost)) if max(lost) > 0 and 2 * max(lost) >= sum(lost) else None)


def test_the_summary_is_that_of_the_faults(several):
    _, result = several
    edges = (0.5, 1, 2, 4, 8)
    costs, noticed = [fault.cost for fault in result.faults], [fault.noticed for fault in result.faults]
    assert result.notice.rate == pytest.approx(rate_spelled_out(costs, noticed, edges))
    assert 0 < result.notice.rate < 1
    for label, rate in result.notice.operators.items():
        mine = [fault for fault in result.faults if fault.operator == label]
        expected = rate_spelled_out([f.cost for f in mine], [f.noticed for f in mine], edges)
        assert rate.rate == pytest.approx(expected)
        assert (rate.reason, rate.failed) == ("", False)
    assert result.notice.resampled == "originals"
    assert {fault.original for fault in result.faults} == {0, 1, 2}
    assert {fault.seed for fault in result.faults} == {0, 1}
    interval, other = result.notice.interval, result.notice.interval_other_inputs
    assert other.low <= interval.low < result.notice.rate < interval.high <= other.high
    assert result.complete


def test_the_table_of_changed_answers_explains_every_verdict(several):
    _, result = several
    changed = result.changed
    assert changed.inputs == 300
    for number, fault in enumerate(result.faults):
        mine = changed.change[changed.fault == number]
        broken, repaired = int((mine > 0).sum()), int((mine < 0).sum())
        p = stats.binomtest(broken, broken + repaired, alternative="greater").pvalue if broken + repaired else 1.0
        assert fault.p_value == pytest.approx(p)
    assert (changed.weight == 1).all()


def test_faults_fall_into_all_bins(several):
    assert all(each.faults for each in several[1].notice.bins)
    for rate in several[1].notice.operators.values():
        assert sum(each.faults > 0 for each in rate.bins) >= 3


def test_the_sentence_begins_with_the_answer(several):
    told = headline(several[1])
    assert told.startswith("Your 300 tests notice ")
    assert "of the faults that cost 1/2 to 8 accuracy points (95%: " in told
    assert told.endswith("over 3 originals).")
    assert "four times in five takes about" in plan_sentence(several[1])


def test_json_has_the_promised_keys_and_no_value_that_is_not_a_number(several):
    told = several[1].to_json()
    text = json.dumps(told, allow_nan=False)
    notice = told["notice"]
    assert {"rate", "interval", "interval_other_inputs", "bins", "false_alarms", "plan"} <= set(notice)
    assert {"low", "high"} <= set(notice["interval"]) & set(notice["interval_other_inputs"])
    assert all(set(each) == {"low", "high", "faults", "noticed", "rate"} for each in notice["bins"])
    assert all({"cost", "inputs"} <= set(each) for each in notice["plan"])
    keys = {"operator", "strength", "original", "seed", "cost", "noticed", "p_value", "basis"}
    assert all(keys <= set(fault) for fault in told["faults"])
    for group in (*notice["operators"].values(), *notice["classes"].values()):
        assert {"rate", "interval", "bins"} <= set(group)
    assert (told["verb"], told["settings"]["method"]) == ("assess", "notice")
    again = mutiny.Assessment.from_json(json.loads(text))
    assert again.to_json() == told
    assert again.notice == several[1].notice
    assert again.faults == several[1].faults


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("notice", "rate"), 1.5),
        (("notice", "bins", 0, "noticed"), 10**6),
        (("notice", "plan", 0, "inputs"), -1),
        (("notice", "false_alarms", "noticed"), 99),
        (("faults", 0, "cost"), "much"),
        (("faults", 0, "original"), None),
    ],
)
def test_a_file_with_impossible_values_is_refused(several, place, value):
    told = json.loads(json.dumps(several[1].to_json()))
    part = told
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    with pytest.raises(mutiny.BadInput):
        mutiny.Assessment.from_json(told)


def test_one_seed_one_answer(several):
    some, result = several
    again = assessed(some, seed=4)
    assert again.notice == result.notice
    assert again.faults == result.faults
    assert assessed(some, seed=5).faults != result.faults


def test_serial_and_processes_give_one_answer():
    some = subject(originals=2)
    serial = assessed(some, "GF,LA", seeds=1)
    processes = assessed(some, "GF,LA", seeds=1, engine="processes", workers=1)
    left, right = (replace(result, seconds=0.0, created="").to_json() for result in (serial, processes))
    for told in (left, right):
        told.pop("timing")
        told["settings"] = {k: v for k, v in told["settings"].items() if k not in ("engine", "workers")}
    assert left == right


def test_models_are_untouched(several):
    some, _ = several
    before = [ModelState.of(model) for model in some.models]
    assessed(some, "GF,WI,LA,NEB")
    assert [ModelState.of(model) for model in some.models] == before


def test_regression_is_that_of_brute_force():
    some = regression(originals=2)
    result = assessed(some, seeds=3)
    assert result.notice.unit == "percent added to the mse"
    assert [each.low for each in result.notice.bins] == [5, 10, 20, 40]
    sets = {name: arrays(data) for name, data in (("test", some.test), ("validation", some.validation))}
    counted = 0
    for fault, original, mutant in by_hand(some, result):
        with torch.no_grad():
            before, after = (
                {name: ((net(x) - y) ** 2).mean(1).double().numpy() for name, (x, y) in sets.items()}
                for net in (original, mutant)
            )
        worsening = 100 * (after["validation"].mean() / before["validation"].mean() - 1)
        assert fault.cost == pytest.approx(worsening, rel=1e-3, abs=1e-2)
        tolerated = 0.01 * before["test"].mean()
        p = stats.ttest_1samp(after["test"] - before["test"], tolerated, alternative="greater").pvalue
        assert fault.p_value == pytest.approx(p, rel=0.05, abs=1e-4)
        assert fault.hits is None
        counted += 5 <= fault.cost < 80
    assert counted == result.notice.faults > 10
    first, second = result.notice.interval, result.notice.interval_other_inputs
    assert second.low <= first.low <= result.notice.rate <= first.high <= second.high
    assert [size.cost for size in result.notice.plan] == [20, 10, 5]
    assert result.notice.classes == {}
    assert "that raise the mse by 5% to 80%" in headline(result)


def test_one_original_gets_more_seeds_and_says_what_its_interval_is_over():
    result = mutiny.assess(subject(originals=1), "GF", batch_size=512)
    assert result.settings["seeds"] == 10
    assert result.notice.resampled == "random choices"
    assert {fault.seed for fault in result.faults} == set(range(10))
    assert "10 random choices on one original" in headline(result)
    assert any(note.startswith("One original:") for note in result.notes)
    interval = result.notice.interval
    assert 0 < interval.high - interval.low < 0.9


def test_a_bare_model_with_a_validation_set():
    data, validation = points(300, seed=1), points(600, seed=2)
    result = mutiny.assess(separator(), "GF", data=data, validation=validation, seeds=2, batch_size=512)
    assert result.notice.rate is not None
    assert result.notice.reference.kind == "validation"
    assert result.notice.faults == sum(0.5 <= fault.cost < 8 for fault in result.faults)


def test_with_nothing_but_a_test_set_there_is_a_plan_and_no_rate():
    result = assessed(subject(originals=2, validation=None), "GF")
    notice = result.notice
    assert (notice.rate, notice.interval, notice.interval_other_inputs, notice.bins) == (None, None, None, ())
    assert (notice.reference.kind, notice.reference.inputs) == ("none", 0)
    assert {(rate.harmless, rate.drastic, rate.missed_drastic) for rate in notice.operators.values()} == {(0, 0, 0)}
    assert all(size.inputs > 50 for size in notice.plan)
    assert "Cannot tell which faults your 300 tests notice" in headline(result)
    assert any("validation=(inputs, targets)" in note for note in result.notes)
    told = result.to_json()
    json.dumps(told, allow_nan=False)
    assert told["notice"]["reference"]["metric_mean"] is None
    assert {(fault["cost"], fault["hits"]) for fault in told["faults"]} == {(None, None)}
    assert mutiny.Assessment.from_json(told).to_json() == told


def memorized(gap):
    """A network that is right on all its training inputs, and wrong on ``gap`` of 300 test inputs."""
    net, (x, _), (test, _) = separator(), points(600, seed=2), points(300, seed=1)
    with torch.no_grad():
        train, labels = (x, net(x).argmax(1)), net(test).argmax(1)
    labels[:gap] = (labels[:gap] + 1) % 3
    return subject(models=[net], validation=None, train=train, test=(test, labels))


def test_costs_on_memorized_inputs_are_called_points_on_training_inputs():
    result = assessed(memorized(60), "GF")
    assert result.notice.reference.kind == "train"
    assert result.notice.reference.memorized == pytest.approx(20)
    assert "accuracy points on training inputs" in headline(result)
    assert any(
        "the originals are 20 accuracy points worse on test inputs" in note and "validation=" in note
        for note in result.notes
    )
    honest = assessed(memorized(5), "GF")
    assert honest.notice.reference.memorized == 0
    assert "training inputs" not in headline(honest)
    held_out = assessed(subject(models=[separator()], test=memorized(60).test), "GF")
    assert held_out.notice.reference.memorized == 0


def test_a_class_without_test_inputs_is_named_and_its_faults_are_missed():
    x, y = points(450, seed=1)
    keep = y != 2
    result = assessed(subject(originals=2, test=(x[keep], y[keep])))
    assert "The test set has no input of class 2." in result.notes
    assert "2" in result.notice.classes


def test_a_model_without_biases():
    result = assessed(subject(models=[separator(seed, bias=False) for seed in range(2)]))
    assert result.notice.faults > 5


def layered(seed=0):
    """The linear classifier behind a layer that changes nothing, and a ReLU."""
    net = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
    head = separator(seed)
    with torch.no_grad():
        net[0].weight.copy_(torch.cat([torch.eye(6), -torch.eye(6)]))
        net[0].bias.zero_()
        net[2].weight.copy_(torch.cat([head.weight, -head.weight], dim=1))
        net[2].bias.zero_()
    return net.eval()


def test_an_operator_that_does_not_apply_has_a_reason_and_no_faults():
    result = assessed(subject(originals=2), "GF,AFR")
    rate = result.notice.operators["AFR"]
    assert (rate.rate, rate.faults, rate.failed) == (None, 0, False)
    assert "activation" in rate.reason
    assert result.notice.rate == pytest.approx(result.notice.operators["GF"].rate)
    assert result.complete


def test_operators_without_a_strength_take_part_with_the_faults_that_they_have():
    result = assessed(subject(models=[layered(0), layered(1)]), "LA,AFR,GF")
    added = [fault for fault in result.faults if fault.operator == "LA"]
    assert len(added) > 2
    assert {(fault.strength, fault.parameter) for fault in added} == {(None, None)}
    assert len({(fault.original, fault.seed) for fault in added}) == len(added)
    removed = [fault for fault in result.faults if fault.operator == "AFR"]
    assert len(removed) == 2  # there is one activation to remove in each original
    total = sum(rate.faults + rate.harmless + rate.drastic for rate in result.notice.operators.values())
    assert total == len(result.faults)


def test_a_fault_that_many_random_choices_find_counts_once():
    """Of two originals; faults without a digest are all different."""
    found = [("a", 0), ("b", 0), ("a", 1), ("a", 0), ("", 0), ("", 0), ("b", 0)]
    faults = [
        replace(fault_record(original=original, seed=at), digest=digest) for at, (digest, original) in enumerate(found)
    ]
    assert [each.record.seed for each in distinct(faults)] == [0, 1, 2, 4, 5]


def test_shrinking_all_neurons_is_the_same_fault_with_every_random_choice():
    result = assessed(subject(models=[layered(0), layered(1)]), "NI(ratio=1.0)", seeds=4)
    assert result.faults
    assert {fault.seed for fault in result.faults} == {0}


def test_an_unlabeled_pool_measures_no_cost():
    some = subject(originals=2, validation=None, train=points(600, seed=2), pool=points(200, seed=5)[0])
    result = assessed(some, "GF")
    assert result.notice.reference.kind == "train"
    assert result.subject.pool == 200


@dataclass(frozen=True)
class Crashing(Operator):
    """An operator with a bug."""

    code: ClassVar[str] = "CRASH"
    title: ClassVar[str] = "crash"
    source: ClassVar[str] = "here"

    def edits(self, view, rng):
        raise RuntimeError("a bug in the operator")


def test_a_failed_job_leaves_the_other_operators_and_is_told():
    some = subject(originals=2)
    before = [ModelState.of(model) for model in some.models]
    result = mutiny.assess(some, ["GF", Crashing()], seeds=1, batch_size=512)
    rate = result.notice.operators["CRASH"]
    assert rate.failed
    assert "a bug in the operator" in rate.reason
    assert not result.complete
    assert result.notice.rate == pytest.approx(result.notice.operators["GF"].rate)
    assert [ModelState.of(model) for model in some.models] == before


def least_changed(some, result, size, rng):
    """As many inputs as wanted, of those whose answers the fewest faults change."""
    changes = np.bincount(result.changed.position, minlength=len(some.test))
    order = np.lexsort((rng.random(len(changes)), changes))
    return order[:size]


def part(some, positions):
    x, y = arrays(some.test)
    return x[positions], y[positions]


def test_an_easy_test_set_scores_less_than_a_random_one_of_the_same_size():
    rng = np.random.default_rng(0)
    some = subject(originals=2, test=900)
    easy = least_changed(some, assessed(some, seed=7), 300, rng)
    rates = [
        assessed(subject(originals=2, test=part(some, chosen)), seed=1).notice.rate
        for chosen in (easy, rng.choice(900, 300, replace=False))
    ]
    assert rates[0] < rates[1] / 2


def test_more_tests_notice_more_of_the_same_faults():
    """A fault is forgotten only if further answers were repaired by it."""
    some = subject(originals=2, test=900)
    rates, known = [], {}
    for size in (60, 200, 900):
        result = assessed(subject(originals=2, test=part(some, np.arange(size))))
        rates.append(result.notice.rate)
        for number, fault in enumerate(result.faults):
            change = result.changed.change[result.changed.fault == number]
            key = fault.configuration, fault.original, fault.seed
            noticed, repaired = known.get(key, (False, 0))
            if noticed and not fault.noticed:
                assert (change < 0).sum() > repaired
            known[key] = fault.noticed, (change < 0).sum()
        assert len(known) == len(result.faults)  # the test set does not choose the faults
    assert rates == sorted(rates)
    assert rates[-1] > rates[0] + 0.3


def test_harmless_changes_are_noticed_at_most_as_often_as_alpha_says():
    """Noise as large as rounding to bfloat16, on inputs near the boundary, where it changes many answers."""
    changes = noticed = 0
    near = points(400, seed=1, spread=0.6)
    for seed in range(5):
        some = subject(originals=1, test=near)
        alarms = assessed(some, "GF", seeds=1, seed=seed).notice.false_alarms
        assert alarms.changes == 20
        changes, noticed = changes + alarms.changes, noticed + alarms.noticed
    assert noticed <= 0.05 * changes + 2 * math.sqrt(0.05 * 0.95 * changes)


def test_a_stricter_judge_notices_less():
    some = subject(originals=2)
    usual, strict = (assessed(some, judge=mutiny.PairedTest(alpha)) for alpha in (0.05, 0.001))
    assert [fault.p_value for fault in usual.faults] == [fault.p_value for fault in strict.faults]
    assert all(fault.noticed == (fault.p_value < 0.001) for fault in strict.faults)
    assert strict.notice.rate < usual.notice.rate
    assert strict.notice.alpha == 0.001
    assert strict.notice.plan[0].inputs > usual.notice.plan[0].inputs


def test_the_same_call_is_recalled_unless_the_reference_set_differs(tmp_path):
    store = tmp_path / "runs.sqlite"
    first = assessed(subject(originals=1), "GF", store=store)
    again = assessed(subject(originals=1), "GF", store=store)
    assert again.created == first.created
    other = assessed(subject(originals=1, validation=points(600, seed=9)), "GF", store=store)
    assert [f.cost for f in other.faults] != [f.cost for f in first.faults]
    tests = assessed(subject(originals=1, test=points(200, seed=9)), "GF", store=store)
    assert [f.p_value for f in tests.faults] != [f.p_value for f in first.faults]


class Recording(Serial):
    """Keeps the jobs that it ran."""

    def __init__(self):
        self.ran = []

    def run(self, work, jobs):
        for result in super().run(work, jobs):
            self.ran.append(result.job)
            yield result


def test_each_random_choice_is_a_job_so_that_more_of_them_reuse_finished_jobs(tmp_path):
    store, engine = tmp_path / "runs.sqlite", Recording()
    fewer = assessed(subject(originals=2), "GF,LA", seeds=1, store=store)
    more = assessed(subject(originals=2), "GF,LA", seeds=3, store=store, engine=engine)
    assert sorted(job.arguments for job in engine.ran) == [
        (label, original, seed) for label in ("GF", "LA") for original in (0, 1) for seed in (1, 2)
    ]
    assert set(fewer.faults) < set(more.faults)


def test_a_constant_network_is_refused_before_any_fault():
    net = nn.Linear(6, 3)
    with torch.no_grad():
        net.weight.zero_()
        net.bias.copy_(torch.tensor([2.0, 0.0, 0.0]))
    engine = Recording()
    with pytest.raises(mutiny.BadInput, match=r"better than a network with all weights zero.*beats a constant answer"):
        assessed(subject(models=[separator(), net.eval()]), "GF", engine=engine)
    kinds = [job.kind for job in engine.ran]
    assert (kinds.count("preflight"), kinds.count("faults")) == (2, 0)


def test_a_network_that_draws_at_random_is_refused():
    class Drawing(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = separator()

        def forward(self, x):
            return self.layer(x) + 0.2 * torch.randn(len(x), 3)

    with pytest.raises(mutiny.BadInput, match=r"not deterministic"):
        assessed(subject(models=[Drawing().eval()]), "GF")


@dataclass(frozen=True)
class Forgetting(Operator):
    """Never answers with the last class."""

    code: ClassVar[str] = "FORGET"
    title: ClassVar[str] = "forgotten class"
    source: ClassVar[str] = "here"

    def choices(self, view):
        return 1

    def edits(self, view, rng):
        yield WeightEdit("bias", np.array([2]), torch.tensor([-100.0]))


def test_drastic_faults_that_are_missed_are_named():
    """The test set has nothing of class 2, so that a network that forgets it looks fine."""
    x, y = points(450, seed=1)
    result = mutiny.assess(subject(originals=2, test=(x[y != 2], y[y != 2])), ["GF", Forgetting()], seeds=2)
    forgotten = [fault for fault in result.faults if fault.operator == "FORGET"]
    assert [fault.original for fault in forgotten] == [0, 1]
    assert all(fault.cost > 25 and fault.hits == 2 and not fault.noticed for fault in forgotten)
    assert [fault for fault in result.missed_drastic() if fault.operator == "FORGET"] == forgotten
    rate = result.notice.operators["FORGET"]
    assert (rate.rate, rate.drastic, rate.missed_drastic) == (None, 2, 2)


def test_tables_and_metrics(several):
    result = several[1]
    tables = result.tables()
    assert [row["operator"] for row in tables["operators"]] == ["GF", "WI"]
    assert len(tables["faults"]) == len(result.faults)
    assert result.metrics()["notice"] == result.notice.rate
    assert set(result.metrics()) == {"notice", "notice.GF", "notice.WI"}
    assert repr(result).startswith("Assessment('points', notice rate 0.")


def test_a_notice_without_faults_is_empty():
    empty = Notice(None, None, ())
    assert (empty.faults, empty.noticed) == (0, 0)
