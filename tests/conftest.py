"""Lets tests import the zoo, whatever directory they lie in."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))


def pytest_configure(config):
    # torch says once that it has no fast path for this; it says nothing about mutiny
    config.addinivalue_line("filterwarnings", "ignore:LSTM with projections is not supported with oneDNN")
