"""What `strengthen` found, on the page, live and from its file."""

import json
from dataclasses import replace

import numpy as np
import pytest

from mutiny.core.errors import BadInput
from mutiny.core.results import PoolRecord, StrengthenedSubject, TaskRecord
from mutiny.core.stats import Interval
from mutiny.reports.formatting import NONE
from mutiny.reports.loading import read_json
from mutiny.reports.page.effective_tests import effective_tests_section
from mutiny.reports.page.strengthen import strengthen_section
from mutiny.verbs.assess.notice import GroupRate, NoticedBin
from mutiny.verbs.strengthen.held_out import HeldOutRate, LabelGain, RateChange
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.subset import Subset, SubsetRates
from verbs.strengthen.tables import strengthen


def change(value, low, high):
    return RateChange(value, Interval(low, high, 0.95, "jackknife-t"))


STRENGTHENED = Strengthening(
    subject=StrengthenedSubject(
        "toy", "Toy", 5, TaskRecord("classification", "accuracy", 3, "logits"), 40, PoolRecord(12)
    ),
    settings={"seed": 0, "seeds": 2},
    versions={"mutiny": "0.1.0"},
    notice=GroupRate(0.4, Interval(0.3, 0.5, 0.95, "x"), (NoticedBin(0.5, 1.0, 10, 4, 0.4),)),
    unit="accuracy points",
    budgets=(2, 4),
    order=np.array([7, 3, 1, 9]),
    useful=4,
    predicted={2: 0.5, 4: 0.88},
    beyond=(),
    candidates=None,
    subset=None,
    smaller=None,
    seconds=1.0,
    created="2026",
    measured=(
        LabelGain("strengthen", 2, 0.5, change(0.1, 0.05, 0.15)),
        LabelGain("random", 2, 0.42, change(0.02, 0.0, 0.04), change(0.08, 0.02, 0.14)),
        LabelGain("strengthen", 4, 0.9, change(0.5, 0.3, 0.7)),
        LabelGain("random", 4, 0.45, change(0.05, 0.0, 0.1), change(0.45, 0.3, 0.6)),
    ),
    notes=("A note.",),
    before=HeldOutRate(0.4, Interval(0.3, 0.5, 0.95, "x"), 30),
)


def texts(section):
    return [block.text for block in section.blocks if block.kind == "text"]


def test_a_measured_choice():
    section = strengthen_section(STRENGTHENED)
    assert texts(section)[0] == (
        "Label these 4 inputs: on held-out faults your tests then notice 90% instead of 40% (95%: +30 to +70 points); "
        "4 random ones: 45%."
    )
    (chart,) = [block for block in section.blocks if block.kind == "chart"]
    assert [(line.name, line.points) for line in chart.picture.lines] == [
        ("strengthen", ((0.0, 0.4), (2.0, 0.5), (4.0, 0.9))),
        ("random", ((0.0, 0.4), (2.0, 0.42), (4.0, 0.45))),
    ]
    (table,) = [block for block in section.blocks if block.kind == "table"]
    rows = [[cell.text for cell in row.cells] for row in table.rows]
    assert rows[0] == ["0", "(before)", "40.0%", NONE, NONE]
    assert rows[4] == ["4", "random", "45.0%", "+5 (+0 to +10)", "+45 (+30 to +60)"]
    (fold,) = [block for block in section.blocks if block.kind == "fold"]
    assert fold.blocks[0].text == "7, 3, 1, 9."


def test_what_was_not_measured_is_not_claimed():
    section = strengthen_section(replace(STRENGTHENED, measured=(), before=None))
    assert texts(section)[0].endswith("are then predicted to notice 88% instead of 40%. This is not measured.")
    assert not [block for block in section.blocks if block.kind in ("chart", "table")]


def test_a_smaller_test_set_has_its_part():
    subset = Subset(np.array([3, 5, 6, 7]), 40, 0.39, 0.4, 0.02)
    rates = SubsetRates(0.4, 0.39, 0.1, change(0.01, -0.01, 0.03), 30)
    section = strengthen_section(replace(STRENGTHENED, subset=subset, smaller=rates))
    (part,) = [block for block in section.blocks if block.kind == "part"]
    assert part.blocks[0].text.startswith("4 of 40 tests are enough: they notice 39% of held-out faults")
    assert part.blocks[1].blocks[0].text == "3, 5\u20137"


def test_an_assessment_by_muff_names_the_command_for_a_smaller_test_set(assessed):
    section = effective_tests_section(assessed, "mutiny strengthen toy.py:subject --minimize")
    (part,) = [block for block in section.blocks if block.kind == "part" and block.title == "A smaller test set"]
    assert part.blocks[0].line == "mutiny strengthen toy.py:subject --minimize"
    assert not any(getattr(block, "title", "") == part.title for block in effective_tests_section(assessed).blocks)


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
def strengthened():
    return strengthen(1, budget=(5, 10), minimize=True, seeds=2, synthesize=5)


def test_a_real_result_from_memory_and_from_its_file(strengthened, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(strengthened.to_json()))
    read = read_json(tmp_path / "a.json").result
    assert read.to_json() == json.loads(json.dumps(strengthened.to_json()))
    assert read.order.tolist() == strengthened.order.tolist()
    assert strengthen_section(read) == strengthen_section(strengthened)


def test_names_of_the_whole_pool_are_told(strengthened):
    names = tuple(f"{number}.png" for number in range(strengthened.subject.pool.inputs))
    named = replace(strengthened, names=names, budgets=(2,), order=np.array([3, 1]))
    assert named.to_json()["names"] == [*names]
    fold, *_ = [block for block in strengthen_section(named).blocks if block.kind == "fold"]
    assert fold.blocks[0].text == "3.png, 1.png."
    without = replace(named, subject=replace(named.subject, pool=None))
    assert without.to_json()["names"] is None


SMALL = {"indices": [1, 2], "of": 40, "rate": 0.4, "rate_of_all": 0.4, "tolerance": 0.02, "held_out": None}


@pytest.mark.parametrize(
    ("owner", "name", "value", "told"),
    [
        ("notice", "rate", 7.5, "notice.rate=.*: expected a number between 0 and 1"),
        ("subject", "test", 0, "subject.test=.*: expected at least 1"),
        ("subject", "originals", -1, "subject.originals=.*: expected at least 1"),
        ("before", "rate", 3, "before.rate=.*: expected a number between 0 and 1"),
        ("predicted", "4", 3.0, "predicted=.*: expected a number between 0 and 1"),
        ("subset", "rate", -0.5, "subset.rate.*: expected a number between 0 and 1"),
        ("subset", "indices", [40], "indices of the test set"),
    ],
)
def test_a_file_with_numbers_that_cannot_be(tmp_path, owner, name, value, told):
    spoilt = json.loads(json.dumps({**STRENGTHENED.to_json(), "subset": SMALL}))
    spoilt[owner] = {**spoilt[owner], name: value}
    (tmp_path / "a.json").write_text(json.dumps(spoilt))
    with pytest.raises(BadInput, match=told):
        read_json(tmp_path / "a.json")
