"""Makes the random numbers of every test and example repeatable, whatever ran before."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _repeatable():
    if "torch" in sys.modules:  # tests without torch stay without it
        sys.modules["torch"].default_generator.manual_seed(0)  # torch.manual_seed is slow: it prepares for GPUs, too
