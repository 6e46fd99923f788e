"""Lets tests import the zoo and the references, whatever directory they lie in."""

import gc
import os
import sys
from pathlib import Path

from hypothesis import settings

os.environ["PYTHONDONTWRITEBYTECODE"] = "1"  # for commands that tests start: they look at what is left in folders

sys.path.insert(0, str(Path(__file__).parent))


settings.register_profile("usual", max_examples=25)
settings.register_profile("ci", max_examples=25, derandomize=True)  # a landing must not depend on luck
settings.register_profile("thorough", max_examples=400)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "usual"))


def pytest_configure(config):
    # torch says once that it has no fast path for this; it says nothing about mutiny
    config.addinivalue_line("filterwarnings", "ignore:LSTM with projections is not supported with oneDNN")


def pytest_collection_finish():
    sys.dont_write_bytecode = True  # tests look at what is left in folders, and rewrite modules within a second
    # Collected tests live to the end. Without this, each full garbage collection would visit them all: 0.4 seconds.
    gc.collect()
    gc.freeze()
