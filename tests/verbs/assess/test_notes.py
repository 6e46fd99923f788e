"""Caveats of an assessment appear where they hold, and only there."""

import pytest
import torch
from torch import nn

import mutiny
from verbs.assess.found import line, points, regression, separator, subject


def notes(some, operators="GF", **more):
    return mutiny.assess(some, operators, **{"seeds": 2, "batch_size": 512, **more}).notes


def about(text, found):
    return [note for note in found if text in note]


@pytest.fixture(scope="module")
def plain():
    return notes(subject(originals=3, reference=2000), "GF,WI")


def test_a_subject_with_everything_has_no_caveat(plain):
    assert plain == ()


def test_one_original_is_one_network(plain):
    assert about("One original", notes(subject(originals=1)))


def test_few_reference_inputs_make_costs_uncertain():
    (note,) = about("Costs were measured on", notes(subject(originals=2, reference=130)))
    assert note == (
        "Costs were measured on 130 inputs, so a cost of one point is known to within about 1.0 points. That makes the "
        "rate too low: by 5 to 20 points in our study. Give 2,000 validation inputs, or as many training inputs."
    )
    (note,) = about("Costs were measured on", notes(regression(originals=2, reference=100)))
    assert note == ("Costs were measured on 100 inputs only. Give 2,000 validation inputs, or as many training inputs.")


def test_few_inputs_that_only_scale_costs_are_told_with_both_numbers():
    found = notes(subject(originals=2, reference=130, train=points(500, seed=4)))
    assert about("Costs were measured on", found) == [
        "Costs were measured on only 130 inputs that the originals were not trained on, and on 500 training inputs. "
        "More of the former make costs more precise."
    ]


def test_no_reference_set_is_told_once_with_the_remedy():
    found = notes(subject(originals=2, validation=None))
    (note,) = about("no notice rate", found)
    assert "validation=(inputs, targets)" in note
    assert not about("Costs were measured", found)


def test_classes_without_test_inputs_are_named():
    x, y = points(800, seed=1, classes=4)
    some = subject(
        models=[separator(seed, classes=4) for seed in range(2)],
        task=mutiny.Classification(4),
        test=(x[y % 2 == 0], y[y % 2 == 0]),
        validation=points(600, seed=2, classes=4),
    )
    assert "The test set has no input of class 1, 3." in notes(some)


def test_many_classes_without_test_inputs_are_counted():
    wide = nn.Linear(6, 20)
    with torch.no_grad():
        wide.weight.zero_(), wide.bias.fill_(-5.0)
        wide.weight[:3], wide.bias[:3] = separator().weight, 0.0
    found = notes(subject(models=[wide.eval()], task=mutiny.Classification(20)))
    assert "The test set has no input of class 3, 4, 5, 6, 7 and 12 more." in found


def test_empty_bins_are_named():
    """Each of 60 reference inputs is worth 1.7 points: no fault costs less."""
    (note,) = about("the mean of the other bins", notes(subject(originals=2, reference=60)))
    assert note.startswith("No fault costs 1/2 to 1 accuracy points")


def test_a_loss_on_memorized_inputs_is_told_in_percent():
    x, y = line(300, seed=2)
    some = regression(originals=1)
    with torch.no_grad():
        answers = some.models[0](x)
    train = x, answers + 0.3 * (y - answers)
    (note,) = about("training inputs", notes(regression(originals=1, validation=None, train=train)))
    assert "percent added to the mse on training inputs" in note
    assert "% higher" in note
    assert "points" not in note


class Unused(nn.Module):
    """A linear network beside a layer that its forward pass does not call."""

    def __init__(self):
        super().__init__()
        self.layer, self.spare = separator(), nn.Linear(2, 2)

    def forward(self, x):
        return self.layer(x)


def test_parameters_that_no_operator_changes_are_named():
    assert about("No operator changes spare", notes(subject(models=[Unused().eval()])))
