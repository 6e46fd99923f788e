import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import mutiny
from mutiny.core.random import generator_for
from mutiny.core.records import KillBits, MutantRecord, Verdict
from mutiny.verbs.assess.muff import score as score_module
from mutiny.verbs.assess.muff.kill_rule import Judged, KillRule, Sample
from mutiny.verbs.assess.muff.score import RESAMPLES, score_interval
from toys import blob_subject, line_subject

FEW = 100
"""Draws where they are spelled out."""
STRENGTHS = (0.25, 0.5, 0.75)


@pytest.fixture(scope="module", autouse=True)
def _few_resamples():
    """As many as there are, instead of those of `conftest`."""


def made_up(seed, originals, inputs=30, repetitions=3):
    """Mutants of one operator on three sets, the worse the stronger, with the numbers that rules see."""
    rng = np.random.default_rng(seed)
    mutants, right = {}, rng.random((originals, inputs)) < 0.9
    for split in ("train", "test", "weak"):
        mutants[split] = {}
        for strength in STRENGTHS:
            broken = rng.random((repetitions, originals, inputs)) < strength * rng.choice([0.2, 0.8])
            mutant = right[None] & ~broken
            differences = (right[None].astype(np.int16) - mutant).sum(axis=(0, 1)).astype(np.int16)
            sample = Sample(right.mean(1), mutant.mean(2), right.sum(1), mutant.sum(2), differences)
            verdict = Verdict.UNSTABLE if rng.random() < 0.2 and strength < STRENGTHS[-1] else Verdict.KILLED
            record = MutantRecord("X", strength, split, verdict)
            mutants[split][strength] = Judged(
                record, sample, KillBits(np.packbits(right, 1), np.packbits(mutant, 2), inputs)
            )
    return mutants


def slow(operators, rule, seed):
    """The same bootstrap spelled out: rows and columns are copied, every verdict on test is taken anew."""
    rng = generator_for(seed, "score interval")
    scores = []
    for _ in range(FEW):
        first = operators[0]["test"][STRENGTHS[0]].sample
        size = first.inputs if rule.test == "mcnemar" else len(first.originals)
        rows = rng.integers(size, size=size)
        values = []
        for mutants in operators:
            train = min(s for s, judged in mutants["train"].items() if judged.record.verdict is Verdict.KILLED)
            test = None
            for strength in sorted(mutants["test"], reverse=True):
                judged = mutants["test"][strength]
                s = judged.sample
                if rule.test == "mcnemar":
                    drawn = Sample(s.originals, s.mutants, s.right, s.mutants_right, s.differences[rows])
                else:
                    parts = s.originals[rows], s.mutants[:, rows], s.right[rows], s.mutants_right[:, rows]
                    drawn = Sample(*parts, s.differences)
                if judged.record.verdict is Verdict.UNSTABLE:
                    continue
                if not rule.judge(drawn, True).killed:
                    break
                test = strength
            values.append(0.0 if test is None else min(1.0, (1 - test) / (1 - train)))
        scores.append(np.mean(values))
    return np.quantile(scores, [0.025, 0.975])


@given(st.integers(0, 10**6), st.sampled_from([1, 6]), st.integers(1, 2))
@settings(max_examples=6, deadline=None)
def test_against_a_bootstrap_spelled_out(seed, originals, count):
    operators = [made_up(seed + i, originals) for i in range(count)]
    rule = KillRule().resolve(originals)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(score_module, "RESAMPLES", FEW)
        interval = score_interval([(mutants, 1.0) for mutants in operators], rule, True, seed)
    assert (interval.low, interval.high) == pytest.approx(tuple(slow(operators, rule, seed)))
    assert interval.method == ("bootstrap over inputs" if originals == 1 else "bootstrap over originals")
    assert interval.level == 0.95


def test_operators_without_a_strength_use_the_set_score():
    mutants = {split: {None: judged[0.75]} for split, judged in made_up(3, 6).items()}
    interval = score_interval([(mutants, None)], KillRule().resolve(6), True, 0)
    assert {interval.low, interval.high} <= {0.0, 1.0}


def test_nothing_to_resample_gives_no_interval():
    rule = KillRule(test="fisher").resolve(1)
    assert score_interval([], rule, True, 0) is None
    assert score_interval([(made_up(0, 1), 1.0)], rule, True, 0) is None
    assert score_interval([(made_up(0, 4), 1.0)], KillRule().resolve(4), True, 0) is None  # too few originals


@pytest.mark.parametrize(("make", "originals"), [(blob_subject, 1), (line_subject, 6)])
def test_the_interval_surrounds_the_score_and_repeats(originals, make):
    search = mutiny.Search(precision=0.2, rse=0.4)
    results = [mutiny.assess(make(originals), "WI(ratio=0.5)", seed=2, search=search, method="muff") for _ in range(2)]
    assert results[0].score == results[1].score
    score = results[0].score
    assert 0 <= score.interval.low <= score.value <= score.interval.high <= 1
    assert score.interval.method == ("bootstrap over inputs" if originals == 1 else "bootstrap over originals")


def test_a_draw_of_originals_takes_their_mutants_along():
    rng = np.random.default_rng(0)
    sample = Sample(rng.random(4), rng.random((3, 4)), np.arange(4), np.arange(12).reshape(3, 4), np.zeros(9, np.int16))
    drawn = sample.of_originals(np.array([2, 0, 2, 3]))
    assert drawn.originals.tolist() == sample.originals[[2, 0, 2, 3]].tolist()
    assert drawn.mutants.tolist() == sample.mutants[:, [2, 0, 2, 3]].tolist()
    assert drawn.right.tolist() == [2, 0, 2, 3]
    assert drawn.mutants_right.tolist() == [[2, 0, 2, 3], [6, 4, 6, 7], [10, 8, 10, 11]]


def test_counts_are_resampled_for_a_test_on_counts():
    """Two of the six originals carry all the damage: not enough, unless a draw has them more often."""
    right = np.full(6, 90)
    broken = Sample(right / 100, np.array([[0.9] * 4 + [0.8] * 2]), right, np.array([[90] * 4 + [80] * 2]), DIFFERENCES)
    judged = Judged(MutantRecord("X", 0.5, "test", Verdict.KILLED), broken, KillBits(NONE, NONE, 100))
    rule, rows = KillRule("fisher", beta=0.1).resolve(6), generator_for(0, "score interval")
    interval = score_interval([({"train": {0.5: judged}, "test": {0.5: judged}}, 1.0)], rule, True, 0)
    killed = [False]
    for damaged in range(1, 7):
        table = [[540, 60], [540 - 10 * damaged, 60 + 10 * damaged]]
        killed.append(stats.fisher_exact(table).pvalue < 0.05)
    scores = [float(killed[(rows.integers(6, size=6) >= 4).sum()]) for _ in range(RESAMPLES)]
    assert (interval.low, interval.high) == tuple(np.quantile(scores, [0.025, 0.975])) == (0, 1)


DIFFERENCES, NONE = np.zeros(100, np.int16), np.zeros((1, 13), np.uint8)
