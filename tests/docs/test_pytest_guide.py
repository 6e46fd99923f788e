"""The example of docs/pytest.md, in files of its own."""

import re
from pathlib import Path

from tests.docs.pages import code, text

pytest_plugins = ["pytester"]


def test_the_example_of_the_guide_runs_on_faults(pytester):
    named = {block.file: block.text for block in code("docs/pytest.md")}
    assert list(named) == ["my_subject.py", "test_model.py"]
    for name, content in named.items():
        Path(name).write_text(content)
    options = re.search(
        r"pytest (--mutiny my_subject\.py:subject --mutiny-matrix) test_model\.py", text("docs/pytest.md")
    )
    quick = ("--mutiny-operators", "GF,NEB", "--mutiny-faults", "8", "-p", "no:cacheprovider", "-p", "no:xdist")
    done = pytester.runpytest_inprocess(*options[1].split(), *quick, "test_model.py")
    assert done.ret == 0
    said = done.stdout.str()
    assert "Your 4 tests notice" in said
    assert "Never notice anything: test_shape." in said


def test_every_option_is_on_the_page():
    from mutiny.testing.plugin import OPTIONS

    assert all(f"`{option} " in text("docs/pytest.md") for option in ("--mutiny", *OPTIONS))
