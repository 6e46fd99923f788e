import pytest
from torch import nn

import mutiny
from mutiny.core.records import Verdict
from toys import blob_subject, line_subject


def deeper(model):
    """The same function with a second activation to remove."""
    middle = nn.Linear(model[0].out_features, model[0].out_features)
    nn.init.eye_(middle.weight), nn.init.zeros_(middle.bias)
    return nn.Sequential(model[0], nn.ReLU(), middle, *list(model)[1:]).eval()


@pytest.mark.parametrize("choices", [1, 2])
def test_only_operators_with_a_choice_repeat_until_they_are_stable(choices):
    models = line_subject(3).models
    subject = line_subject(models=models if choices == 1 else list(map(deeper, models)))
    search = mutiny.Search(rse=1e-6, k_max=4, min_instances=2)
    (record,) = mutiny.assess(subject, "AFR", search=search, method="muff").operators
    assert [m.guiding_set for m in record.mutants] == ["train", "test", "weak"]
    for mutant in record.mutants:
        assert mutant.instances == (3 if choices == 1 else 12)
        assert mutant.verdict is Verdict.UNSTABLE
        reason = f"RSE {mutant.rse:.3g} is above 1e-06 after {mutant.instances} instances"
        assert mutant.reason == reason + (", and repetitions would be copies" if choices == 1 else "")
    assert record.reason.startswith("every mutant is unstable on the training set")


def test_mean_instances_follow_from_the_records():
    result = mutiny.assess(blob_subject(3), "NI(ratio=0.5)", search=mutiny.Search(precision=0.1), method="muff")
    (record,) = result.operators
    for split, summary in record.sets.items():
        searched = [m.instances for m in record.mutants if m.guiding_set == split and m.searched]
        assert len(set(searched)) > 1
        assert summary.mean_instances == pytest.approx(sum(searched) / len(searched))
