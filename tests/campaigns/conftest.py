"""Fixtures for the tests of campaigns."""

import pytest
import torch

from mutiny.campaigns.engines.processes import Processes


@pytest.fixture
def one_thread():
    """Torch uses one thread, as in workers."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(scope="session")
def two_workers():
    """Two worker processes for all tests that need any, because starting them takes seconds; they get one chance."""
    with Processes(2, retries=0) as engine:
        yield engine
