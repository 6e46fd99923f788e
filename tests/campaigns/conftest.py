"""What tests of campaigns share."""

import pytest
import torch


@pytest.fixture
def one_thread():
    """Torch computes here as in workers: with one thread."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)
