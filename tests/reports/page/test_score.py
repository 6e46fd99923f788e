"""How good, how sure, and what is missed: sentences and tables from records by hand."""

import pytest

from mutiny.core.records import Basis, Status
from mutiny.reports.page.mutants import hardest, survivors_of
from mutiny.reports.page.score import (
    basis_text,
    interval_sentence,
    operators_table,
    score_section,
    score_sentence,
    weakest_sentence,
)
from mutiny.reports.page.strength_curves import strength_curves
from mutiny.reports.page.survivors import survivors_section
from reports.page.handmade import KILLED, SURVIVED, UNSTABLE, assessment, mutant, operator

WI = operator(
    "WI",
    {
        "train": {0.5: KILLED, 0.25: KILLED, 0.125: SURVIVED},
        "test": {0.5: KILLED, 0.25: SURVIVED, 0.375: UNSTABLE},
    },
    score=0.4,
)
NI = operator("NI", {"train": {0.5: KILLED}, "test": {0.5: KILLED}}, score=1.0)
LR = operator("LR", {"train": {None: UNSTABLE}}, score=None, strength=None, reason="every mutant is unstable")


def test_the_answer_is_one_sentence():
    assert score_sentence(assessment(WI, NI, LR)) == (
        "Your test set notices 70% of the faults that the training set notices (mean over 2 of 3 operators)."
    )
    assert score_sentence(assessment(NI)) == (
        "Your test set notices every fault that the training set notices, over 1 operator."
    )
    assert "There is no score" in score_sentence(assessment(LR))


def test_how_sure_it_is():
    assert interval_sentence(assessment(WI)) == "95% interval: 40% to 60%, by bootstrap over originals."
    assert "It is wide" in interval_sentence(assessment(WI, interval=(0.2, 0.9)))
    assert "other originals may" in interval_sentence(assessment(WI, interval=(0.2, 0.9)))
    assert interval_sentence(assessment(WI, interval=None)) == "There is no interval: see the notes."
    assert interval_sentence(assessment(LR)) == ""
    assert "40 test inputs and 5 trained originals" in basis_text(assessment(WI))
    assert "this network only" in basis_text(assessment(WI, originals=1))
    screened = {"evaluated": 25, "pairs": 1000, "verdicts": {"sampled": 3}}
    assert "2.5% of all answers were evaluated" in basis_text(assessment(WI, evaluation=screened))


def test_the_weakest_place():
    assert weakest_sentence(assessment(NI, WI)) == (
        "It is weakest against WI (title of WI): the training set notices factor 0.25, the test set only 0.5 and more."
    )
    blind = operator("GF", {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}}, score=0.0)
    assert weakest_sentence(assessment(WI, blind)).endswith("notices factor 0.5, the test set no strength at all.")
    assert weakest_sentence(assessment(NI)) == ""


def test_missed_mutants_are_those_of_train_that_test_misses():
    assert [m.strength for m in survivors_of(WI)] == [0.25]
    assert hardest(WI).strength == 0.5
    assert survivors_of(NI) == []
    both = operator(
        "GF", {"train": {0.5: KILLED, 0.1: SURVIVED}, "test": {0.5: SURVIVED, 0.1: SURVIVED, 0.2: SURVIVED}}
    )
    assert [m.strength for m in survivors_of(both)] == [0.5]  # what nobody notices counts as equivalent
    assert hardest(LR) is None
    section = survivors_section(assessment(WI, NI))
    assert section.blocks[0].text == "1 of 3 mutants that the training set kills survive on the test set: WI 1."
    assert "None of those that were tried" in survivors_section(assessment(NI)).blocks[0].text
    assert "Unknown: the training set kills no mutant" in survivors_section(assessment(LR)).blocks[0].text


def test_the_most_drastic_survivor_comes_first_also_where_less_is_worse():
    """Epochs: from 10, the mildest, to 1, the severest."""
    few = operator(
        "HNE",
        {"train": {2.0: KILLED, 5.0: KILLED}, "test": {2.0: SURVIVED, 5.0: SURVIVED}},
        bounds=(10.0, 1.0),
        strength="epochs",
    )
    assert [m.strength for m in survivors_of(few)] == [2.0, 5.0]


def test_the_very_same_mutant_counts_once():
    twice = operator("NEB", {"train": {0.5: KILLED}, "test": {0.5: SURVIVED}})
    same = mutant("NEB", 0.501, "test", SURVIVED, same_as=0.5)
    both = operator("NEB", mutants=(*twice.mutants, same, mutant("NEB", 0.501, "train", KILLED, same_as=0.5)))
    assert [m.strength for m in survivors_of(both)] == [0.5]


def test_every_operator_has_a_row():
    table = operators_table(assessment(WI, NI, LR))
    assert "half" not in next(column.hint for column in table.columns if column.title == "Weak from")
    assert len({len(row.cells) for row in table.rows}) == 1
    assert len(table.rows[0].cells) == len(table.columns)
    cells = [[cell.text for cell in row.cells] for row in table.rows]
    assert cells[0][:6] == ["WI", "title of WI", "0.25", "0.5", "\u2013", "40%"]
    assert cells[2][2] == "unstable"
    assert cells[0][-1] == "3 / 2 / 1"
    invalid = operator("LD", score=None, status=Status.INVALID, reason="no two layers", strength=None)
    text = [block.text for block in score_section(assessment(WI, invalid)).blocks if block.kind == "text"]
    assert "LD has no score: no two layers." in text


def table_of(result):
    (fold,) = [block for block in survivors_section(result).blocks if block.kind == "fold"]
    return fold.blocks[0]


def test_the_table_of_mutants_has_every_verdict_and_survivors_first():
    table = table_of(assessment(NI, WI))
    assert table.filters
    assert [row.verdict for row in table.rows] == ["survived", "killed", "killed", "unstable"]
    assert table.verdicts == ("killed", "survived", "unstable")
    assert [cell.text for cell in table.rows[0].cells[:4]] == ["WI at factor 0.25", "survived", "killed", "not judged"]
    assert table.rows[0].cells[1].symbol == "▲"
    assert all(len(row.cells) == len(table.columns) for row in table.rows)


def test_what_verdicts_rest_on_is_told_where_it_differs():
    assert "Basis" not in [column.title for column in table_of(assessment(WI)).columns]
    sampled = operator("GF", mutants=(mutant("GF", 0.5, "test", KILLED, basis=Basis.SAMPLED),))
    table = table_of(assessment(sampled))
    assert table.columns[-1].title == "Basis"
    assert table.rows[0].cells[-1].text == "sampled"


def test_each_operator_with_a_strength_is_drawn():
    blocks = list(strength_curves(assessment(NI, WI, LR)))
    folds = [block for block in blocks if block.kind == "fold"]
    assert [fold.title for fold in folds] == ["WI, title of WI: score 40%", "NI, title of NI: score 100%"]
    curve, path = folds[0].blocks[0].charts
    assert [(p.strength, p.verdict) for p in dict(curve.picture.points)["test"]] == [
        (0.25, "survived"),
        (0.375, "unstable"),
        (0.5, "killed"),
    ]
    assert dict(path.picture.steps)["train"] == ((0.5, "killed"), (0.25, "killed"), (0.125, "survived"))
    assert blocks[-1].text == "LR has no strength to draw."


@pytest.mark.parametrize("name", ["assessed", "alone", "regressed"])
def test_real_assessments_have_every_question(request, name):
    result = request.getfixturevalue(name)
    assert score_section(result).id == "score"
    paths = [fold.blocks[-1].charts[1].picture for fold in strength_curves(result) if fold.kind == "fold"]
    assert paths
    for path, record in zip(
        paths,
        sorted((r for r in result.operators if r.strength), key=lambda r: (r.score is None, r.score or 0.0)),
        strict=True,
    ):
        steps = dict(path.steps)["train"]
        assert sum(verdict == "killed" for _, verdict in steps) == record.sets["train"].killed
        low, high = path.bounds
        assert steps[0][0] == (low + high) / 2  # a search begins in the middle
