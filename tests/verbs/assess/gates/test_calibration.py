"""Calibration records: bins, curve, advice, sentences, JSON, and predicted against simulated misses."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as reference

from mutiny.core.errors import BadInput
from mutiny.core.json_values import from_plain, to_plain
from mutiny.core.stats import clopper_pearson
from mutiny.core.stats.gate_curve import BoundRule
from mutiny.core.stats.notice import notice_rate
from mutiny.verbs.assess.gates.calibrate import MOST_BOUNDS, calibrate_gate
from mutiny.verbs.assess.gates.calibration import GateCalibration
from mutiny.verbs.assess.gates.calibration_sentence import calibration_sentence, let_through
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.gates.harmless_trials import AlarmSource, HarmlessTrials, other_test_sets
from mutiny.verbs.assess.gates.prediction import predicted_pass_chance
from mutiny.verbs.assess.gates.round_bound import rounded_loosely
from verbs.assess.gates.gate_cases import counted

RIGHT = 960
VARIANTS = AlarmSource.HARMLESS_VARIANTS


def harmless(values, source=VARIANTS, gate="drop <= 2pt"):
    values = np.asarray(values, float)
    single = parse_gate(gate).thresholds
    return HarmlessTrials(source, single.rule.passes(values, single.bound), values, len(values))


def faults(seed=0, number=300):
    """Costs in points, and drops on a test set of 1,000 inputs that scatter around them."""
    rng = np.random.default_rng(seed)
    costs = np.exp(rng.uniform(np.log(0.3), np.log(12), number))
    return costs, rng.binomial(1000, costs / 100) / 1000, rng.integers(0, 5, number)


def calibrated(**more):
    costs, drops, units = faults()
    gate = parse_gate("drop <= 2pt")
    changes = [harmless(np.random.default_rng(1).normal(0, 0.003, 200).round(3))]
    passed = drops <= 0.02 + 1e-12
    return calibrate_gate(gate, costs, passed, drops, units=units, harmless=changes, clean=[0.96], **more)


def test_bins_and_rates_are_those_of_counting():
    costs, drops, _ = faults()
    found = calibrated()
    assert found.miss_rate == pytest.approx(1 - notice_rate(costs, drops > 0.02 + 1e-12))
    for each in found.bins:
        inside = (costs >= each.low) & (costs < each.high)
        missed = int((drops[inside] <= 0.02 + 1e-12).sum())
        assert (each.faults, each.missed, each.rate) == (inside.sum(), missed, missed / inside.sum())
        assert each.interval == clopper_pearson(missed, int(inside.sum()))
    assert found.interval.low <= found.miss_rate <= found.interval.high


def test_the_curve_at_the_bound_of_the_gate_is_what_the_gate_does():
    found = calibrated()
    place = found.curve.bounds.index(0.02)
    assert found.curve.miss_rates[place] == pytest.approx(found.miss_rate)
    assert [column[place] for column in found.curve.bin_miss_rates] == pytest.approx([b.rate for b in found.bins])
    assert found.curve.alarm_rates[VARIANTS][place] == found.alarms[0].rate
    assert list(found.curve.bounds) == sorted(found.curve.bounds)


def test_the_advised_gate_does_what_the_advice_says():
    costs, drops, _ = faults()
    found = calibrated()
    advised = parse_gate(found.advice.gate)
    assert advised.thresholds.bound == found.advice.bound
    passed = advised.thresholds.rule.passes(drops, found.advice.bound)
    assert found.advice.miss_rate == pytest.approx(1 - notice_rate(costs, ~passed))
    assert found.advice.alarms.rate <= 0.01
    assert found.advice.miss_rate < found.miss_rate
    assert found.alarms[0].rate == 0.0


def test_a_curve_of_many_bounds_is_thinned_and_keeps_both_ends():
    rng = np.random.default_rng(0)
    costs, values = rng.uniform(0.5, 8, 3000), rng.random(3000)
    found = calibrate_gate(parse_gate("accuracy >= 50%"), costs, values >= 0.5, values)
    assert MOST_BOUNDS <= len(found.curve.bounds) <= MOST_BOUNDS + 1
    assert (found.curve.bounds[0], found.curve.bounds[-1]) == (values.max(), values.min())
    assert 0.5 in found.curve.bounds
    assert found.curve.alarm_rates == {}
    assert found.advice is None


def test_a_gate_with_several_comparisons_has_bins_and_alarms_only():
    clean = counted(RIGHT, 1000)
    gate = parse_gate("accuracy >= 0.95 and drop <= 2pt")
    trials = other_test_sets(gate, [(clean, clean)], 100)
    found = calibrate_gate(gate, [1.5, 1.5], [True, False], [math.nan] * 2, harmless=[trials])
    assert (found.curve, found.advice, found.bins[1].missed) == (None, None, 1)
    assert found.alarms[0].alarms == int((~trials.passed).sum())


def test_advice_is_about_the_first_source_that_is_not_trivial_or_the_chosen_one():
    clean = counted(RIGHT, 1000)
    gate = parse_gate("drop <= 2pt")
    trivial = other_test_sets(gate, [(clean, clean)], 10)
    retrained = harmless([0.0, 0.011], AlarmSource.RETRAINED_ORIGINALS)
    variants = harmless([0.0, 0.001])
    given = {"costs": [1.5], "passed": [True], "values": [0.015], "harmless": [trivial, retrained, variants]}
    assert calibrate_gate(gate, **given).advice.bound == 0.011
    assert calibrate_gate(gate, **given, advise_on=VARIANTS).advice.bound == 0.001
    assert calibrate_gate(gate, **given, advise_on=AlarmSource.OTHER_TEST_SETS).advice is None
    assert set(calibrate_gate(gate, **given).curve.alarm_rates) == {"retrained originals", "harmless variants"}


def test_records_are_read_back_from_json():
    found = calibrated(predicted=np.linspace(0, 1, 300))
    again = from_plain(GateCalibration, json.loads(json.dumps(to_plain(found), allow_nan=False)))
    assert again == found
    value = to_plain(found)
    value["bins"][0]["missed"] = 10**6
    with pytest.raises(BadInput, match="at most the faults"):
        from_plain(GateCalibration, value)


def test_without_faults_there_is_no_rate():
    found = calibrate_gate(parse_gate("drop <= 2pt"), [], [], [])
    assert (found.miss_rate, found.bins[0].rate, found.curve.miss_rates) == (None, None, (None,))
    assert calibration_sentence(found) == "There is no fault to try `drop <= 2pt` on."
    assert from_plain(GateCalibration, to_plain(found)) == found


def test_shapes_and_levels_are_checked():
    with pytest.raises(BadInput, match="same length"):
        calibrate_gate(parse_gate("drop <= 2pt"), [1.0], [])
    with pytest.raises(BadInput, match="level"):
        calibrate_gate(parse_gate("drop <= 2pt"), [1.0], [True], level=2)


def test_the_sentence_names_the_costliest_bin_that_mostly_passes_and_what_alarms_are_over():
    costs = [0.7] * 10 + [1.5] * 10 + [3.0] * 10
    drops = [0.007] * 10 + [0.009] * 3 + [0.015] * 4 + [0.021] * 3 + [0.03] * 10
    gate, changes = parse_gate("drop <= 2pt"), [0.0] * 98 + [0.0071, 0.012]
    passed = [drop <= 0.02 for drop in drops]
    found = calibrate_gate(gate, costs, passed, drops, harmless=[harmless(changes)])
    assert calibration_sentence(found) == (
        "At `drop <= 2pt` you let 70% of the faults that cost 1 to 2 accuracy points pass. It raises false alarms in "
        "0% of 100 harmless variants on this test set (95% interval 0% to 4%). `drop <= 0.8pt` would let 0% of them "
        "pass, with false alarms in 1% of 100 harmless variants on this test set (95% interval less than 0.1% to 5%). "
        "This is about the same network, exported or rounded; for a retrained one, it takes at least 5 originals."
    )


def test_the_sentence_says_that_a_network_compared_with_itself_never_alarms():
    clean = counted(RIGHT, 1000)
    gate = parse_gate("drop <= 2pt")
    found = calibrate_gate(gate, [3.0], [False], [0.03], harmless=[other_test_sets(gate, [(clean, clean)], 10)])
    assert calibration_sentence(found) == (
        "At `drop <= 2pt` you let 0% of the faults that cost 2 to 4 accuracy points pass. It raises no false alarms on "
        "other test sets, where a network is only compared with itself."
    )


@pytest.mark.parametrize(
    ("trials", "words"),
    [
        (HarmlessTrials(AlarmSource.RETRAINED_ORIGINALS, np.array([True] * 90), np.zeros(90), 5), "90 comparisons of"),
        (
            HarmlessTrials(AlarmSource.RETRAINED_ORIGINALS, np.array([True] * 9), np.zeros(9), 9),
            "of 9 originals trained",
        ),
        (HarmlessTrials(VARIANTS, np.array([False]), np.zeros(1), 1), "100% of 1 harmless variant on"),
        (HarmlessTrials(VARIANTS, np.zeros(0, bool), np.zeros(0), 0), "because none was tried"),
    ],
)
def test_the_sentence_says_what_false_alarms_are_over(trials, words):
    assert words in calibration_sentence(calibrate_gate(parse_gate("drop <= 2pt"), [3.0], [False], harmless=[trials]))


def test_costs_of_a_regression_are_named_as_such():
    found = calibrate_gate(
        parse_gate("mse <= 0.5"), [7.0], [True], [0.4], edges=(5, 10, 20), unit="percent added to the mse"
    )
    assert let_through(found) == "At `mse <= 0.5` you let 100% of the faults that raise the mse by 5% to 10% pass."


@pytest.mark.parametrize(
    "text", ["drop <= 1pt", "drop < 1pt", "drop(accuracy) <= 1.5pt", "accuracy >= 0.95", "accuracy > 95%"]
)
@pytest.mark.parametrize("known", [True, False])
def test_predicted_misses_are_those_of_simulated_faults(text, known):
    rng, inputs, accuracy, broken, repaired = np.random.default_rng(0), 1000, 0.96, 0.015, 0.004
    gate, runs = parse_gate(text), 4000
    right = np.full(runs, RIGHT) if known else rng.binomial(inputs, accuracy, runs)
    lost = rng.binomial(right, broken / accuracy) - rng.binomial(inputs - right, repaired / (1 - accuracy))
    single = gate.thresholds
    values = lost / inputs if single.metric.change else (right - lost) / inputs
    passed = int(single.rule.passes(values, single.bound).sum())
    (chance,) = predicted_pass_chance(
        gate, [broken], [repaired], inputs, clean_accuracy=accuracy, clean_right=RIGHT if known else None
    )
    assert reference.binomtest(passed, runs, chance).pvalue > 1e-6


@pytest.mark.parametrize(
    "text", ["f1(macro) >= 0.5", "accuracy >= 0.5 and drop < 1pt", "drop >= 1pt", "accuracy <= 0.5"]
)
def test_other_gates_have_no_prediction(text):
    assert predicted_pass_chance(parse_gate(text), [0.1], [0.0], 100, clean_accuracy=0.9) is None


@given(st.lists(st.integers(0, 3000).map(lambda n: n / 3000), min_size=1, max_size=20), st.booleans(), st.booleans())
def test_a_rounded_bound_passes_the_same_values(values, upper, strict):
    rule, bound = BoundRule(upper, strict), values[0]
    rounded = rounded_loosely(bound, rule, values)
    assert rule.passes(values, rounded).tolist() == rule.passes(values, bound).tolist()
    assert rounded >= bound if upper else rounded <= bound
    assert len(repr(rounded)) <= max(len(repr(bound)), 18)
