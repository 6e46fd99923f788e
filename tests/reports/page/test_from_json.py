"""Results that nobody vouches for: read as they were written, or refused in a sentence."""

import copy
import io
import json
import math

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from mutiny.core.errors import BadInput
from mutiny.core.json_values import from_plain, to_plain
from mutiny.core.records import MutantRecord, OperatorRecord, Verdict
from mutiny.reports.loading import read_json, result_class
from mutiny.reports.page.advice import CommandParts
from mutiny.reports.page.method import UNKNOWN, assess_command
from mutiny.reports.page.page import page_of
from mutiny.reports.page.render import html_of
from mutiny.reports.result_text import result_text
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.select.retraining.result import Retraining, gains
from reports.page.handmade import KILLED, SURVIVED, assessment, fault, operator, rated
from reports.page.test_strengthen import STRENGTHENED
from reports.page.test_verbs import COMMON, SELECTION, location, repair, robustness


def test_every_record_comes_back_from_plain_values(assessed, regressed):
    for record in (*assessed.operators, *regressed.operators):
        assert from_plain(OperatorRecord, json.loads(json.dumps(to_plain(record)))) == record


def test_an_assessment_comes_back_from_its_json(assessed, tmp_path):
    (tmp_path / "a").write_text(json.dumps(assessed.to_json()))
    found = read_json(tmp_path / "a")
    assert found.verb == "assess"
    assert found.result.to_json() == json.loads(json.dumps(assessed.to_json()))
    assert found.result.kills == {}


def test_a_file_with_odd_settings_or_none_still_has_its_text_and_a_command():
    whole = rated({"WI": [(0.7, True), (3.0, False)]}).to_json()
    odd = [{}, {"method": "notice", "operators": True, "judges": 3}, {"operators": 1.5}]
    for settings_ in odd:
        bare = Assessment.from_json({**whole, "settings": settings_})
        assert "--seed 0" in assess_command(bare)
        Console(file=io.StringIO(), width=80).print(result_text(bare, 80))


def test_a_notice_rate_comes_back_from_its_json(tmp_path):
    (tmp_path / "a").write_text(json.dumps(RATED))
    found = read_json(tmp_path / "a").result
    assert isinstance(found, Assessment)
    assert found.to_json() == RATED
    assert found.changed is None


def test_what_is_no_finite_number_was_null():
    told = to_plain(MutantRecord("WI", 0.5, "test", Verdict.KILLED, metrics=((math.inf, 1.0),), effect_size=math.inf))
    found = from_plain(MutantRecord, told)
    assert math.isnan(found.metrics[0][0])
    assert found.metrics[0][1] == 1.0
    assert found.effect_size is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"verdict": "dead"}, r"x.verdict=.*: expected one of killed, survived, unstable, invalid"),
        ({"instances": 1.5}, r"x.instances=.*: expected a whole number"),
        ({"instances": True}, r"x.instances=.*: expected a whole number"),
        ({"searched": 1}, r"x.searched=.*: expected true or false"),
        ({"operator": None}, r"x.operator=.*: expected a text"),
        ({"metrics": [0.5]}, r"x.metrics\[0\]=.*: expected a list"),
        ({"strength": 10**400}, r"x.strength=.*: expected a number of less than"),
    ],
)
def test_another_type_is_told_with_its_place(changed, told):
    plain = to_plain(MutantRecord("WI", 0.5, "test", Verdict.KILLED))
    with pytest.raises(BadInput, match=told):
        from_plain(MutantRecord, {**plain, **changed}, "x")


def test_what_is_missing_is_told():
    with pytest.raises(BadInput, match="guiding_set=nothing: expected a value"):
        from_plain(MutantRecord, {"operator": "WI", "strength": 0.5})


SMALL = assessment(
    operator("WI", {"train": {0.5: KILLED, 0.25: SURVIVED}, "test": {0.5: SURVIVED, 0.75: KILLED}}),
    operator("LR", {"train": {None: SURVIVED}, "test": {None: SURVIVED}}, score=None, strength=None),
).to_json()
RATED = rated(
    {"GF": [(0.6, True), (1.5, False), (5.0, True)], "WI": [fault("WI", 3.0, False, hits=1)] * 6 + [(20.0, False)]}
).to_json()
LEAVES = st.sampled_from(
    [None, True, -1, 0, 3, 0.5, 1e98, -1e98, 1e-300, "", "killed", "\ud800<b>\x00&", [], {}, [[]], ["a"], {"a": 1}]
)


def places(value, at=()):
    yield at
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from places(item, (*at, key))


def spoil(data, told):
    """Changes or removes up to three values."""
    for _ in range(data.draw(st.integers(1, 3))):
        *way, last = data.draw(st.sampled_from([place for place in places(told) if place]))
        owner = told
        for step in way:
            owner = owner[step]
        if isinstance(owner, dict) and data.draw(st.booleans()):
            del owner[last]
        else:
            owner[last] = copy.deepcopy(data.draw(LEAVES))  # a shared list could be put into itself


@pytest.mark.parametrize("whole", [SMALL, RATED], ids=["muff", "notice"])
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_spoilt_file_gives_a_page_or_a_sentence(tmp_path, whole, data):
    told = copy.deepcopy(whole)
    spoil(data, told)
    (tmp_path / "a").write_text(json.dumps(told))
    try:
        found = read_json(tmp_path / "a")
    except BadInput:
        return
    again = assess_command(found.result)
    page = page_of({"assess": found.result}, CommandParts(UNKNOWN, again), {})
    assert "<b>" not in html_of(page)


TRIALS = [{"before": [0.8], "none": [0.8], "deepgini": [0.9]}, {"before": [0.7], "none": [0.75], "deepgini": [0.8]}]
RETRAINING = Retraining(
    subject=SELECTION.subject,
    protocol="split",
    budget=4,
    candidates=20,
    judges=20,
    test_judges=0,
    gains=gains(TRIALS, 0),
    test_gains={},
    skipped={"dsa": "no features"},
    **COMMON | {"settings": {"seed": 0, "epochs": 3}},
)
OTHERS = {
    result.verb: json.loads(json.dumps(result.to_json()))
    for result in (SELECTION, RETRAINING, STRENGTHENED, location(), repair(), robustness())
}


WHOLE = {**OTHERS, "assess": RATED}


@pytest.mark.parametrize("name", WHOLE)
@settings(max_examples=50, deadline=None)
@given(st.data())
def test_a_spoilt_result_of_any_verb_gives_its_text_and_tables_or_a_sentence(name, data):
    shown_or_refused(WHOLE[name], data)


@settings(max_examples=15, deadline=None)  # six figures each
@given(st.data())
def test_a_spoilt_result_of_muff_gives_its_text_and_tables_or_a_sentence(data):
    shown_or_refused(SMALL, data)


def shown_or_refused(whole, data):
    told = copy.deepcopy(whole)
    kind = result_class(told)
    spoil(data, told)
    try:
        result = kind.from_json(told)
    except BadInput:
        return
    Console(file=io.StringIO(), width=80).print(result_text(result, 80))
    page_of({result.verb: result}, CommandParts(UNKNOWN, "mutiny assess"), {})
    assert json.dumps(result.to_json(), allow_nan=False)
    assert result.tables()
    assert isinstance(result.metrics(), dict)
    assert result._repr_html_()


@pytest.mark.parametrize(
    ("way", "value", "told"),
    [
        ("notice.rate", 7.5, r"notice.rate=.*: expected a number between 0 and 1"),
        ("notice.rate", 0.99, r"notice.rate=0.99: expected the mean of the bins, 0\.\d+"),
        ("notice.bins.0.rate", 0.01, r"notice.bins: rate=0.01: expected the share that is noticed"),
        ("notice.interval.low", 0.95, r"notice.interval=\[0.95, .*\]: expected a lower and an upper end"),
        ("notice.bins.0.noticed", 9, r"noticed=9: expected at most the faults of the bin"),
        ("notice.plan.0.inputs", 0, r"notice.plan: inputs=0: expected at least 1"),
        ("notice.false_alarms.noticed", 99, r"notice.false_alarms.noticed=99: expected at most all changes"),
        ("score.value", 7.5, r"score.value=.*: expected a number between 0 and 1"),
        ("score.interval.low", -2, r"score.interval.low=.*: expected a number between 0 and 1"),
        ("subject.splits.test.inputs", -3, "inputs=.*: expected at least 1"),
        ("subject.originals", 0, "subject.originals=.*: expected at least 1"),
        ("subject.pool", 0, "subject.pool=.*: expected at least 1"),
        ("operators.0.score", 2, r"operators\[0\].score=.*: expected a number between 0 and 1"),
        ("evaluation.evaluated", -1, "evaluation=.*: expected at least 0"),
        ("settings.seed", -1, "settings.seed=.*: expected at least 0"),
    ],
)
def test_numbers_that_cannot_be_are_refused(tmp_path, way, value, told):
    spoilt = copy.deepcopy(RATED if way.startswith("notice") else SMALL)
    *steps, last = way.split(".")
    owner = spoilt
    for step in steps:
        owner = owner[int(step) if step.isdigit() else step]
    owner[last] = value
    (tmp_path / "a").write_text(json.dumps(spoilt))
    with pytest.raises(BadInput, match=told):
        read_json(tmp_path / "a")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "It cannot be read"),
        ('{"verb": "assess", "schema": 1, "x": NaN}', "it has NaN"),
        ('{"verb": "assess", "schema": 2}', "schema 2"),
        ('{"verb": "dance", "schema": 1}', 'verb "dance"'),
        ('{"schema": 1}', "verb null"),
        ('{"verb": "assess", "schema": 1}', "It has no subject."),
        ('{"verb": "select", "schema": 1, "subject": 3}', "subject=3: expected an object"),
        ("{" * 100_000, "It cannot be read"),
    ],
)
def test_files_that_are_something_else(tmp_path, text, told):
    (tmp_path / "a").write_text(text)
    with pytest.raises(BadInput, match="expected") as error:
        read_json(tmp_path / "a")
    assert told in str(error.value)


@pytest.mark.parametrize(("verb", "place"), [("strengthen", "predicted"), ("locate", "classes")])
@pytest.mark.parametrize("name", ["1" * 5000, "-1", "1.5", ""])
def test_names_that_are_no_numbers_of_a_few_digits_are_refused(verb, place, name):
    spoilt = copy.deepcopy(OTHERS[verb])
    spoilt.setdefault(place, {})[name] = 0.5 if place == "predicted" else []
    with pytest.raises(BadInput, match="expected numbers of"):
        result_class(spoilt).from_json(spoilt)
