"""What a part of a set says about mutants: the assessment's own verdicts and scores for the whole of it."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import mutiny
import toys
from mutiny.core.records import Status, Verdict
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import as_operators
from mutiny.subjects.inference.passes import Pace
from mutiny.verbs.assess.judge import Judge
from mutiny.verbs.assess.search import Search
from mutiny.verbs.strengthen.answers import losses, right
from mutiny.verbs.strengthen.kill_table import KillTable, is_exact, mean_score, rules_of, scores
from mutiny.verbs.strengthen.mutant_pool import MutantPool, row_of
from verbs.strengthen.tables import COARSE, random_table, table_of, weak_subject

OPERATORS = "WI(ratio=0.3),NI(ratio=0.5)"


def check_same(result, table):
    """Verdicts and scores of a table are those of the assessment."""
    verdicts = {row.key: table.verdict(row, np.arange(len(table))) for row in table.rows}
    expected = {
        (mutant.operator, mutant.strength): mutant.verdict
        for record in result.operators
        for mutant in record.mutants
        if mutant.guiding_set == "test" and mutant.same_as is None
    }
    assert verdicts == expected
    assert len(set(verdicts.values())) > 1
    each = scores(result.operators, table.killed())
    assert each == {record.label: record.score for record in result.operators if record.status is Status.SCORED}
    assert each
    assert mean_score(each) == pytest.approx(result.score.value, abs=1e-12)


@pytest.mark.parametrize(
    ("originals", "rule", "operators"),
    [
        (3, None, "WI(ratio=0.3),AFR"),
        (1, None, "NEB,WS"),
        (4, mutiny.KillRule("welch"), "WI(ratio=0.3)"),
        (2, mutiny.KillRule("mcnemar"), "WI(ratio=0.3)"),
    ],
    ids=["glm", "one original", "welch", "mcnemar"],
)
def test_the_whole_test_set_says_what_the_assessment_said(originals, rule, operators):
    result = mutiny.assess(toys.blob_subject(originals), operators, rule=rule, search=COARSE, exact=True)
    assert is_exact(result)
    check_same(result, KillTable.of(result))


@pytest.mark.parametrize(("originals", "metric"), [(3, "mse"), (3, "mae"), (1, "mse")])
def test_so_do_fresh_evaluations_of_a_regression(originals, metric):
    subject = toys.line_subject(originals, metric)
    result = mutiny.assess(subject, OPERATORS, search=replace(COARSE, rse=0.2), exact=True)
    rule, search = rules_of(result)
    mutants = MutantPool(
        Runner(subject.models, subject.task, subject.splits(), subject.forward, 0, pace=Pace()), rule, search, None
    )
    targets, rows = mutants.targets, []
    for operator, record in zip(as_operators(OPERATORS), result.operators, strict=True):
        for mutant in record.mutants:
            if mutant.guiding_set == "test" and mutant.same_as is None:
                said = mutants.answers(operator, mutant.strength).test
                rows.append(row_of(subject.task, record.label, mutant.strength, said, targets))
    with torch.no_grad():
        answers = np.array([net(subject.test.inputs).double().numpy() for net in subject.models])
    table = KillTable(
        right(subject.task, answers, targets), losses(subject.task, answers, targets), tuple(rows), rule, search, False
    )
    check_same(result, table)


def test_fresh_evaluations_are_the_assessments_own():
    """The same seed makes the same mutants, so answers and kept bits agree."""
    subject = weak_subject(3)
    result = mutiny.assess(subject, "WI", search=COARSE, exact=True)
    task = mutiny.Classification(3, "logits")
    runner = Runner(subject.models, task, subject.splits(), subject.forward, 0, pace=Pace())
    mutants = MutantPool(runner, *rules_of(result), None)
    for row in KillTable.of(result).rows:
        said = mutants.answers(as_operators("WI")[0], row.strength).test
        np.testing.assert_array_equal(right(mutants.task, said, mutants.targets)[: len(row.right)], row.right)


@pytest.mark.parametrize("originals", [1, 3])
def test_a_part_says_what_an_assessment_of_that_part_says(originals):
    """A judge that only ever sees the part is the reference."""
    subject = toys.blob_subject(originals)
    rule, search = mutiny.KillRule().resolve(originals), Search()
    rng, task = np.random.default_rng(0), mutiny.Classification(3, "logits")
    seen = set()
    for _ in range(2):
        part = np.sort(rng.permutation(120)[: rng.integers(30, 110)])
        splits = {"train": subject.train, "test": subject.test.subset(part)}
        mutants = MutantPool(
            Runner(subject.models, task, subject.splits(), subject.forward, 0, pace=Pace()), rule, search, None
        )
        runner = Runner(subject.models, task, splits, subject.forward, 0, pace=Pace())
        for operator in as_operators("WI(ratio=0.3),NEB"):
            for strength in (0.3, 0.6, 0.9):
                said = mutants.answers(operator, strength, least=search.k_max).test
                row = row_of(task, operator.code, strength, said, mutants.targets)
                table = KillTable(_clean(subject), None, (row,), rule, search, True)
                wanted = Judge(runner, operator, operator.code, rule, search)(strength, "test").record.verdict
                assert table.verdict(row, part) is wanted
                seen.add(wanted)
    assert len(seen) > 1


def _clean(subject):
    with torch.no_grad():
        return np.array(
            [
                (net(subject.test.inputs).argmax(1) == torch.from_numpy(subject.test.targets)).numpy()
                for net in subject.models
            ]
        )


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), size=st.integers(1, 8))
def test_a_sample_is_what_a_slow_loop_counts(seed, size):
    rng = np.random.default_rng(seed)
    table = random_table(rng)
    part = rng.permutation(8)[:size]
    sample = table.sample(table.rows[0], part, 2)
    for original in range(4):
        assert sample.right[original] == sum(bool(table.right[original, at]) for at in part)
        assert sample.originals[original] == sample.right[original] / size
        for repetition in range(2):
            count = sum(bool(table.rows[0].right[repetition, original, at]) for at in part)
            assert sample.mutants_right[repetition, original] == count
    lost = [
        sum(int(table.right[o, at]) - int(table.rows[0].right[r, o, at]) for r in range(2) for o in range(4))
        for at in part
    ]
    assert sample.differences.tolist() == lost


def test_nothing_kills_nothing_and_infinite_losses_are_unstable():
    table = table_of(np.ones((3, 4)), [np.zeros((2, 3, 4))])
    assert table.verdict(table.rows[0], np.zeros(0, np.int64)) is Verdict.SURVIVED
    assert table.killed() == {("WI", 0.0)}
    row = row_of(mutiny.Regression(0.1), "WI", 0.5, np.full((1, 3, 2, 1), np.nan), np.zeros((2, 1)))
    broken = KillTable(np.ones((3, 2), bool), np.zeros((3, 2)), (row,), table.rule, table.search, False)
    assert broken.verdict(row, np.arange(2)) is Verdict.UNSTABLE
