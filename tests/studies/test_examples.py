"""Examples in the docstrings of studies, which are outside of the package and its doctests, give what they show."""

import doctest
import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parents[2]))

from studies.deepcrime import activation_spectra, figures, spectral_distance


@pytest.mark.parametrize("module", [activation_spectra, figures, spectral_distance], ids=lambda module: module.__name__)
def test_examples_in_docstrings_hold(module):
    failed, tried = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert tried > 0
    assert failed == 0
