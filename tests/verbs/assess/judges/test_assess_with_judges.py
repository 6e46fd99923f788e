"""An assessment with several judges: compared with slow loops over its faults, on every engine, from files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import mutiny
from mutiny.core.errors import BadInput
from mutiny.core.records import JudgeOutcome
from mutiny.verbs.assess.bar import compare_with_bar
from mutiny.verbs.assess.judges.base import Judge, Judgement
from verbs.assess.found import rate_spelled_out, regression, subject

OPERATORS, SEEDS = "GF,WI", 3
GATES = ("accuracy >= 0.7", "drop <= 3pt", "recall(class=1) >= 0.5 and accuracy >= 0.75")


def mostly_right(predict, test):
    return (predict(test).argmax(1).numpy() == test.targets).mean() >= 0.75


@dataclass(frozen=True)
class Moody(Judge):
    """Decides some faults, and others not."""

    code: ClassVar[str] = "moody"
    title: ClassVar[str] = "moody judge"
    source: ClassVar[str] = "a test"

    def judge(self, clean: Any, faulty: Any) -> Judgement:
        wrong = int((~faulty.correct).sum())
        if wrong % 3 == 0:
            return Judgement(JudgeOutcome.UNDECIDED, "a multiple of three")
        if wrong % 3 == 1:
            raise ValueError("one too many")
        return Judgement.of(wrong % 2 == 0)


def assessed(given, **more):
    return mutiny.assess(given, OPERATORS, seeds=SEEDS, **more)


@pytest.fixture(scope="module")
def tested():
    return subject()


@pytest.fixture(scope="module")
def alone(tested):
    return assessed(tested)


@pytest.fixture(scope="module")
def several(tested):
    return assessed(tested, judge=[*GATES, mostly_right, "kill-rule", Moody()])


def test_other_judges_leave_the_paired_test_as_it_is(alone, several):
    assert several.notice == alone.notice
    assert [(f.cost, f.p_value, f.patch) for f in several.faults] == [
        (f.cost, f.p_value, f.patch) for f in alone.faults
    ]
    assert alone.judges == ()
    assert alone.headline_notice is alone.notice
    assert "judges" not in alone.to_json()
    assert all("judged" not in fault for fault in alone.to_json()["faults"])


def test_the_values_of_a_gate_are_those_of_the_changed_answers(tested, several):
    _, targets = tested.test.first(0), tested.test.targets
    changed = several.changed
    for number, fault in enumerate(several.faults):
        net = tested.models[fault.original]
        with torch.no_grad():
            clean = int((net(tested.test.first(len(targets))).argmax(1).numpy() == targets).sum())
        lost = changed.change[changed.fault == number].sum()
        values = {each.judge: each.values for each in fault.judged}
        assert values["accuracy >= 0.7"] == pytest.approx(((clean - lost) / len(targets),))
        assert values["drop <= 3pt"] == pytest.approx((lost / len(targets),))
        assert fault.outcome("drop <= 3pt") == ("missed" if lost / len(targets) <= 0.03 + 1e-9 else "noticed")


def test_the_record_of_a_judge_is_that_of_its_faults(several):
    edges = [each.low for each in several.notice.bins] + [several.notice.bins[-1].high]
    for record in several.judges:
        outcomes = [(fault.cost, fault.outcome(record.judge)) for fault in several.faults]
        decided = [(cost, outcome) for cost, outcome in outcomes if outcome in ("noticed", "missed")]
        costs, noticed = [cost for cost, _ in decided], [outcome == "noticed" for _, outcome in decided]
        assert record.rate == pytest.approx(rate_spelled_out(costs, noticed, edges))
        counted = [outcome for cost, outcome in outcomes if edges[0] <= cost < edges[-1]]
        assert (record.undecided, record.broken) == (counted.count("undecided"), counted.count("broken"))
        assert record.faults == len(counted) - record.undecided - record.broken
    assert several.judges[-1].judge == "paired"
    assert several.judges[-1].rate == several.notice.rate


def test_what_is_not_decided_is_told_with_its_reasons(several):
    (moody,) = [record for record in several.judges if record.kind == "moody"]
    assert moody.undecided
    assert moody.broken
    told = {(each.outcome, each.reason): each.faults for each in moody.reasons}
    assert told == {
        ("undecided", "a multiple of three"): moody.undecided,
        ("broken", "ValueError: one too many"): moody.broken,
    }


def test_the_first_judge_decides_the_headline_and_the_bar(several):
    first = several.judges[0]
    assert several.headline_notice.rate == first.rate != several.notice.rate
    assert several._headline().startswith(('Your gate "accuracy >= 0.7" on', "Cannot tell what share of"))
    assert compare_with_bar(several.headline_notice, 0.999).fails(strict=True)
    assert several.by_headline_judge.headline_notice.rate == first.rate


def test_a_result_with_judges_is_the_same_from_json(several):
    plain = json.loads(json.dumps(several.to_json()))
    again = mutiny.Assessment.from_json(plain)
    assert again.to_json() == several.to_json()
    assert again.judges[0].calibration.curve.bounds == several.judges[0].calibration.curve.bounds


def test_engines_and_stores_give_the_same_result(tested, several, tmp_path):
    judges = [*GATES, mostly_right, "kill-rule", Moody()]
    file = tmp_path / "points.mutiny"
    first = assessed(tested, judge=judges[:-1], store=file, engine="processes", workers=2)
    again = assessed(tested, judge=judges[:-1], store=file)
    assert again.to_json() == first.to_json()
    wanted = [record for record in several.judges if record.kind != "moody"]
    assert list(first.judges) == wanted


def test_the_calibration_counts_what_a_loop_counts(several):
    for record in several.judges[:2]:
        calibration = record.calibration
        for each in calibration.bins:
            inside = [f for f in several.faults if each.low <= f.cost < each.high]
            assert each.faults == len(inside)
            assert each.missed == sum(f.outcome(record.judge) == "missed" for f in inside)
        assert len(calibration.clean) == 3
        assert {alarms.source.value for alarms in calibration.alarms} == {
            "other test sets",
            "retrained originals",
            "harmless variants",
        }
        at = int(np.argmin(np.abs(np.array(calibration.curve.bounds) - calibration.advice.bound)))
        assert calibration.curve.miss_rates[at] is not None


def test_predicted_chances_are_near_what_faults_do(several):
    drop = several.judges[1].calibration
    predicted = sum(each.predicted * each.faults for each in drop.bins if each.faults)
    missed = sum(each.missed for each in drop.bins)
    assert predicted == pytest.approx(missed, abs=0.25 * sum(each.faults for each in drop.bins))


def test_a_gate_that_an_original_fails_is_refused_before_any_fault(tested):
    with pytest.raises(BadInput, match=r"expected a gate that original 1 passes, but accuracy 0\.\d+ is below 0.99"):
        assessed(tested, judge="accuracy >= 0.99")


def test_a_metric_of_another_task_is_refused(tested):
    with pytest.raises(BadInput, match="expected a metric of classification, not mae"):
        assessed(tested, judge="mae <= 0.1")
    with pytest.raises(BadInput, match="expected a metric of regression, not recall"):
        assessed(regression(), judge="recall(macro) >= 0.5")


def test_a_regression_has_gates_on_its_loss():
    result = assessed(regression(), judge="rise(mse) <= 0.01")
    gate = result.judges[0]
    assert gate.calibration.unit == "percent added to the mse"
    assert gate.calibration.bins[0].predicted is None
    for fault in result.faults:
        (judgement,) = fault.judged
        assert fault.outcome(gate.judge) == ("missed" if judgement.values[0] <= 0.01 else "noticed")


def test_models_are_untouched_by_judges(tested):
    before = [{name: value.clone() for name, value in net.state_dict().items()} for net in tested.models]
    assessed(tested, judge=[lambda predict, test: bool(predict(test).sum() < 1e9)])
    for net, state in zip(tested.models, before, strict=True):
        assert all(torch.equal(value, state[name]) for name, value in net.state_dict().items())
