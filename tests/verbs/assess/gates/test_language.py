"""What the grammar of gates accepts, what it refuses, and where it points."""

import pickle
import re
from pathlib import Path

import pytest
from hypothesis import given

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.gates.grammar import DEEPEST, parse_gate
from mutiny.verbs.assess.gates.metric_table import METRICS, NAMES
from verbs.assess.gates.gate_cases import GATES


@given(GATES)
def test_the_canonical_text_parses_to_the_same_gate(text):
    gate = parse_gate(text)
    again = parse_gate(str(gate))
    assert (again, again.condition, hash(again)) == (gate, gate.condition, hash(gate))
    assert str(again) == str(gate)


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("accuracy >= 97%", "accuracy >= 0.97"),
        ("  ACCURACY>=.97\n", "accuracy >= 0.97"),
        ("accuracy_score >= 9.7e-1", "accuracy >= 0.97"),
        ("drop <= 0.5pt", "drop <= 0.5pt"),
        ("drop <= 0.5 PT", "drop <= 0.5pt"),
        ("drop <= 0.005", "drop <= 0.5pt"),
        ("drop <= 0.3pt", "drop <= 0.3pt"),
        ("drop(f1(average=macro)) <= 0.01", "drop(f1(macro)) <= 1pt"),
        ("drop <= -0", "drop <= 0pt"),
        ("ece(bins=15) <= 3pt", "expected_calibration_error <= 0.03"),
        ("calibration_error(bins=10) <= 0.03", "expected_calibration_error(bins=10) <= 0.03"),
        ("log_loss <= 1e30", "log_loss <= 1e30"),
        ("recall(class=03) > 0", "recall(class=3) > 0"),
        ("(((accuracy > .5)))", "accuracy > 0.5"),
        ("NOT NOT accuracy > .5", "not not accuracy > 0.5"),
        ("accuracy > .5 and (drop < 1pt and f1 > .1)", "accuracy > 0.5 and drop < 1pt and f1 > 0.1"),
        ("accuracy > .5 or (drop < 1pt and f1 > .1)", "accuracy > 0.5 or drop < 1pt and f1 > 0.1"),
        ("(accuracy > .5 or drop < 1pt) and f1 > .1", "(accuracy > 0.5 or drop < 1pt) and f1 > 0.1"),
        ("not (accuracy > .5 or drop < 1pt)", "not (accuracy > 0.5 or drop < 1pt)"),
    ],
)
def test_equal_gates_have_one_text(text, canonical):
    assert str(parse_gate(text)) == canonical


@pytest.mark.parametrize(
    ("text", "column", "words"),
    [
        ("", 1, "a metric"),
        ("acuracy >= 0.97", 1, "Did you mean accuracy"),
        ("accuracy >= 0.97 and f2(macro) > 1", 22, "Did you mean r2 or f1?"),
        ("0.97 <= accuracy", 1, "the metric first"),
        ("accuracy", 9, "one of >=, >, <=, <"),
        ("accuracy == 0.9", 10, "One of >=, >, <= and <"),
        ("accuracy ≥ 0.9", 10, "Write >=."),
        ("accuracy >= 0.9 && drop < 1pt", 17, "and"),
        ("accuracy >=", 12, "a number"),
        ("accuracy >= nan", 13, "a number"),
        ("accuracy >= inf", 13, "a number"),
        ("accuracy >= 0x10", 14, "and, or, or the end"),
        ("accuracy >= 1_0", 14, "and, or, or the end"),
        ("accuracy >= \u0663", 13, "a metric"),
        ("accuracy >= 1e999", 13, "a smaller number"),
        ("accuracy >= 97", 13, "Write 97%."),
        ("drop <= 2", 9, "Write 2pt."),
        ("mse <= -1", 8, "a number from 0"),
        ("mse <= 3%", 9, "without a unit"),
        ("accuracy >= 0.9 drop < 1pt", 17, "and, or, or the end"),
        ("(accuracy >= 0.9", 17, "')'"),
        ("accuracy >= 0.9)", 16, "and, or, or the end"),
        ("accuracy >= 0.9 and", 20, "a metric"),
        ("drop(mse) <= 3", 1, "Write rise(mse)."),
        ("rise(accuracy) <= .1", 1, "Write drop(accuracy)."),
        ("rise <= 2", 6, "a metric after rise"),
        ("drop(drop) <= 1pt", 6, "a metric"),
        ("accuracy(macro) >= .9", 10, "no options"),
        ("f1(makro) >= .9", 4, "macro, micro, weighted or class=3"),
        ("f1(macro, class=1) >= .9", 11, "a single option"),
        ("f1(macro >= .9", 10, "','"),
        ("recall(class=-3) >= .9", 8, "a whole number"),
        ("recall(class=3.0) >= .9", 8, "a whole number"),
        ("recall(class=9999999) >= .9", 8, "a whole number"),
        ("top_k_accuracy >= .9", 1, "top_k_accuracy(k=5)"),
        ("top_k_accuracy(k=5, k=6) >= .9", 21, "only once"),
        ("(" * 25 + "accuracy >= .9", DEEPEST + 2, "levels"),
    ],
)
def test_a_grammar_error_points_at_its_column(text, column, words):
    with pytest.raises(BadInput) as refused:
        parse_gate(text, "--judge")
    assert f"at column {column}," in str(refused.value)
    assert words in str(refused.value)
    assert str(refused.value).startswith("--judge=")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("accuracy >= .9" + " " * 1000, "at most 1,000 characters, not 1,014"),
        (0.97, "a text such as"),
        (None, "a text"),
    ],
)
def test_a_gate_is_a_text_of_bounded_length(text, words):
    with pytest.raises(BadInput, match=words):
        parse_gate(text)


def test_every_name_of_a_metric_is_understood():
    bound = {"top_k_accuracy": "(k=3) >= 0.5"}
    for name, metric in NAMES.items():
        assert parse_gate(f"{name}{bound.get(metric, ' >= 0.5')}").metrics[0].name == metric
    assert set(NAMES.values()) == set(METRICS)


def test_the_guide_lists_every_name_of_a_metric():
    page = (Path(__file__).parents[4] / "docs" / "gates.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"`([a-z0-9_]+)(?:\([^`]*\))?`", page.partition("| metric |")[2].partition("\n\n")[0]))
    assert set(NAMES) <= listed


def test_metrics_are_listed_once_and_only_a_single_comparison_has_a_threshold():
    gate = parse_gate("accuracy > .5 and not (drop < 1pt or accuracy < .2)")
    assert [str(metric) for metric in gate.metrics] == ["accuracy", "drop"]
    assert gate.thresholds is None
    assert not gate.is_paired
    single = parse_gate("drop(f1(macro)) <= 1pt")
    assert (str(single.thresholds.metric), single.thresholds.operator, single.thresholds.bound) == (
        "drop(f1(macro))",
        "<=",
        0.01,
    )
    assert single.is_paired


def test_a_gate_with_another_bound_differs_in_nothing_else():
    gate = parse_gate("drop(f1(macro)) < 1pt", "--judge").with_bound(0.025)
    assert gate == parse_gate("drop(f1(macro)) < 2.5pt")
    assert gate.argument == "--judge"
    with pytest.raises(BadInput, match="a single comparison"):
        parse_gate("accuracy > .5 and drop < 1pt").with_bound(0.5)
    for wrong in (float("nan"), float("inf"), 1.5, "0.5", True):
        with pytest.raises(BadInput, match="a number from -1 to 1"):
            gate.with_bound(wrong)


def test_a_gate_survives_pickling():
    gate = parse_gate("f1(macro) >= 0.9 or not drop > 1pt")
    again = pickle.loads(pickle.dumps(gate))
    assert (again, again.condition) == (gate, gate.condition)
