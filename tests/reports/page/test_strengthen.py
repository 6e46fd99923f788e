"""What `strengthen` found, on the page; and a smallest set of tests from what an assessment keeps."""

import json
from dataclasses import replace

import numpy as np
import pytest

import mutiny
from mutiny.core.errors import BadInput
from mutiny.core.records import Basis, Status
from mutiny.core.results import PoolRecord, StrengthenedSubject, TaskRecord
from mutiny.core.stats import Interval
from mutiny.reports.formatting import NONE, RANGE
from mutiny.reports.loading import read_json
from mutiny.reports.page import smaller_test_set
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.smaller_test_set import smaller_test_set as smallest
from mutiny.reports.page.strengthen import strengthen_section
from mutiny.verbs.assess.result import Score
from mutiny.verbs.select.metrics import Repeated
from mutiny.verbs.strengthen.held_out_scores import LabelGain
from mutiny.verbs.strengthen.kill_table import KillTable
from mutiny.verbs.strengthen.result import Strengthening, SubsetScores
from mutiny.verbs.strengthen.subset import Subset
from reports.page.handmade import KILLED, SURVIVED, assessment, bits, operator
from toys import blob_subject


def repeated(mean, low, high):
    return Repeated(mean, 5, Interval(low, high, 0.95, "student"))


STRENGTHENED = Strengthening(
    subject=StrengthenedSubject("toy", "Toy", 5, TaskRecord("classification", "accuracy", 3, "logits"), 40),
    settings={"seed": 0, "mutants": 4},
    versions={"mutiny": "0.1.0"},
    score=Score(0.4, None, 2, 2),
    survivors=(),
    tried=(),
    budgets=(2, 4),
    order=np.array([7, 3, 1, 9]),
    useful=4,
    predicted={2: 1, 4: 3},
    beyond=(),
    candidates=None,
    subset=None,
    smaller=None,
    seconds=1.0,
    created="2026",
    measured=(
        LabelGain("strengthen", 2, repeated(0.5, 0.45, 0.55), repeated(0.1, 0.05, 0.15)),
        LabelGain("random", 2, repeated(0.42, 0.4, 0.44), repeated(0.02, 0.0, 0.04), repeated(0.08, 0.02, 0.14)),
        LabelGain("strengthen", 4, repeated(0.9, 0.7, 1.1), repeated(0.5, 0.3, 0.7)),
        LabelGain("random", 4, repeated(0.45, 0.4, 0.5), repeated(0.05, 0.0, 0.1), repeated(0.45, 0.3, 0.6)),
    ),
    notes=("A note.",),
    before=repeated(0.4, 0.3, 0.5),
)


def texts(section):
    return [block.text for block in section.blocks if block.kind == "text"]


def test_a_measured_choice():
    section = strengthen_section(STRENGTHENED)
    assert texts(section)[0] == (
        "4 labels raise the score on held-out mutants from 40% to 90% (95% interval 70% to 100%); "
        "the same number chosen by other methods: random 45%."
    )
    (chart,) = [block for block in section.blocks if block.kind == "chart"]
    assert [(line.name, line.points) for line in chart.picture.lines] == [
        ("strengthen", ((0.0, 0.4), (2.0, 0.5), (4.0, 0.9))),
        ("random", ((0.0, 0.4), (2.0, 0.42), (4.0, 0.45))),
    ]
    (table,) = [block for block in section.blocks if block.kind == "table"]
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    assert rows[0] == ["0", "(before)", "40.0%", f"30%{RANGE}50%", NONE, NONE]
    assert rows[4] == ["4", "random", "45.0%", f"40%{RANGE}50%", "+5.0", "+45.0 (+30.0 to +60.0)"]
    (fold,) = [block for block in section.blocks if block.kind == "fold"]
    assert fold.blocks[0].text == "7, 3, 1, 9."


@pytest.mark.parametrize(
    ("before", "after", "gain", "told"),
    [
        (1.0, 0.83, (-0.2, -0.1), "4 labels lower the score on held-out mutants from 100% to 83%"),
        (0.5, 0.5, (-0.1, 0.1), "4 labels leave the score on held-out mutants at 50%"),
        (0.5, 0.6, (-0.1, 0.3), "contains 0: the change may be chance."),
    ],
)
def test_a_choice_that_does_not_help_is_not_praised(before, after, gain, told):
    own = LabelGain("strengthen", 4, repeated(after, 0.4, 0.9), repeated(after - before, *gain))
    (said, *_) = texts(strengthen_section(replace(STRENGTHENED, measured=(own,), before=repeated(before, 0.3, 0.6))))
    assert told in said
    assert ("may be chance" in said) == (gain[0] <= 0 <= gain[1])


def test_predictions_are_of_the_mutants_that_were_tried():
    all_, some = tuple(("WI", strength) for strength in (0.1, 0.2, 0.3)), (("WI", 0.1),)
    for tried, told in (
        (some, "Of 1 mutant that slips through and was tried, predicted to be killed: 1 with 2 labels;"),
        (all_, "Of 3 mutants that slip through, predicted"),
    ):
        section = strengthen_section(replace(STRENGTHENED, survivors=all_, tried=tried))
        assert any(text.startswith(told) for text in texts(section))


def test_what_was_not_measured_is_not_claimed():
    unmeasured = replace(STRENGTHENED, measured=(), before=None)
    section = strengthen_section(unmeasured)
    assert "their effect was not measured" in texts(section)[0]
    assert not [block for block in section.blocks if block.kind in ("chart", "table")]
    nothing = replace(unmeasured, budgets=(), order=np.zeros(0, np.int64), predicted={})
    assert "a smaller test set" in texts(strengthen_section(nothing))[0]


@pytest.mark.parametrize(
    ("inputs", "told"),
    [
        (10, "7.png, 3.png, 1.png, 9.png."),
        (12, "7, 3, 1, 9."),  # an older file, with names of what was chosen
        (None, "7, 3, 1, 9."),
    ],
)
def test_inputs_are_listed_by_name(inputs, told):
    pool = None if inputs is None else PoolRecord(inputs)
    names = tuple(f"{number}.png" for number in range(10))
    result = replace(STRENGTHENED, subject=replace(STRENGTHENED.subject, pool=pool), names=names)
    (fold,) = [block for block in strengthen_section(result).blocks if block.kind == "fold"]
    assert fold.blocks[0].text == told


@pytest.fixture(scope="module")
def strengthened(assessed):
    subject = blob_subject(6, name="blobs")
    return mutiny.strengthen(subject, budget=(5, 10), assessment=assessed, repeats=2, minimize=True, pool=subject.train)


def test_a_real_result_from_memory_and_from_its_file(strengthened, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(strengthened.to_json()))
    read = read_json(tmp_path / "a.json").result
    assert read.to_json() == json.loads(json.dumps(strengthened.to_json()))
    assert read.order.tolist() == strengthened.order.tolist()
    assert strengthen_section(read) == strengthen_section(strengthened)
    small = smallest(None, read)
    assert small.indices == tuple(strengthened.subset.indices.tolist())
    assert (small.score, small.of) == (strengthened.subset.score, strengthened.subset.of)


def test_names_of_the_whole_pool_are_told(strengthened):
    names = tuple(f"{number}.png" for number in range(strengthened.subject.pool.inputs))
    named = replace(strengthened, names=names, budgets=(2,), order=np.array([3, 1]))
    assert named.to_json()["names"] == [*names]
    (fold,) = [one for one in strengthen_section(named).blocks if one.kind == "fold"]
    assert fold.blocks[0].text == "3.png, 1.png."
    without = replace(named, subject=replace(named.subject, pool=None))
    assert without.to_json()["names"] is None


def test_a_file_with_indices_that_are_none(strengthened, tmp_path):
    told = json.loads(json.dumps(strengthened.to_json()))
    told["subset"]["indices"].append(told["subset"]["of"])
    (tmp_path / "a.json").write_text(json.dumps(told))
    with pytest.raises(BadInput, match="indices of the test set"):
        read_json(tmp_path / "a.json")


@pytest.mark.parametrize(
    ("owner", "name", "value", "told"),
    [
        ("score", "value", 7.5, "score.value=.*: expected a number between 0 and 1"),
        ("subject", "test", 0, "subject.test=.*: expected at least 1"),
        ("subject", "originals", -1, "subject.originals=.*: expected at least 1"),
        ("before", "mean", 3, "a score in before or measured=.*: expected a number between 0 and 1"),
        ("subset", "score", -0.5, "subset.score=.*: expected a number between 0 and 1"),
    ],
)
def test_a_file_with_numbers_that_cannot_be(strengthened, tmp_path, owner, name, value, told):
    spoilt = json.loads(json.dumps(strengthened.to_json()))
    spoilt[owner] = {**(spoilt[owner] or {"n": 1, "interval": None}), name: value}
    (tmp_path / "a.json").write_text(json.dumps(spoilt))
    with pytest.raises(BadInput, match=told):
        read_json(tmp_path / "a.json")


def obvious(kills=None):
    """Only inputs 3 and 5 tell mutants from originals, each another mutant."""
    right = np.ones((5, 12), bool)
    told = {}
    for at, (strength, hit) in enumerate(((0.5, 3), (0.9, 5))):
        wrong = np.ones((1, 5, 12), bool)
        wrong[:, :, hit] = False
        wrong[:, at, hit - 1] = False  # else nothing varies, and the test of means has nothing to go by
        told["WI", strength, "test"] = bits(right, wrong)
    record = operator("WI", {"train": {0.5: KILLED, 0.9: KILLED}, "test": {0.5: KILLED, 0.9: KILLED}})
    return assessment(replace(record, status=Status.SCORED), kills=told if kills is None else kills)


def measured_part(kills, more, score, full, subset, all_):
    held = SubsetScores(
        repeated(all_, 0.1, 0.9), repeated(subset, 0.2, 0.8), repeated(0.1, 0.0, 0.3), repeated(0, 0, 0)
    )
    mutants = tuple(("WI", float(number)) for number in range(9))
    chosen = Subset(np.array([3, 5, 7, 8]), 40, mutants[:kills], mutants[kills : kills + more], 1, score, full)
    return {"subset": chosen, "smaller": held}


@pytest.mark.parametrize(
    ("part", "claim", "more"),
    [
        (
            measured_part(3, 0, 0.5, 0.5, 0.4, 0.4),
            "keep the score: 50.0% with these alone, 50.0% with all. They kill "
            "the 3 mutants of the assessment that all tests kill, and 1 of other seeds.",
            "",
        ),
        (
            measured_part(0, 4, 1.0, 0.0, 0.4, 0.4),
            "score more: 100% with these alone, 0% with all. All tests kill no "
            "mutant of the assessment, but 1 of other seeds, and so do these.",
            "They also kill 4 mutants",
        ),
        (
            measured_part(3, 0, 0.5, 0.5, 0.3, 0.4),
            "kill what all of them kill (50.0% with these alone, 50.0% with all), but score less on other mutants.",
            "",
        ),
    ],
    ids=["keeps", "kills more", "falls"],
)
def test_a_part_is_not_said_to_keep_what_it_loses(part, claim, more):
    section = effective_tests_section(obvious(), smallest(None, replace(STRENGTHENED, **part)))
    (found,) = [one for one in section.blocks if one.kind == "part" and one.title == "A smallest set of tests"]
    told = found.blocks[0].text
    assert told.startswith(f"4 inputs of 40 (10.0%) {claim}")
    assert f"they score {part['smaller'].subset.mean:.1%} (20% to 80%), all tests 40.0% (10% to 90%)" in told
    assert ("They also kill" in told) == bool(more)
    assert more in told


def test_an_assessment_tells_which_tests_are_enough():
    small = smallest(obvious())
    assert set(small.indices) == {3, 5}
    assert small.score == small.full == 1.0
    table = KillTable.of(obvious())
    assert table.killed(np.array([3, 5])) == table.killed() == {("WI", 0.5), ("WI", 0.9)}
    section = effective_tests_section(obvious(), small)
    (part,) = [one for one in section.blocks if one.kind == "part" and one.title == "A smallest set of tests"]
    assert part.blocks[0].text.startswith(
        "2 inputs of 12 (16.7%) keep the score: 100% with these alone, 100% with all."
    )


def test_where_answers_are_missing_a_command_stands_instead(monkeypatch):
    sampled = obvious()
    record = sampled.operators[0]
    mutants = tuple(replace(one, basis=Basis.SAMPLED) for one in record.mutants)
    sampled = replace(sampled, operators=(replace(record, mutants=mutants),))
    assert smallest(sampled) is None
    assert smallest(obvious(kills={})) is None
    section = effective_tests_section(sampled, None, "mutiny strengthen toy.py:subject --minimize")
    (part,) = [one for one in section.blocks if one.kind == "part" and one.title == "A smallest set of tests"]
    assert part.blocks[0].line == "mutiny strengthen toy.py:subject --minimize"
    monkeypatch.setattr(smaller_test_set, "LARGEST", 10)
    assert smallest(obvious()) is None


def test_a_set_that_kills_nothing_has_no_smallest_part():
    silent = obvious()
    record = operator("WI", {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}})
    right = np.ones((5, 12), bool)
    kills = {("WI", 0.5, "test"): bits(right, np.ones((1, 5, 12), bool))}
    assert smallest(replace(silent, operators=(record,), kills=kills)) is None
