"""Makes the random numbers of every test and example repeatable, whatever ran before."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _repeatable():
    if "torch" in sys.modules:  # tests without torch stay without it
        sys.modules["torch"].manual_seed(0)
