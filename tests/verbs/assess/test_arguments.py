"""Wrong arguments of `assess` get a sentence that names the argument and what to do."""

import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.verbs.assess.muff.kill_rule import KillRule
from verbs.assess.found import points, separator, subject

SUBJECT = subject(originals=1, test=60, reference=60)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"method": "best"}, r"method='best': expected one of notice, muff"),
        ({"method": None}, r"method=None: expected one of notice, muff"),
        (
            {"rule": KillRule()},
            r'rule=KillRule\(...\): expected only with method="muff". The kill rule belongs to .*: add method="muff"',
        ),
        ({"search": mutiny.Search()}, r'search=.*: expected only with method="muff". The search for mutants belongs'),
        ({"seeds": 0}, r"seeds=0: expected a whole number of at least 1"),
        ({"seeds": 2.5}, r"seeds=2.5: expected a whole number"),
        ({"judge": 0.05}, r"judge=0.05: expected a judge, the text of a gate, or a function"),
        ({"judge": KillRule()}, r"judge=KillRule.*: expected a judge, the text of a gate"),
        ({"judge": "accuracy >= 2"}, r"accuracy"),
        ({"judge": "accuracy >= 0.9", "false_alarms": 5}, r"false_alarms=5: .*between 0 and 1. Write 0.05 for 5%"),
        ({"false_alarms": 0.01}, r"false_alarms=0.01: expected a gate among the judges"),
        ({"method": "muff", "false_alarms": 0.01}, r'false_alarms=0.01: expected only with method="notice"'),
        ({"operators": "HBS"}, r"operators='HBS': expected operators on trained models. .* need method=.muff.\.$"),
        ({"operators": "WI,WI"}, r"operators='WI': expected each operator once"),
        ({"operators": "XX"}, r"XX"),
        ({"originals": 2}, r"originals=2: expected at most 1"),
        ({"data": points(60, seed=3)}, r"data=given with a Subject"),
        ({"validation": points(60, seed=3)}, r"validation=given with a Subject: .*Leave out validation="),
        ({"method": "muff", "seeds": 2}, r'seeds=2: expected only with method="notice". .*: use method="notice"'),
        ({"method": "muff", "judge": mutiny.PairedTest()}, r'judge=PairedTest.*: expected only with method="notice"'),
        ({"method": "muff"}, r"train=None: expected a training set, for method muff.*method notice needs no"),
    ],
)
def test_arguments_are_checked_before_any_work(arguments, told):
    with pytest.raises(BadInput, match=told):
        mutiny.assess(SUBJECT, **arguments)


@pytest.mark.parametrize("alpha", [0, 1, 2, -0.1, "0.05", None, float("nan"), True])
def test_a_judge_needs_a_probability(alpha):
    with pytest.raises(BadInput, match=r"alpha=.*: expected a probability between 0 and 1"):
        mutiny.PairedTest(alpha)


def test_the_test_set_is_not_taken_for_validation():
    data = points(60, seed=1)
    with pytest.raises(BadInput, match="validation=60 of 60 inputs that are in the test set"):
        mutiny.assess(separator(), "GF", data=data, validation=data)


def test_a_model_needs_a_test_set():
    with pytest.raises(BadInput, match=r"data=None: expected the test set of the model. Give data=\(inputs, targets\)"):
        mutiny.assess(separator(), validation=points(60, seed=2))


def test_a_validation_set_needs_targets():
    data, (x, y) = points(60, seed=1), points(60, seed=2)
    with pytest.raises(BadInput, match="validation"):
        mutiny.assess(separator(), "GF", data=data, validation=x)
    with pytest.raises(BadInput, match="validation"):
        mutiny.assess(separator(), "GF", data=data, validation=(x, y[:-1]))
    with pytest.raises(BadInput, match="validation"):
        mutiny.assess(separator(), "GF", data=data, validation=(x, y + 5))
    with pytest.raises(BadInput, match=r"validation labels=only class 1"):
        mutiny.assess(separator(), "GF", data=data, validation=(x, torch.ones_like(y)))


def test_neither_a_subject_nor_a_model():
    with pytest.raises(BadInput, match=r"subject='digits': expected a mutiny.Subject.*load_subject\('digits'\)"):
        mutiny.assess("digits")
    with pytest.raises(BadInput, match=r"subject=list.*Subject\(models="):
        mutiny.assess([separator(), separator(1)], data=points(60))


def test_a_model_in_training_mode_is_refused():
    with pytest.raises(BadInput, match=r"eval\(\)"):
        mutiny.assess(separator().train(), "GF", data=points(60, seed=1), validation=points(60, seed=2))


def test_a_validation_set_of_another_shape_is_refused():
    with pytest.raises(BadInput, match=r"inputs such as float32 \(\d+, 4\)"):
        mutiny.assess(
            separator(), "GF", data=points(60, seed=1), validation=(torch.zeros(60, 4), points(60)[1]), seeds=1
        )


def test_originals_that_are_one_network_are_refused():
    with pytest.raises(BadInput, match=r"models\[1\]=the same weights as models\[0\]"):
        mutiny.assess(subject(models=[separator(), separator()]), "GF")


def test_a_regression_needs_its_task():
    with pytest.raises(BadInput, match="task=None"):
        mutiny.assess(nn.Linear(3, 1).eval(), "GF", data=(torch.zeros(9, 3), torch.zeros(9, 1)))
