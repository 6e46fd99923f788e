"""Batch normalization keeps a counter without dimensions beside its weights."""

import copy

import pytest
import torch
from torch import nn

import mutiny
from mutiny.core.errors import BadInput
from mutiny.models import ModelState
from toys import blob_subject, blobs, trained


def net(seed):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(2, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Linear(8, 3))
    return trained(model, nn.functional.cross_entropy, *blobs(), steps=40)


@pytest.mark.parametrize("originals", [1, 2])
def test_models_with_buffers_are_assessed(originals):
    subject = blob_subject(models=[net(seed) for seed in range(originals)])
    subject.check()
    assert subject.models[0][1].num_batches_tracked.shape == ()
    before = [ModelState.of(model) for model in subject.models]
    result = mutiny.assess(subject, "WI(ratio=0.3)", search=mutiny.Search(max_probes=1, k_max=5), method="muff")
    assert {m.instances for m in result.operators[0].mutants} >= {5 if originals == 1 else 6}
    assert [ModelState.of(model) for model in subject.models] == before


def test_equal_ones_and_other_architectures_are_refused():
    first, twin = net(0), net(0)
    with pytest.raises(BadInput, match=r"models\[1\]=the same weights as models\[0\]"):
        blob_subject(models=[first, twin]).originals()
    twin[1].running_mean += 0.1  # the same parameters, another network
    assert len(blob_subject(models=[first, twin]).originals()) == 2
    other = copy.deepcopy(first)
    other[1] = nn.Identity()
    with pytest.raises(BadInput, match=r"models\[1\]=other parameters than models\[0\]"):
        blob_subject(models=[first, other.eval()]).originals()
