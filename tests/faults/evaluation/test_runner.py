"""Which sets of inputs are large: operations counted by hand."""

import pickle

import pytest
import torch
from torch import nn

from mutiny.faults.evaluation import Runner
from mutiny.models import default_forward
from mutiny.models.operations import PER_NUMBER
from mutiny.subjects.data import as_data
from mutiny.subjects.tasks import Classification

PER_INPUT = 2 * 100 * 3 + PER_NUMBER * 3
"""Operations of `nn.Linear(100, 3, bias=False)`: a multiplication and an addition with each weight, three outputs."""


@pytest.fixture
def runner():
    splits = {
        name: as_data((torch.zeros(size, 100), torch.zeros(size, dtype=torch.int64)), name)
        for name, size in (("few", 2), ("many", 50))
    }
    return Runner([nn.Linear(100, 3, bias=False).eval()], Classification(3), splits, default_forward, 0, 16)


def test_operations_are_counted_for_one_input_even_if_the_first_split_has_fewer_than_a_probe(runner):
    assert runner.operations == PER_INPUT


@pytest.mark.parametrize(
    ("split", "inputs", "operations", "large"),
    [
        ("many", 50, 50 * PER_INPUT, True),
        ("many", 51, 0, False),
        ("many", 1, 50 * PER_INPUT + 1, False),
        ("few", 2, 2 * PER_INPUT, True),
        ("few", 2, 2 * PER_INPUT + 1, False),
    ],
)
def test_a_split_is_large_if_inputs_and_operations_suffice(runner, split, inputs, operations, large):
    assert runner.is_large(split, inputs, operations) is large


def test_a_copy_on_a_worker_decides_the_same(runner):
    copy = pickle.loads(pickle.dumps(runner))
    assert copy.operations == runner.operations
