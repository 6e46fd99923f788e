"""The public surface of mutiny.core.stats."""

import inspect
import subprocess
import sys

from mutiny.core import stats


def test_the_public_names_are_sorted_and_documented_with_an_example():
    assert stats.__all__ == sorted(stats.__all__)
    for name in stats.__all__:
        assert ">>>" in inspect.getdoc(getattr(stats, name)), name


def test_importing_does_not_import_torch():
    code = "import sys, mutiny.core.stats; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
