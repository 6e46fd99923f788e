from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import mutiny
from mutiny.core.records import Basis
from mutiny.core.stats import relative_standard_error
from mutiny.faults.evaluation import Estimate, Outcome, Runner, Screening
from mutiny.faults.parsing import as_operators
from mutiny.models import ModelState, default_forward
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.assess.muff.early_verdict import corners, room, screenable
from mutiny.verbs.assess.muff.judge import MutantJudge, sample_of
from mutiny.verbs.assess.muff.kill_rule import TESTS, KillRule
from mutiny.verbs.assess.muff.search import Search, binary_search
from toys import blobs, classifier, line, regressor

INPUTS = 2000
LABELS = Classification(3, "logits")
RULES = {test: KillRule(test).resolve(5) for test in ("glm", "welch", "mann-whitney", "wilcoxon", "paired-t", "fisher")}


def outcomes(metrics, inputs=INPUTS):
    """Originals with such accuracies, wrong on the last inputs."""
    rights = [np.arange(inputs) < round(metric * inputs) for metric in metrics]
    return [Outcome(np.packbits(right), inputs, float(right.mean())) for right in rights]


def estimate_of(metrics, shift=0.0, spread=0.0, each=0.0, right=None, downs=(0.0, 0.0), ups=(0.0, 0.0), inputs=INPUTS):
    metrics = np.atleast_2d(metrics).astype(float)
    if right is None:
        right = np.arange(inputs) < np.rint(metrics * inputs)[..., None]
    return Estimate(
        metrics=metrics,
        shift=shift,
        spread=spread,
        each=np.broadcast_to(each, metrics.shape).astype(float),
        downs=downs,
        ups=ups,
        right=np.packbits(right, axis=-1),
        inputs=inputs,
        evaluated=0,
        basis=Basis.SAMPLED,
    )


def within(rng, estimate):
    """Metrics that the errors of an estimate allow, as near to them as they let: mean, norm, each."""
    metrics = estimate.metrics
    around = metrics - metrics.mean()
    along = around / (np.linalg.norm(around) or 1) * rng.choice([-1, 0, 1])
    error = along + rng.choice([0, 0.2, 1]) * rng.normal(size=metrics.shape) / np.sqrt(metrics.size)
    error -= error.mean()
    error += rng.choice([-1, 1]) * estimate.shift * rng.choice([0, 1, rng.random()])
    low = abs(error.mean()) * np.sqrt(metrics.size)
    if np.linalg.norm(error) > estimate.spread and np.linalg.norm(error - error.mean()) > 0:
        rest = max(0.0, estimate.spread**2 - low**2) ** 0.5
        error = error.mean() + (error - error.mean()) * rest / np.linalg.norm(error - error.mean())
    error *= min(1.0, *(estimate.each / np.maximum(np.abs(error), 1e-300)).ravel())
    assert abs(error.mean()) <= estimate.shift * (1 + 1e-9)
    assert np.linalg.norm(error) <= estimate.spread * (1 + 1e-6)
    return metrics + error


def scene(rng, originals=None, repetitions=None, regression=False):
    """Originals, and an estimate of a mutant near the edge of being killed."""
    originals = originals or int(rng.integers(4, 13))
    repetitions = repetitions or int(rng.choice([1, 1, 2, 3]))
    sd = 10 ** rng.uniform(-3, -1.5)
    clean = outcomes(np.clip(0.9 + sd * rng.normal(size=originals), 0.5, 1))
    before = np.array([outcome.metric for outcome in clean])
    fall = sd * rng.uniform(-0.5, 2)
    own = sd * rng.choice([0.1, 1, 3])
    metrics = np.clip(before - fall + own * rng.normal(size=(repetitions, originals)), 0, 1)
    size = sd * 10 ** rng.uniform(-2, 0.3)
    each = size * rng.uniform(0.3, 1.5, metrics.shape)
    spread = float(np.linalg.norm(each)) * rng.uniform(0.3, 1)
    return clean, estimate_of(metrics, min(each.mean(), spread / metrics.size**0.5) * rng.random(), spread, each)


def truth_of(sample, metrics):
    right = np.rint(metrics * INPUTS).astype(np.int64)
    return replace(sample, mutants=metrics, mutants_right=right)


def signed(rule, sample):
    """The statistic with its direction: p-values as normal quantiles, positive where the mutant is worse."""
    evidence = rule.judge(sample, True)
    return np.sign(sample.originals.mean() - sample.mutants.mean()) * stats.norm.isf(max(evidence.p_value, 1e-300) / 2)


# Corners


@pytest.mark.parametrize("test", [*RULES, "mcnemar"])
@pytest.mark.parametrize("task", [LABELS, Regression(0.3)], ids=["labels", "numbers"])
def test_the_estimate_itself_comes_first(test, task):
    rng = np.random.default_rng(0)
    clean, estimate = scene(rng)
    rule = KillRule(test).resolve(5)
    first = next(iter(corners(estimate, clean, rule, task)))
    bits = np.unpackbits(estimate.right, axis=-1, count=INPUTS)
    before = np.array([outcome.correct for outcome in clean])
    assert np.array_equal(first.mutants, estimate.metrics)
    assert first.originals.tolist() == [outcome.metric for outcome in clean]
    assert np.array_equal(first.right, before.sum(axis=1))
    assert np.array_equal(first.differences, (before.astype(int) - bits.astype(int)).sum(axis=(0, 1)))
    assert first.mutants_right == pytest.approx(
        estimate.metrics * INPUTS if task is LABELS else bits.sum(axis=-1), abs=0.5
    )


@pytest.mark.parametrize("test", RULES)
def test_without_errors_the_corners_are_the_sample_that_evaluating_everything_gives(test):
    rng = np.random.default_rng(1)
    clean = outcomes([0.9, 0.92, 0.95])
    rounds = [outcomes(rng.uniform(0.85, 0.95, 3)) for _ in range(2)]
    metrics = [[outcome.metric for outcome in row] for row in rounds]
    right = [[outcome.correct for outcome in row] for row in rounds]
    (sample,) = corners(estimate_of(metrics, right=right), clean, RULES[test], LABELS)
    expected = sample_of(clean, rounds)
    for name in ("originals", "mutants", "right", "mutants_right", "differences"):
        assert np.array_equal(getattr(sample, name), getattr(expected, name)), name


@given(st.integers(0, 10**9), st.sampled_from(["glm", "welch"]))
@settings(max_examples=60, deadline=None)
def test_corners_bound_statistic_and_effect_of_tests_of_means(seed, test):
    rng = np.random.default_rng(seed)
    clean, estimate = scene(rng)
    rule = RULES[test]
    samples = list(corners(estimate, clean, rule, LABELS))
    inside = truth_of(samples[0], within(rng, estimate))
    measures = [
        lambda s: rule.judge(s, True).effect_size,
        lambda s: rule.judge(s, False).effect_size,
        lambda s: relative_standard_error(s.mutants.ravel()),
    ]
    if test == "glm":  # Welch's p-value is not monotone in the spread, which also moves its degrees of freedom
        measures.append(lambda s: signed(rule, s))
    for measure in measures:
        values = [measure(sample) for sample in samples]
        assert min(values) - 1e-6 <= measure(inside) <= max(values) + 1e-6


def test_a_mutant_without_spread_gets_corners_with_some():
    clean, estimate = outcomes([0.9, 0.91, 0.92, 0.93]), estimate_of([0.9] * 4, 0.01, 0.04, 0.02)
    spreads = [
        float(np.linalg.norm(s.mutants - s.mutants.mean())) for s in corners(estimate, clean, RULES["glm"], LABELS)
    ]
    means = [float(s.mutants.mean()) for s in corners(estimate, clean, RULES["glm"], LABELS)]
    assert spreads == pytest.approx([0, 0, 0, 0.01, 0.01, 0.02, 0.02, 0.03, 0.03, 0.04, 0.04])
    assert means == pytest.approx([0.9, *[0.89, 0.91] * 5])


def unlike(test, times, seed=0, **more):
    """Cases in which all corners agree on a verdict that allowed metrics contradict, and cases in which they agree."""
    rng, rule, wrong, clear = np.random.default_rng(seed), RULES[test], [], 0
    for case in range(times):
        clean, estimate = scene(rng, **more)
        samples = list(corners(estimate, clean, rule, LABELS))
        verdicts = {rule.judge(sample, True).killed for sample in samples}
        for _ in range(4):
            metrics = within(rng, estimate)
            if len(verdicts) == 1:
                clear += 1
                if rule.judge(truth_of(samples[0], metrics), True).killed not in verdicts:
                    wrong.append(case)
    return wrong, clear


@pytest.mark.parametrize("test", ["glm", "welch", "mann-whitney", "wilcoxon", "fisher"])
def test_a_verdict_on_which_all_corners_agree_holds_for_all_that_the_errors_allow(test):
    times = 12 if test == "fisher" else 25
    wrong, clear = unlike(test, times)
    assert clear > times
    assert not wrong


def contradicted(test, originals, estimate, truth):
    """Whether allowed metrics get another verdict than all corners."""
    error = np.atleast_2d(truth) - estimate.metrics
    assert abs(error.mean()) <= estimate.shift + 1e-12
    assert np.linalg.norm(error) <= estimate.spread + 1e-12
    assert (np.abs(error) <= estimate.each + 1e-12).all()
    clean = [Outcome(np.zeros(INPUTS // 8, np.uint8), INPUTS, float(metric)) for metric in originals]
    samples = list(corners(estimate, clean, rule := RULES[test], LABELS))
    verdicts = {rule.judge(sample, True).killed for sample in samples}
    return len(verdicts) == 1 and rule.judge(truth_of(samples[0], np.atleast_2d(truth)), True).killed not in verdicts


def test_a_rank_test_is_asked_with_every_metric_at_its_end():
    """Two instances fall far, eight are a hair better than their originals, and could be as much worse: then killed."""
    originals = 0.9 + np.linspace(-0.01, 0.01, 10)
    far = np.isin(np.arange(10), (4, 5))
    metrics = originals + np.where(far, -0.03, 1e-4)
    error = np.where(far, 8e-4, -2e-4)
    estimate = estimate_of(metrics, 0.0, float(np.linalg.norm(error)), np.abs(error))
    rule, clean = RULES["wilcoxon"], [Outcome(np.zeros(INPUTS // 8, np.uint8), INPUTS, float(o)) for o in originals]
    verdicts = [rule.judge(sample, True).killed for sample in corners(estimate, clean, rule, LABELS)]
    assert not any(verdicts[:5])  # the estimate, and the extremes of mean and spread
    assert any(verdicts)
    assert not contradicted("wilcoxon", originals, estimate, metrics + error)


def test_welchs_verdict_with_three_originals_holds_between_the_corners():
    """No spread of the mutants: too few degrees of freedom. Much spread: too much error. In between: killed."""
    shape = np.array([-1.0, 0.0, 1.0])
    originals = 0.9 + 0.01 * shape
    middle = 0.9 - 4.2 * 0.01 / 3**0.5
    estimate = estimate_of(middle + 0.018 * shape, 0.0, 0.03, 0.03)
    assert not contradicted("welch", originals, estimate, middle + 0.007 * shape)


def test_a_paired_verdict_holds_where_errors_change_the_spread_of_the_metrics():
    """All mutants are worse by 0.49 standard deviations; a slightly narrower group would be worse by more than 0.5."""
    around = np.linspace(-1, 1, 10) * 0.01
    fall = 0.49 * around.std(ddof=1)
    estimate = estimate_of(0.9 + around - fall, 0.0, 0.3 * np.linalg.norm(around), 0.01)
    assert not contradicted("paired-t", 0.9 + around, estimate, 0.9 + 0.75 * around - fall)


def test_a_paired_verdict_over_repetitions_holds_where_errors_change_the_means_per_original():
    """Two repetitions that differ much but agree in the mean; the same error in both moves the means alone."""
    width = 0.01
    sign = np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    fall, noise = 0.8 * width, np.array([1.0, 0.7, -0.2, -0.7, -0.8])
    metrics = 0.9 - fall + width * np.array([sign, -sign])
    error = np.array([noise, noise]) * (2.3 * width / np.linalg.norm([noise, noise]))
    estimate = estimate_of(metrics, 0.0, 2.3 * width, 0.05)
    assert not contradicted("paired-t", np.full(5, 0.9) + 1e-4 * sign, estimate, metrics + error)


# Tests over inputs


def changed_bits(rng, right, downs, ups):
    """So many answers changed, wherever they are."""
    right = right.copy().reshape(-1)
    right[rng.permutation(np.flatnonzero(right))[:downs]] = False
    right[rng.permutation(np.flatnonzero(~right))[:ups]] = True
    return right


@pytest.mark.parametrize("originals", [1, 4])
def test_a_paired_verdict_over_inputs_holds_for_all_changes_that_are_allowed(originals):
    rng, rule, clear, wrong = np.random.default_rng(0), KillRule("mcnemar").resolve(originals), 0, 0
    for _ in range(160):
        repetitions = 1 if originals > 1 else int(rng.integers(1, 6))
        clean = outcomes([0.95] * originals)
        before = np.array([[outcome.correct for outcome in clean]] * repetitions)
        base = rng.integers(0, 60)
        predicted = changed_bits(rng, before, base, int(base * rng.uniform(0, 1.2))).reshape(before.shape)
        most = rng.integers(0, 60, 2)
        downs, ups = rng.integers(0, most + 1)
        truth = changed_bits(rng, predicted, downs, ups).reshape(before.shape)
        estimate = estimate_of(
            predicted.mean(axis=-1), 1e-3, 1e-3, 1e-3, predicted, downs=(0.0, float(most[0])), ups=(0.0, float(most[1]))
        )
        verdicts = {rule.judge(s, True).killed for s in corners(estimate, clean, rule, LABELS)}
        real = truth.reshape(repetitions, originals, -1)
        sample = sample_of(clean, [[Outcome(np.packbits(r), INPUTS, r.mean()) for r in row] for row in real])
        if len(verdicts) == 1:
            clear += 1
            wrong += rule.judge(sample, True).killed not in verdicts
    assert clear > 16
    assert wrong == 0


def test_a_hidden_fall_may_take_back_a_predicted_rise():
    """60 predicted falls and 45 rises, of which eight are none: an effect of 0.102 becomes one of 0.119."""
    clean, rule = outcomes([0.95]), KillRule(beta=0.11).resolve(1)
    predicted = clean[0].correct.copy()
    predicted[:60], predicted[-45:] = False, True
    truth = predicted.copy()
    truth[-8:] = False
    estimate = estimate_of([[predicted.mean()]], 0.01, 0.01, 0.01, predicted[None, None], downs=(0.0, 8.0))
    verdicts = {rule.judge(sample, True).killed for sample in corners(estimate, clean, rule, LABELS)}
    real = rule.judge(sample_of(clean, [[Outcome(np.packbits(truth), INPUTS, truth.mean())]]), True)
    assert real.killed in verdicts


@pytest.mark.parametrize("originals", [1, 3])
def test_counts_of_right_answers_stay_possible(originals):
    clean, rule = outcomes([0.999] * originals), KillRule("fisher").resolve(originals)
    estimate = estimate_of(np.full((1, originals), 0.998), 0.01, 0.02, 0.01, downs=(0.0, 9.0), ups=(0.0, 9.0))
    for sample in corners(estimate, clean, rule, LABELS):
        assert 0 <= sample.mutants_right.min() <= sample.mutants_right.max() <= INPUTS
        rule.judge(sample, True)


def test_fishers_test_with_an_effect_over_inputs_is_exact():
    assert not screenable(KillRule("fisher").resolve(1), LABELS)
    assert screenable(KillRule("fisher").resolve(3), LABELS)


@pytest.mark.parametrize("test", ["glm", "welch"])
def test_an_effect_of_ranks_is_asked_at_the_ends_of_each_metric(test):
    """Two mutants fell far; the others are a little better, or a little worse if errors allow it: A12 0.6 or 0.64."""
    before = 0.9 + np.linspace(-0.005, 0.005, 10)
    far = np.isin(np.arange(10), (4, 5))
    error = np.where(far, 32e-4, -8e-4)
    metrics = before + np.where(far, -0.03, 6e-4)
    rule = KillRule(test, effect="a12", alpha=0.2).resolve(10)
    clean = [Outcome(np.zeros(INPUTS // 8, np.uint8), INPUTS, float(metric)) for metric in before]
    estimate = estimate_of(metrics, 0.0, float(np.linalg.norm(error)), np.abs(error))
    samples = [*corners(estimate, clean, rule, LABELS)]
    real = rule.judge(truth_of(samples[0], np.atleast_2d(metrics + error)), True).killed
    assert real in {rule.judge(sample, True).killed for sample in samples}


def test_mcnemars_corners_add_changes_for_the_worse_and_for_the_better():
    clean = outcomes([0.95])
    right = clean[0].correct.copy()
    right[:10] = False  # ten predicted falls
    estimate = estimate_of([[right.mean()]], 0.01, 0.01, 0.01, right[None, None], downs=(3.0, 20.0), ups=(2.0, 30.0))
    samples = [
        ((s.differences > 0).sum(), (s.differences < 0).sum())
        for s in corners(estimate, clean, KillRule().resolve(1), LABELS)
    ]
    assert {(10, 0), (13, 30), (30, 2)} <= set(samples)


def test_tests_over_answers_need_answers():
    for test in TESTS:
        rule = KillRule(test).resolve(5)
        assert screenable(rule, LABELS)
        assert screenable(rule, Regression(0.3)) is (test not in ("fisher", "mcnemar"))


# Room


@given(st.floats(0, 1))
@settings(max_examples=40, deadline=None)
def test_room_is_the_share_of_the_error_at_which_the_answer_is_known(edge):
    estimate = estimate_of([0.9, 0.9], shift=0.01)
    share = room(lambda e: "known" if e.shift <= edge * 0.01 else None, estimate)
    assert share == pytest.approx(edge, abs=1 / 256)
    assert share <= edge + 1e-9


def test_room_on_the_edge_and_where_all_is_known():
    estimate = estimate_of([0.9, 0.9], shift=0.01)
    assert room(lambda _: "known", estimate) == 1
    assert room(lambda _: None, estimate) == 0


@given(st.floats(0, 1), st.tuples(st.floats(0, 50), st.floats(0, 50)).map(sorted))
@settings(max_examples=40, deadline=None)
def test_a_surer_estimate_lies_within_the_less_sure_one(factor, ends):
    wide = estimate_of([0.9, 0.8], 0.01, 0.03, 0.02, downs=tuple(ends), ups=(1.0, 5.0))
    narrow = wide.times(factor)
    assert narrow.shift == pytest.approx(factor * wide.shift)
    assert narrow.spread == pytest.approx(factor * wide.spread)
    assert narrow.each == pytest.approx(factor * wide.each)
    assert ends[0] - 1e-9 <= narrow.downs[0] <= narrow.downs[1] + 1e-9 <= ends[1] + 2e-9
    assert np.diff(narrow.downs) == pytest.approx(factor * np.diff(ends), abs=1e-9)
    assert np.array_equal(narrow.metrics, wide.metrics)


# Whole searches on networks

QUICK = Search(precision=0.2)
EAGER = Screening(fewest=100, tail_checks=1000, least_work=0)
ROUNDING = 1e-6
"""Of predictions of about 3 in single precision, which depend on the batch that an input is in."""


def judge_of(
    operator, test="auto", originals=5, screening=EAGER, task="labels", forward=default_forward, seed=0, inputs=4000
):
    if task == "labels":
        models, kind, data = [classifier(s) for s in range(originals)], Classification(3), blobs(inputs, seed=3)
    else:
        models, kind, data = [regressor(s) for s in range(originals)], Regression(0.3, task), line(inputs, seed=3)
    runner = Runner(models, kind, {"train": as_data(data, "train")}, forward, seed, 512)
    (fault,) = as_operators(operator)
    return MutantJudge(runner, fault, fault.code, KillRule(test).resolve(originals), QUICK, screening)


def search(judge):
    """Every strength that a search on the training set tries, with its record."""
    binary_search(lambda s: judge(s, "train").record.verdict, QUICK.bounds(judge.operator.bounds), QUICK)
    return {strength: judged.record for strength, judged in judge.seen("train").items()}


@cache
def searched(operator, screening=EAGER, **more):
    """The same search, once for all tests that compare with it."""
    return search(judge_of(operator, screening=screening, **more))


def agree(screened, exact):
    assert list(screened) == list(exact)
    for strength, record in screened.items():
        truth = exact[strength]
        assert (record.verdict, record.instances) == (truth.verdict, truth.instances)
        assert abs(record.metric_mean - truth.metric_mean) <= record.metric_error + ROUNDING
        assert record.evaluated <= truth.evaluated
        if record.basis is Basis.EXACT:
            assert record.p_value == pytest.approx(truth.p_value, rel=1e-4, abs=1e-12)
            assert record.effect_size == pytest.approx(truth.effect_size, rel=1e-4)
            assert np.array(record.metrics) == pytest.approx(np.array(truth.metrics), abs=ROUNDING)
            assert record.killed_classes == truth.killed_classes
    return sum(r.evaluated for r in screened.values()) / sum(r.evaluated for r in exact.values())


@pytest.mark.parametrize("operator", ["WI", "NI(ratio=0.5)", "GF(ratio=0.5)", "NEB"])
def test_a_screened_search_finds_what_an_exact_one_finds(operator):
    screened, exact = searched(operator), searched(operator, screening=None)
    assert agree(screened, exact) < 1
    assert len({record.verdict for record in exact.values()}) > 1 or operator.startswith("GF")  # it hardly hurts
    assert {record.basis for record in screened.values()} != {Basis.EXACT}
    assert {record.basis for record in exact.values()} == {Basis.EXACT}


@pytest.mark.parametrize("test", ["wilcoxon", "welch", "mann-whitney", "paired-t", "fisher"])
def test_a_screened_search_finds_the_same_with_every_test(test):
    more = {"originals": 3, "inputs": 2000} if test == "fisher" else {}  # its p-values take long
    agree(*(searched("WI", test=test, screening=screening, **more) for screening in (EAGER, None)))


@pytest.mark.parametrize("operator", ["WI", "NI"])
def test_a_screened_search_finds_the_same_with_one_original(operator):
    agree(searched(operator, originals=1), searched(operator, originals=1, screening=None))


@pytest.mark.rounding
@pytest.mark.parametrize(("metric", "test"), [("mse", "glm"), ("mae", "wilcoxon")])
def test_a_screened_search_finds_the_same_for_regression(metric, test):
    settings = {"test": test, "task": metric, "inputs": 2000}
    agree(searched("WI", **settings), searched("WI", screening=None, **settings))


def test_tests_over_answers_evaluate_every_output_of_a_regression():
    path = search(judge_of("WI", "fisher", task="mse", inputs=1000))
    assert {record.basis for record in path.values()} == {Basis.EXACT}


def test_few_inputs_are_evaluated_in_full():
    path = search(judge_of("WI", screening=Screening(fewest=4001)))
    assert path == searched("WI", screening=None)


def test_the_same_seed_gives_the_same_search():
    first, second = searched("NI"), search(judge_of("NI"))
    assert first == second
    assert first != search(judge_of("NI", seed=1))


def test_a_mutant_judged_alone_agrees_with_one_judged_in_a_search():
    """Its samples depend on its strength, not on what was judged before; only its memory does."""
    exact = search(judge_of("GF", screening=None))
    for strength, record in exact.items():
        assert judge_of("GF")(strength, "train").record.verdict is record.verdict


@pytest.mark.parametrize(
    ("operator", "error", "calls"), [("WI", KeyboardInterrupt(), 40), ("NI", RuntimeError("out of luck"), 7)]
)
def test_models_are_untouched_after_an_interrupt_in_the_middle(operator, error, calls):
    fuse = {"left": 10**9}

    def forward(model, x):
        fuse["left"] -= 1
        if fuse["left"] < 0:
            raise error
        return model(x)

    judge = judge_of(operator, forward=forward)
    models = judge.runner.models
    before = [ModelState.of(model) for model in models]
    judge.runner.clean_outcomes("train")
    assert judge.runner.views
    fuse["left"] = calls
    with pytest.raises(type(error)):
        search(judge)
    assert [ModelState.of(model) for model in models] == before
    fuse["left"] = 10**9
    again = MutantJudge(judge.runner, judge.operator, judge.label, judge.rule, QUICK, EAGER)
    assert search(again) == searched(operator)


def test_an_assessment_says_how_its_verdicts_were_reached():
    subject = mutiny.Subject(
        [classifier(s) for s in range(5)],
        task=mutiny.Classification(3),
        train=blobs(2000, seed=3),
        test=blobs(2000, seed=4),
    )
    settings = {"search": mutiny.Search(precision=0.3), "batch_size": 512, "method": "muff"}
    screened = mutiny.assess(subject, "WI", screening=EAGER, **settings)
    exact = mutiny.assess(subject, "WI", exact=True, **settings)
    for record, truth in zip(screened.operators, exact.operators, strict=True):
        assert [(m.strength, m.guiding_set, m.verdict) for m in record.mutants] == [
            (m.strength, m.guiding_set, m.verdict) for m in truth.mutants
        ]
        assert record.score == truth.score
        assert all(m.basis is Basis.EXACT and m.metric_error == 0 for m in truth.mutants)
        for m in record.mutants:
            assert (m.metric_error == 0) or m.basis is not Basis.EXACT
