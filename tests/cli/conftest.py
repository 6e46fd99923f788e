"""The command line in this process, as a user sees it."""

import sys
from dataclasses import dataclass

import pytest

from mutiny.cli import main


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str


@pytest.fixture
def run(monkeypatch, capsys, tmp_path_factory):
    """Runs ``mutiny ARGUMENTS`` in 80 columns and a folder of its own."""
    monkeypatch.chdir(tmp_path_factory.mktemp("work"))
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("MUTINY_DATA", raising=False)

    def command(*arguments):
        monkeypatch.setattr(sys, "argv", ["mutiny", *map(str, arguments)])
        code = 0
        try:
            main()
        except SystemExit as end:
            code = end.code or 0
        return Ran(code, *capsys.readouterr())

    return command


@pytest.fixture
def write(tmp_path):
    """Writes a user's file and gives ``FILE.py:subject``."""

    def file(body, name="mine.py"):
        path = tmp_path / name
        path.write_text(
            f"import numpy as np\nimport torch\nfrom torch import nn\n\nimport mutiny\nfrom toys import *\n{body}\n"
        )
        return f"{path}:subject"

    return file
