"""The first sentence of an assessment answers, or says what it would take to answer."""

from dataclasses import replace

import numpy as np
import pytest

from mutiny.reports.notice_sentences import bias_sentence, headline, weak_spots
from mutiny.reports.plan_sentences import plan_sentence
from mutiny.verbs.assess.notice import PlannedSize, ReferenceRecord
from reports.page.handmade import fault, rated

FAULTS = {"GF": [(0.6, True), (0.7, False), (1.5, True), (3.0, True), (5.0, True)]}


FIVE = "at least 5 originals. With one original, the answer holds for that network only"


@pytest.mark.parametrize(("originals", "takes"), [(2, FIVE), (4, FIVE), (5, "at least 6 originals")])
def test_an_interval_that_tells_nothing_is_replaced_by_what_it_takes(originals, takes):
    said = headline(rated(FAULTS, originals=originals, interval=(0.0001, 0.99999)))
    assert said == (
        "Cannot tell what share of the faults that cost 1/2 to 8 accuracy points your 449 tests notice: 88% of those "
        f"that were tried, but anything from 0% to 100% is possible with {originals} originals. Use {takes}."
    )


def test_one_original_takes_more_random_choices():
    said = headline(rated(FAULTS, originals=1, interval=(0.1, 0.9)))
    assert said.endswith("random choices on one original. Use more random choices, or more originals.")


@pytest.mark.parametrize(("interval", "told"), [((0.375, 0.975), True), ((0.37, 0.975), False)])
def test_an_interval_of_sixty_points_still_tells_something(interval, told):
    said = headline(rated(FAULTS, interval=interval))
    assert said.startswith("Your 449 tests notice 88%") == told
    assert said.startswith("Cannot tell what share") != told


@pytest.mark.parametrize(
    ("reference", "told"),
    [
        (ReferenceRecord("validation", 269, 0.98), "probably 5 to 12 points too low"),
        (ReferenceRecord("pool", 399, 0.98), "probably 5 to 12 points too low"),
        (ReferenceRecord("validation", 400, 0.98), "probably 3 to 10 points too low"),
        (ReferenceRecord("train", 999, 0.98), "probably 3 to 10 points too low"),
        (ReferenceRecord("validation", 1999, 0.98), "probably 1 to 5 points too low"),
        (ReferenceRecord("validation", 2000, 0.98), ""),
        (ReferenceRecord("validation", 269, 0.98, scale=1.1, trained_inputs=2000), ""),
        (ReferenceRecord("train", 300, 0.99, memorized=12.0), ""),
        (ReferenceRecord("none", 0, 0.0), ""),
    ],
)
def test_few_reference_inputs_and_no_training_set_make_the_rate_too_low(reference, told):
    result = rated(FAULTS, reference=reference)
    said = bias_sentence(result.notice)
    assert told in said
    assert bool(said) == bool(told)
    helps = ": 2,000 validation inputs, or as many training inputs, would correct that."
    assert said.endswith(helps) == (bool(told) and reference.kind != "train")


def test_numbers_of_inputs_have_separators():
    said = bias_sentence(rated(FAULTS, reference=ReferenceRecord("validation", 1500, 0.98)).notice)
    assert "on only 1,500 inputs" in said


def planning(*plan, tests=449, interval=(0.58, 0.91), **notice):
    result = rated(FAULTS, interval=interval)
    splits = {"test": replace(result.subject.splits["test"], inputs=tests)}
    subject = replace(result.subject, splits=splits)
    return plan_sentence(replace(result, subject=subject, notice=replace(result.notice, plan=plan, **notice)))


@pytest.mark.parametrize(
    ("size", "told"),
    [
        (PlannedSize(1.0, 705, 412, 1207), "about 705 inputs like these (412 to 1,207)."),
        (PlannedSize(1.0, 1000, 100, 10_000), "about 1,000 inputs like these (100 to 10,000)."),
        (
            PlannedSize(1.0, 1000, 99, 10_100),
            "at least 99 inputs like these; how many more is unknown with 10 originals.",
        ),
        (PlannedSize(1.0, 261_636, 1_243, 55_000_000), "at least 1,243 inputs like these; how many more is unknown"),
        (PlannedSize(1.0, 261_636, 1, 10**11), "a number of inputs that is unknown with 10 originals."),
        (PlannedSize(1.0, 261_636), "a number of inputs that is unknown with 10 originals."),
    ],
)
def test_a_planned_size_that_is_not_known_well_is_not_told(size, told):
    said = planning(size)
    assert said.startswith(f"To notice a loss of 1 accuracy point four times in five takes {told}")
    assert ("261,636" in said) == ("about" in said and size.inputs == 261_636)


def test_a_size_without_interval_is_told_if_nothing_has_one():
    assert planning(PlannedSize(1.0, 705), interval=None).endswith("takes about 705 inputs like these.")


def test_without_a_plan_the_sentence_says_why():
    null = [PlannedSize(cost, None) for cost in (2.0, 1.0, 0.5)]
    why = "the faults that were tried do not break clearly more of these tests' answers than they repair."
    assert planning(*null, tests=5) == f"How many inputs notice a loss is unknown: {why}"
    few = "With 4 tests, no fault can be noticed: at p < 0.05, at least 5 answers must break."
    assert planning(*null, tests=4) == planning(PlannedSize(1.0, 705, 412, 1207), tests=4) == few
    assert "at least 7 answers must break" in planning(*null, tests=6, alpha=0.01)
    loss = "the faults that were tried do not raise the mse of these tests enough."
    said = planning(*null, tests=3, unit="percent added to the mse")
    assert said == f"How many inputs notice a rise of the mse is unknown: {loss}"


SHARES = {0.6: 0.5, 1.5: 0.6, 3.0: 0.95, 5.0: 1.0}
"""Costs, and the share of faults of each that is noticed: those of digits."""


def test_cheap_faults_alone_make_no_weak_spot():
    """All faults that hit class 0 are cheap; as many other cheap faults are missed."""
    faults = [
        fault("GF", cost, n < 10 * share, n, hits=int(cost > 1)) for cost, share in SHARES.items() for n in range(10)
    ]
    notice = rated({"GF": faults}).notice
    assert notice.classes["0"].rate <= notice.rate - 0.15
    assert weak_spots(notice) == []


def test_a_weak_spot_says_what_all_rates_promise():
    usual = [fault("GF", cost, n < 20 * share, n, hits=n % 4) for cost, share in SHARES.items() for n in range(20)]
    blind = [fault("GF", cost, n < 2, n, hits=6) for cost in SHARES for n in range(6)]
    (spot,) = weak_spots(rated({"GF": [*usual, *blind]}).notice)
    assert (spot.kind, spot.name) == ("class", "6")
    assert spot.sentence == (
        "of 24 faults that hit class 6, only 8 are noticed; 16 would be at the rates of all faults"
    )


def test_typical_groups_are_seldom_weak_spots():
    """Six operators and ten classes, as many faults as an assessment of digits has, and no difference between them."""
    rng, flagged, times = np.random.default_rng(0), 0, 150
    for _ in range(times):
        faults = [
            fault(f"O{rng.integers(6)}", cost, rng.random() < share, n % 10, hits=int(10 * rng.beta(0.6, 1)))
            for cost, share in SHARES.items()
            for n in range(55)
        ]
        groups = {
            name: [one for one in faults if one.operator == name] for name in sorted({f.operator for f in faults})
        }
        flagged += bool(weak_spots(rated(groups, classes=10).notice))
    assert flagged <= 0.05 * times
