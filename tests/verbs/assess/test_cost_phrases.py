"""Sentences about costs read like English in both units."""

import pytest

import mutiny
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.cost_unit import metric_of, unit_of

POINTS = CostPhrases(unit_of(mutiny.Classification(3)).name)
LOSS = CostPhrases(unit_of(mutiny.Regression(tolerance=0.1, metric="mae")).name)
TRAINED = [CostPhrases(each.unit, "on training inputs") for each in (POINTS, LOSS)]


def test_the_metric_of_a_unit_is_that_of_the_task():
    assert metric_of(POINTS.unit) is None
    assert metric_of(LOSS.unit) == "mae"


@pytest.mark.parametrize(
    ("said", "sentence"),
    [
        (POINTS.cost(POINTS.between(0.5, 8)), "cost 1/2 to 8 accuracy points"),
        (LOSS.cost(LOSS.between(5, 80)), "raise the mae by 5% to 80%"),
        (TRAINED[0].cost(TRAINED[0].between(0.5, 8)), "cost 1/2 to 8 accuracy points on training inputs"),
        (TRAINED[1].cost(TRAINED[1].between(5, 80)), "raise the mae on training inputs by 5% to 80%"),
        (POINTS.cost_at_least(8, one=True), "costs 8 accuracy points or more"),
        (LOSS.cost_at_least(80), "raise the mae by 80% or more"),
        (POINTS.briefly("1 to 2"), "cost 1 to 2"),
        (LOSS.briefly(LOSS.between(10, 20)), "raise the mae by 10% to 20%"),
        (POINTS.cost_of_one(1.284), "costs 1.28 accuracy points"),
        (LOSS.cost_of_one(12.34), "raises the mae by 12.3%"),
        (POINTS.loss(1), "a loss of 1 accuracy point"),
        (POINTS.loss(0.5, below=True), "a loss of less than 1/2 accuracy points"),
        (LOSS.loss(10), "a rise of the mae by 10%"),
        (POINTS.lost_on("269 validation inputs"), "accuracy points lost on 269 validation inputs"),
        (LOSS.lost_on("269 validation inputs"), "percent added to the mae on 269 validation inputs"),
        (POINTS.worse_on_tests(13.5), "the originals are 13.5 accuracy points worse on test inputs"),
        (LOSS.worse_on_tests(185.0), "the mae is 185% higher on test inputs"),
        (POINTS.column(0.5, 1), "1/2 to 1"),
        (LOSS.column(10, 20), "10-20%"),
        (TRAINED[1].heading, "percent added to the mae on training inputs"),
    ],
)
def test_phrases(said, sentence):
    assert said == sentence
