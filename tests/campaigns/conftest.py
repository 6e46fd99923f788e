"""Fixtures for the tests of campaigns."""

import pytest
import torch


@pytest.fixture
def one_thread():
    """Torch uses one thread, as in workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
