"""The guide's code runs, and its options exist."""

import re
from pathlib import Path

from typer.main import get_command

GUIDE = Path(__file__).parents[3] / "docs" / "strengthen.md"


def test_the_code_of_the_guide_runs():
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), flags=re.S)
    names = {}
    exec(compile(block, "docs/strengthen.md", "exec"), names)
    result = names["result"]
    assert result.budgets == (7, 35)
    assert result.gain("strengthen", 35).gain.value > 0
    assert 0 < len(result.subset) < result.subset.of


def test_every_option_of_the_guide_exists():
    from mutiny.cli.app import app

    known = {name for option in get_command(app).commands["strengthen"].params for name in option.opts}
    assert set(re.findall(r"--[a-z][a-z-]+", GUIDE.read_text())) <= known
