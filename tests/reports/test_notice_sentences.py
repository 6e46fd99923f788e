"""The first sentence of an assessment answers, or says what it would take to answer."""

import pytest

from mutiny.reports.notice_sentences import bias_sentence, headline
from mutiny.verbs.assess.notice import ReferenceRecord
from reports.page.handmade import rated

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
    assert ("the training set" in said) == (bool(told) and reference.kind != "train")
