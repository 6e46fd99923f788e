"""Screened verdicts beside exact ones, on simulated mutants.

``MUTINY_SIMULATIONS=2000`` simulates so many mutants of classifiers, of the sizes of `references.screening.SIZES`.
"""

import os
from itertools import pairwise

import numpy as np
import pytest
import torch

from mutiny.core.errors import BadInput
from mutiny.core.records import Basis
from mutiny.faults.evaluation import Screening
from mutiny.faults.evaluation.prediction import AnswerMemory
from mutiny.faults.evaluation.screened import LOOKS
from mutiny.verbs.assess.muff.kill_rule import KillRule
from references import screening as reference
from references.screening import LABELS, NUMBERS, Resized, SimulatedRunner, classifiers, regressors, simulated

MANY = "MUTINY_SIMULATIONS" in os.environ
MUTANTS = int(os.environ.get("MUTINY_SIMULATIONS", "20"))
SIZES = reference.SIZES if MANY else [(10, 4000), (20, 10_000)]
HONEST = [kind for kind in LABELS if not kind.startswith("adversarial")]


def told(checked):
    return f"\n{reference.table(checked)}\n{reference.wrong(checked)}"


def verdicts_hold(checked, often=0.001):
    assert sum(c.wrong for c in checked) <= often * len(checked), told(checked)
    assert not any("exact" in c.ever_outside for c in checked), told(checked)
    assert np.mean([c.share for c in checked]) <= 1


@pytest.fixture(scope="module")
def mutants():
    return {kind: [simulated(kind, seed, sizes=SIZES) for seed in range(MUTANTS // len(LABELS))] for kind in LABELS}


@pytest.mark.parametrize("kind", LABELS)
def test_a_screened_verdict_is_the_exact_one(kind, mutants):
    verdicts_hold(mutants[kind])


@pytest.mark.parametrize("kind", HONEST)
def test_the_truth_lies_within_the_errors_of_every_estimate(kind, mutants):
    assert not any(c.ever_outside for c in mutants[kind]), told(mutants[kind])


def test_verdicts_hold_where_originals_differ_by_less_than_the_checks_can_show():
    """Accuracies of 0.999 +- 0.0001: one of 10,000 sure answers is enough to kill; 10,000 checks would miss it."""
    checked = []
    for seed, rate in ((2, 1.6e-4), (18, 2.05e-4), (36, 1.4e-4), (48, 2.0e-4)):
        originals = classifiers(1000 + seed % 3, 20, 10_000, 10, 0.999, 1e-4)
        runner = SimulatedRunner(originals, LABELS["adversarial"][0], seed)
        judges = reference.judges(runner, KillRule(), Screening())
        checked.append(reference.check(runner, "adversarial", rate, *judges))
    verdicts_hold(checked)


def test_most_inputs_are_left_out(mutants):
    """Of 20 originals on 10,000 inputs: with fewer of either, what must be checked is most of what there is."""
    large = {kind: [c for c in checked if c.screened.instances == 20] for kind, checked in mutants.items()}
    everything = [c for checked in large.values() for c in checked]
    assert np.mean([c.share for c in everything]) < 0.7, told(everything)
    others = {Basis.FOREGONE, Basis.PREDICTED}  # of trainings, and of notice rates
    assert {c.basis for c in everything} == set(Basis) - others
    for kind in ("unchanged", "strong", "one class"):
        assert np.mean([c.share for c in large[kind]]) < 0.4, told(large[kind])


def test_the_truth_lies_within_the_errors_whatever_a_mutant_does_to_sure_answers():
    """One of 10,000 inputs gets another answer, of those about which the originals were sure; nothing else changes."""
    checked = []
    for seed in range(4):
        runner = SimulatedRunner(classifiers(seed, 10, 4000), LABELS["adversarial"][0], seed)
        checked.append(reference.check(runner, "adversarial", 2e-4, *reference.judges(runner, KillRule(), Screening())))
    assert not any(c.wrong for c in checked)
    assert not any(c.outside for c in checked), told(checked)


@pytest.mark.parametrize(("kind", "seed"), [("gaussian", 1), ("laplace", 0), ("adversarial+", 0), ("cluster", 0)])
def test_verdicts_of_whole_searches_are_the_exact_ones(kind, seed):
    """The probes of a bisection share a memory, so that the later ones are mostly interpolated.

    Of 20 originals on 10,000 inputs for one kind, of fewer for the others.
    """
    probes, seeds = (8, range(4)) if MANY else (4, [seed])
    verdicts_hold([c for seed in seeds for c in reference.searched(kind, seed, probes, sizes=SIZES)])


@pytest.mark.parametrize("kind", ["noise", "lognormal", "offset", "same"])
def test_a_screened_verdict_on_losses_is_the_exact_one(kind):
    """Lower is better, and there are no flips: changes are as large as they are."""
    seeds = range(max(6, MUTANTS // 40)) if MANY else (3, 4)  # one that survives and, if it changes much, one killed
    verdicts_hold([simulated(kind, seed, sizes=SIZES) for seed in seeds])


def test_a_screened_verdict_on_losses_that_seldom_change_is_the_exact_one():
    """One of 1,000 inputs gets a large loss; everything else is untouched, and so is most of the sample."""
    verdicts_hold([simulated("rare", seed, sizes=reference.SIZES) for seed in (32, 33, 60)])


@pytest.mark.parametrize(
    ("test", "kind"),
    [("wilcoxon", "loudness"), ("welch", "loudness"), ("mann-whitney", "one class"), ("paired-t", "one class")],
)
def test_verdicts_of_other_tests_are_the_exact_ones(test, kind):
    verdicts_hold([simulated(kind, 5, KillRule(test), sizes=SIZES)])


def test_verdicts_with_one_original_are_the_exact_ones():
    """McNemar's test, over repetitions."""
    checked = []
    for kind in ("gaussian", "adversarial+", "unchanged"):
        runner = SimulatedRunner(classifiers(1, 1, 4000), LABELS[kind][0], 1)
        for size in np.geomspace(LABELS[kind][1], LABELS[kind][2], 4)[1:3]:
            judges = reference.judges(runner, KillRule(), Screening())
            checked.append(reference.check(runner, kind, float(size), *judges))
    verdicts_hold(checked)


# How it is done


class Script:
    """A mutant made by hand that records every request."""

    def __init__(self, originals, change, screening=None, strength=None, size=1.0, seed=0, memory=None, runner=None):
        self.runner, self.asked = runner or SimulatedRunner(originals, change, seed), []
        screening = screening or Screening(tail_checks=10_000)
        screen = self.runner.screened(Resized(size), "test", screening, screening.checks(1.0), memory or AnswerMemory())
        answer = screen.answer

        def noted(original, repetition, indices):
            self.asked += [(original, repetition, int(index)) for index in indices]
            return answer(original, repetition, indices)

        screen.answer, screen.strength, self.screen = noted, strength, screen
        screen.add_repetition()


def until_exact(screen, allowed):
    """Looks until everything is known."""
    looks = []
    while not looks or looks[-1].estimates[0].basis is not Basis.EXACT:
        looks.append(screen.look())
        screen.refine(allowed, allowed)
    return looks


@pytest.mark.parametrize("kind", ["gaussian", "adversarial", "cauchy", "lognormal"])
@pytest.mark.parametrize("allowed", [0.0, 0.3, 0.9])
def test_no_input_is_evaluated_twice_and_in_the_end_all_are(kind, allowed):
    originals = classifiers(0, 3, 3000) if kind in LABELS else regressors(0, 3, 3000)
    script = Script(originals, {**LABELS, **NUMBERS}[kind][0], size=0.02)
    looks = until_exact(script.screen, allowed)
    assert len(looks) <= LOOKS + 1
    assert len(set(script.asked)) == len(script.asked) == 3 * 3000
    for earlier, later in pairwise(looks):
        assert earlier.estimates[0].evaluated < later.estimates[0].evaluated
    (last,) = looks[-1].estimates
    assert (last.shift, last.spread, last.each.max(), last.downs, last.ups) == (0, 0, 0, (0, 0), (0, 0))
    truth = [script.runner.outcome(Resized(0.02), original, 0, "test") for original in range(3)]
    assert last.metrics[0] == pytest.approx([outcome.metric for outcome in truth], rel=1e-12)
    if kind in LABELS:
        assert np.array_equal(last.right[0], [outcome.bits for outcome in truth])


def test_what_was_evaluated_is_counted():
    script = Script(classifiers(0, 3, 3000), LABELS["gaussian"][0])
    for _ in range(3):
        look = script.screen.look()
        assert all(e.evaluated == len(script.asked) for e in (*look.estimates, look.plain, look.bold))
        script.screen.refine(0.5, 0.5)
        assert script.screen.evaluated == len(script.asked)


def test_a_new_repetition_starts_where_the_others_are():
    script = Script(classifiers(0, 3, 3000), LABELS["gaussian"][0])
    for _ in range(2):
        script.screen.look()
        script.screen.refine(0.5, 0.5)
    before = len(script.asked)
    script.screen.add_repetition()
    assert script.screen.repetitions == 2
    assert {(original, repetition) for original, repetition, _ in script.asked[before:]} == {(0, 1), (1, 1), (2, 1)}
    look = script.screen.look()
    assert look.bold.metrics.shape == look.bold.each.shape == (2, 3)
    truth = [[script.runner.outcome(Resized(1.0), o, r, "test").metric for o in range(3)] for r in range(2)]
    assert not reference.outside(look.estimates[0], np.array(truth))


@pytest.mark.parametrize("kind", ["gaussian", "one class", "adversarial", "noise"])
def test_estimates_are_right_on_average(kind):
    """The mean over many samples is within four standard errors of the truth, however poor the prediction."""
    size = {"gaussian": 2.0, "one class": 8.0, "adversarial": 0.05, "noise": 0.1}[kind]
    originals = classifiers(0, 2, 3000) if kind in LABELS else regressors(0, 2, 3000)
    found, change = {1: [], 2: []}, {**LABELS, **NUMBERS}[kind][0]
    runner = SimulatedRunner(originals, change, 0)  # remembers what the mutant answers
    for seed in range(25):
        script = Script(originals, change, size=size, runner=runner)
        script.screen.rng = np.random.default_rng(seed)
        for look in found:
            found[look].append(script.screen.look().estimates[0].metrics[0])
            script.screen.refine(0.9, 0.9)
    truth = np.array([runner.outcome(Resized(size), original, 0, "test").metric for original in range(2)])
    for estimates in found.values():
        error = np.std(estimates, axis=0, ddof=1) / len(estimates) ** 0.5
        assert (np.abs(np.mean(estimates, axis=0) - truth) <= 4 * error + 1e-12).all()


def test_no_verdict_rests_on_extrapolation_before_enough_was_checked():
    bases = {}
    for checks in (1, 10**9):
        script = Script(classifiers(0, 10, 4000), LABELS["gaussian"][0], Screening(tail_checks=checks), size=0.1)
        looks = []
        for _ in range(4):
            looks.append(script.screen.look())
            script.screen.refine(1.0, 1.0)
        bases[checks] = [{estimate.basis for estimate in look.estimates} for look in looks]
    assert bases[1][0] == bases[10**9][0] == {Basis.SAMPLED}  # the first look has no predictions
    assert Basis.EXTRAPOLATED in bases[1][1]
    assert not any(Basis.EXTRAPOLATED in found for found in bases[10**9])


def test_one_surprise_ends_extrapolation_for_the_operator():
    """After a mutant that changes sure answers only, the memory does not trust extrapolation for the next mutant."""
    memory = AnswerMemory()
    script = Script(classifiers(0, 10, 4000), LABELS["adversarial"][0], size=0.1, memory=memory)
    script.screen.look()
    script.screen.look()
    assert not memory.trusted
    script = Script(classifiers(0, 10, 4000), LABELS["unchanged"][0], Screening(tail_checks=1), memory=memory)
    script.screen.look()
    assert {e.basis for e in script.screen.look().estimates} == {Basis.SAMPLED}


def test_a_memory_makes_the_next_strength_cheaper():
    """Common random numbers: between two strengths the answers are nearly known."""
    originals = classifiers(1, 10, 4000)
    runner = SimulatedRunner(originals, LABELS["gaussian"][0], 0)
    screens, exact = reference.judges(runner, KillRule(), Screening())
    after = [reference.check(runner, "gaussian", size, screens, exact) for size in (1.0, 0.25, 0.5)][-1]
    alone = reference.check(runner, "gaussian", 0.5, *reference.judges(runner, KillRule(), Screening()))
    assert not after.wrong
    assert not alone.wrong
    assert after.share <= alone.share


@pytest.mark.parametrize("classes", [2, 40])
def test_answers_that_are_no_numbers_do_not_stop_it(classes):
    def broken(outputs, targets, size, shared, own):
        changed = outputs.clone()
        changed[torch.from_numpy(own.random(len(outputs)) < 0.2)] = torch.nan
        return changed

    for change in (broken, lambda outputs, *_: outputs * torch.nan, lambda outputs, *_: outputs * torch.inf):
        runner = SimulatedRunner(classifiers(2, 5, 3000, classes), change, 0)
        verdicts_hold([reference.check(runner, "broken", 1.0, *reference.judges(runner, KillRule(), Screening()))])


def test_losses_that_are_no_numbers_are_an_exact_answer():
    runner = SimulatedRunner(regressors(0, 5, 3000), lambda outputs, *_: outputs * torch.nan, 0)
    screens, exact = reference.judges(runner, KillRule(), Screening())
    found, truth = screens(1.0, "test").record, exact(1.0, "test").record
    assert (found.verdict, found.reason) == (truth.verdict, truth.reason)
    assert found.basis is Basis.EXACT


@pytest.mark.parametrize("seed", [0, 1])
def test_the_same_generator_gives_the_same_looks(seed):
    def looks():
        script = Script(classifiers(0, 3, 3000), LABELS["laplace"][0], size=0.1, seed=seed)
        return until_exact(script.screen, 0.5), script.asked

    (first, asked), (second, again) = looks(), looks()
    assert asked == again
    for one, other in zip(first, second, strict=True):
        assert np.array_equal(one.bold.metrics, other.bold.metrics)
        assert (one.bold.shift, one.bold.basis) == (other.bold.shift, other.bold.basis)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("confidence", 1.0),
        ("confidence", 0.4),
        ("confidence", float("nan")),
        ("fewest", 0),
        ("first", 0),
        ("first", 2.5),
        ("tail_checks", 0),
        ("least_work", -1.0),
        ("least_work", float("nan")),
        ("least_work", "1e9"),
    ],
)
def test_settings_that_make_no_sense_are_refused(name, value):
    with pytest.raises(BadInput, match=name):
        Screening(**{name: value})
