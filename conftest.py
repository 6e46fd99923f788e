"""Makes random numbers of tests and examples repeatable, and gives them a cache and a key of their own."""

import sys

import pytest


@pytest.fixture(autouse=True)
def _repeatable():
    if "torch" in sys.modules:  # tests without torch stay without it
        sys.modules["torch"].default_generator.manual_seed(0)  # torch.manual_seed is slow: it prepares for GPUs, too


@pytest.fixture(scope="session", autouse=True)
def _own_cache(tmp_path_factory):
    """Trained originals and the key are those of the test session, never the user's; also for fixtures of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MUTINY_CACHE", str(tmp_path_factory.getbasetemp() / "cache"))
        patch.setenv("MUTINY_KEY", str(tmp_path_factory.mktemp("user") / "key"))
        yield
