"""Recorded answers: every format, joined by id, and everything that can be wrong with them."""

import json

import numpy as np
import pytest

import mutiny
from mutiny.core.errors import BadInput

IDS = [f"x{number}" for number in range(12)]
TARGETS = [number % 3 for number in range(12)]
BEFORE = [*TARGETS[:9], 0, 0, 0]
AFTER = [1, 2, 0, *TARGETS[3:9], 0, 1, 1]


def write(path, columns):
    rows = list(zip(*columns.values(), strict=True))
    if path.suffix == ".npz":
        np.savez(path, **{name: np.array(values) for name, values in columns.items()})
    elif path.suffix == ".csv":
        path.write_text("\n".join(",".join(map(str, row)) for row in (columns, *rows)) + "\n")
    else:
        path.write_text("\n".join(json.dumps(dict(zip(columns, row, strict=True))) for row in rows))
    return path


def told(result):
    return {key: value for key, value in result.to_json().items() if key not in ("timing", "subject")}


@pytest.mark.parametrize("other", [".csv", ".jsonl", ".npz"])
def test_every_format_says_the_same(tmp_path, other):
    a, b = {"id": IDS, "answer": BEFORE, "target": TARGETS}, {"id": IDS, "answer": AFTER, "target": TARGETS}
    mapping = mutiny.compare(a, b)
    found = mutiny.compare(write(tmp_path / f"a{other}", a), str(write(tmp_path / f"b{other}", b)))
    assert told(found) == told(mapping)
    assert found.subject.other_name == f"b{other}"


def test_flips_and_tables_are_those_of_a_slow_loop():
    found = mutiny.compare(
        {"id": IDS, "answer": BEFORE, "target": TARGETS, "room": ["a", "b"] * 6},
        {"id": IDS[::-1], "answer": AFTER[::-1], "target": TARGETS[::-1]},
        slices="room",
    )
    triples = list(zip(TARGETS, BEFORE, AFTER, strict=True))
    broken = sum(before == target != after for target, before, after in triples)
    repaired = sum(after == target != before for target, before, after in triples)
    other = sum(before != target != after and before != after for target, before, after in triples)
    assert (found.flips.broken, found.flips.repaired, found.flips.other) == (broken, repaired, other)
    assert found.difference.value == pytest.approx(100 * (repaired - broken) / 12)
    assert found.means == {"a": pytest.approx(9 / 12 + 1 / 12), "b": pytest.approx(found.means["b"])}
    groups = {(group.column, group.group): group for group in found.groups}
    assert set(groups) == {("class", "0"), ("class", "1"), ("class", "2"), ("room", "a"), ("room", "b")}
    for label in range(3):
        group = groups["class", str(label)]
        mine = [triple for triple in triples if triple[0] == label]
        assert group.inputs == len(mine)
        assert group.broken == sum(before == label != after for _, before, after in mine)
    for change in found.confusions:
        cells = [sum(str(t) == change.target and str(s[at]) == change.answer for t, *s in triples) for at in (0, 1)]
        assert [change.a, change.b] == cells
    assert all(group.p_adjusted >= group.p_value for group in found.groups)


def test_scores_have_a_direction():
    scores = np.linspace(1, 2, 40)
    a, b = {"id": range(40), "score": scores}, {"id": range(40), "score": scores + np.tile([0.1, 0.2], 20)}
    assert mutiny.compare(a, b).verdict == "better"
    found = mutiny.compare(a, b, higher_is_better=False)
    assert found.verdict == "worse"
    assert found.difference.value == pytest.approx(0.15)
    assert found.margin == pytest.approx(0.015)
    assert "0.15" in found.sentence
    assert found.changed[0].size == pytest.approx(0.2)
    assert mutiny.compare(a, b, higher_is_better=False, margin=0.5).verdict == "equivalent"
    assert "surely smaller than the margin" in mutiny.compare(a, b, higher_is_better=False, margin=0.5).sentence


def test_equal_answers_are_called_equal_and_few_are_not_enough():
    a = {"id": IDS, "answer": BEFORE, "target": TARGETS}
    found = mutiny.compare(a, a)
    assert found.same == "answers"
    assert found.verdict == "cannot tell"
    assert found.inputs_needed > 500
    assert found.sentence.startswith(
        "B gives the same answer as A to each of your 12 inputs, but so few cannot exclude"
    )
    many = {"id": range(3000), "correct": [1] * 3000}
    assert mutiny.compare(many, many).verdict == "equivalent"


def test_a_comparison_comes_back_from_its_json():
    a, b = {"id": IDS, "answer": BEFORE, "target": TARGETS}, {"id": IDS, "answer": AFTER, "target": TARGETS}
    found = mutiny.compare(a, b, slices={"half": [0] * 6 + [1] * 6})
    again = mutiny.Comparison.from_json(json.loads(json.dumps(found.to_json(), allow_nan=False)))
    assert again == found
    assert again.sentence == found.sentence
    assert {group.column for group in found.groups} == {"class", "half"}


def good(**more):
    return {"id": IDS, "correct": [1] * 12, **more}


WRONG = {
    "other ids": (
        good(id=[*IDS[:11], "y"]),
        "b=.*lacks 1 of the 12 ids of A, such as x11 and has 1 that A lacks, such as y",
    ),
    "another length": ({"id": IDS[:9], "correct": [1] * 9}, "b=.*lacks 3 of the 12 ids of A, such as x9, x10, x11"),
    "duplicates": (good(id=[*IDS[:11], "x0"]), "b=the id 'x0' twice, in rows 1 and 12"),
    "NaN": ({"id": IDS, "score": [1.0] * 11 + [float("nan")]}, r"b='nan' in column score of row 12 \(id x11\)"),
    "infinity": ({"id": IDS, "score": ["1"] * 11 + ["-inf"]}, "b='-inf' in column score of row 12"),
    "a missing answer": (
        {"id": IDS, "answer": ["a"] * 11 + [None], "target": ["a"] * 12},
        "b=no value in column answer",
    ),
    "another kind": ({"id": IDS, "score": [1.0] * 12}, "b=scores: expected answers that are right or wrong, as A has"),
    "no id": ({"correct": [1]}, "b=columns correct: .*The column id is missing"),
    "no answers": ({"id": IDS}, "b=columns id: .*None of them is there"),
    "half a pair": ({"id": IDS, "answer": IDS}, "b=columns id, answer: .*The column target is missing"),
    "two kinds": (good(score=[1.0] * 12), "b=columns id, correct, score: .*not several of these"),
    "columns of two lengths": ({"id": IDS, "correct": [1]}, "b=columns of different lengths: id 12, correct 1"),
    "no rows": ({"id": [], "correct": []}, "b=a table without rows"),
    "neither right nor wrong": (good(correct=[1] * 11 + ["maybe"]), "b='maybe' in column correct of row 12"),
    "a nested value": (good(id=[*IDS[:11], [1]]), "b=a list in column id of row 12"),
    "text for a column": (good(correct="111111111111"), "b=column correct: str"),
    "a matrix": (good(correct=np.ones((12, 2))), r"b=column correct of float64, shape \(12, 2\)"),
    "nothing": (None, "b=None: expected a subject, a network"),
    "a number": (3, "b=3: expected a subject, a network"),
    "a network": (abs, "b=builtin_function_or_method: expected recorded answers, as A is"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_answers_are_refused_in_a_sentence(name):
    wrong, message = WRONG[name]
    with pytest.raises(BadInput, match=f"^{message}"):
        mutiny.compare(good(), wrong)


def test_targets_that_contradict_each_other_are_refused():
    a = {"id": IDS, "answer": BEFORE, "target": TARGETS}
    with pytest.raises(BadInput, match="b=target 9 of input x0: expected 0, as A has"):
        mutiny.compare(a, {**a, "target": [9, *TARGETS[1:]]})


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "a file that is not empty"),
        (b"id,correct\n1\n", "1 values in row 1 of .*: expected 2"),
        (b"id,id\n1,2\n", "columns of different names"),
        (b'id,correct\n"1,1\n', "It cannot be read"),
        (b"\xff\xfe\x00", "It cannot be read"),
        (b"id,correct\n" + b"x" * 200_000 + b",1\n", "It cannot be read"),
    ],
)
def test_a_broken_table_is_refused(tmp_path, content, message):
    (tmp_path / "b.csv").write_bytes(content)
    with pytest.raises(BadInput, match=message):
        mutiny.compare(good(), tmp_path / "b.csv")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[1]", "row 1 of .*: expected a JSON object on each line"),
        (b'{"id": 1, "correct": 1}\n{"id": 2}', "row 2 of .* without correct"),
        (b'{"id": ' + b"[" * 500 + b"]" * 500 + b"}", "more than 100 levels of nesting"),
        (b'{"id": 1', "It cannot be read"),
    ],
)
def test_broken_lines_are_refused(tmp_path, content, message):
    (tmp_path / "b.jsonl").write_bytes(content)
    with pytest.raises(BadInput, match=message):
        mutiny.compare(good(), tmp_path / "b.jsonl")


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".npz"])
def test_a_file_takes_no_more_memory_than_allowed(tmp_path, suffix, monkeypatch):
    file = write(tmp_path / f"b{suffix}", {"id": list(range(5000)), "correct": [1] * 5000})
    monkeypatch.setenv("MUTINY_LIMIT", "10kB")
    with pytest.raises(BadInput, match=r"a file that takes at most 10\.0kB in memory"):
        mutiny.compare(good(), file)


def test_pickled_answers_are_not_read(tmp_path):
    np.savez(tmp_path / "b.npz", id=np.array([{}, []], dtype=object), correct=[1, 1])
    with pytest.raises(BadInput, match="arrays of numbers"):
        mutiny.compare(good(), tmp_path / "b.npz")


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"slices": "room"}, "slices='room': expected a column of the recorded answers. There are no further columns"),
        ({"slices": {"room": [1]}}, "slices=1 values of room: expected 12, one for each input"),
        ({"slices": 5}, "slices=5: expected names of columns"),
        ({"slices": "class"}, "slices=class: expected another name"),
        ({"data": ([1], [1])}, "data=given with recorded answers"),
        ({"margin": "1%"}, "margin=1%: expected accuracy points"),
        ({"margin": "-1pt"}, "margin='-1pt': expected a number above 0"),
        ({"margin": 0}, "margin=0: expected a number above 0"),
        ({"margin": "100pt"}, "margin=100.0: expected fewer than 100 accuracy points"),
        ({"margin": "nan"}, "margin='nan': expected a number above 0"),
        ({"margin": True}, "margin=True: expected a number above 0"),
        ({"alpha": 0.7}, "alpha=0.7: expected a probability above 0 and below 0.5"),
        ({"higher_is_better": "yes"}, "higher_is_better='yes': expected True or False"),
    ],
)
def test_wrong_settings_are_refused(more, message):
    with pytest.raises(BadInput, match=f"^{message}"):
        mutiny.compare(good(), good(), **more)


def test_margins_of_scores_need_a_unit():
    zero = {"id": IDS, "score": [1.0, -1.0] * 6}
    with pytest.raises(BadInput, match="margin=1%: expected a mean score of A that is not 0"):
        mutiny.compare(zero, zero)
    with pytest.raises(BadInput, match="margin=1pt: expected no accuracy points"):
        mutiny.compare(zero, zero, margin="1pt")
    with pytest.raises(BadInput, match="at least two rows"):
        mutiny.compare({"id": [1], "score": [1]}, {"id": [1], "score": [1]})
