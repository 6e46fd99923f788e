"""Judges from names, gates, functions and files; wrong ones get a sentence."""

from __future__ import annotations

import pytest

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.judges import FunctionJudge, Gate, PairedTest, SingleKillRule
from mutiny.verbs.assess.judges.parsing import as_judges


def acceptable(predict, test):
    return True


def test_the_paired_test_is_the_default_and_is_always_asked():
    assert as_judges(None) == (PairedTest(),)
    assert as_judges("accuracy >= 0.9") == (Gate("accuracy >= 0.9"), PairedTest())
    assert as_judges(["kill-rule", "paired(alpha=0.01)"]) == (SingleKillRule(), PairedTest(0.01))


def test_judges_keep_their_order_and_have_labels_as_they_are_typed():
    given = [acceptable, "drop<=0.5pt", PairedTest(0.2), "KILL-RULE(beta=0.3)"]
    assert [judge.label for judge in as_judges(given)] == [
        "acceptable",
        "drop <= 0.5pt",
        "paired(alpha=0.2)",
        "kill-rule(beta=0.3)",
    ]


def test_a_function_in_a_file_is_named_after_the_file_in_whatever_folder(tmp_path):
    (tmp_path / "checks.py").write_text("def fine(predict, test):\n    return True\n")
    judge, _ = as_judges(f"{tmp_path}/checks.py:fine")
    assert isinstance(judge, FunctionJudge)
    assert judge.label == "checks.py:fine"
    assert judge.function(None, None)


def test_a_name_from_a_stored_file_never_runs_code(tmp_path):
    (tmp_path / "checks.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\ndef fine(p, t):\n    return True\n")
    with pytest.raises(BadInput, match="a judge that is no function in a file"):
        as_judges([f"{tmp_path}/checks.py:fine"], files=False)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("paried", r"judge='paried': expected paired, kill-rule, a gate such as accuracy >= 0.97, or FILE.py:NAME"),
        ("gate", r"judge='gate': expected the gate itself, such as accuracy >= 0.97"),
        ("function", r"judge='function': expected FILE.py:NAME"),
        ("accuracy >= ", r'judge="accuracy >= ": expected a number at column 13, not the end'),
        ("paired(level=0.1)", r"paired parameter='level=0.1': expected name=value with a name among alpha"),
        ("kill-rule(test=glm)", r"test='glm': expected mcnemar or fisher"),
        ("missing.py:f", r"judge='missing.py': expected a Python file that exists"),
        (0.05, r"judge=0.05: expected a judge, the text of a gate, or a function"),
        (PairedTest, r"judge=<class .*: expected a judge"),
        ([], r"judge=\[\]: expected at least one judge"),
        (["accuracy >= 0.9", "accuracy>=90%"], r"judge='accuracy >= 0.9': expected each judge once"),
        ([acceptable, FunctionJudge(lambda p, t: True, "acceptable")], r"judge='acceptable': expected each judge once"),
    ],
)
def test_wrong_judges_get_a_sentence(given, told):
    with pytest.raises(BadInput, match=told):
        as_judges(given)


def test_a_file_without_the_function_names_those_it_has(tmp_path):
    (tmp_path / "checks.py").write_text("def fine(predict, test):\n    return True\nlimit = 3\n")
    with pytest.raises(BadInput, match="It defines: fine"):
        as_judges(f"{tmp_path}/checks.py:fin")
    with pytest.raises(BadInput, match="It is of type int"):
        as_judges(f"{tmp_path}/checks.py:limit")
