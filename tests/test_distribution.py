"""The distribution is called mutiny-nn, because mutiny on PyPI is another project; import and command are mutiny."""

import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest

import mutiny
from mutiny.core.errors import MissingExtra

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
OTHER_PROJECT = re.compile(r"""install\b[^\n`&;|]*[ "']mutiny(?![\w./:-])|\bmutiny\[[a-z]+\]""")
SUFFIXES = {".md", ".py", ".yml", ".yaml", ".toml", ".txt", ".cff", ""}
FOLDERS = "src tests docs examples studies benchmarks torture fuzz .github .ci".split()
FILES = [
    path
    for path in [*ROOT.iterdir(), *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))]
    if path.is_file() and path.suffix in SUFFIXES and "__pycache__" not in path.parts
]


@pytest.mark.parametrize(
    "command", ['pip install "mutiny[ray]"', "uv pip install -U mutiny -r x.txt", "install 'mutiny'"]
)
def test_pattern_finds_installs_of_the_other_project(command):
    assert OTHER_PROJECT.search(command)


@pytest.mark.parametrize(
    "command", ['pip install "mutiny-nn[ray]"', "pip install mutiny-nn", 'pip install -e ".[dev]"']
)
def test_pattern_accepts_installs_of_this_project(command):
    assert not OTHER_PROJECT.search(command)


def test_no_file_installs_the_other_project():
    read = [path for path in FILES if path != Path(__file__)]
    assert {ROOT / "README.md", ROOT / "examples" / "github-actions.yml"} <= set(read)
    for path in read:
        wrong = OTHER_PROJECT.search(path.read_text(encoding="utf-8", errors="replace"))
        assert not wrong, f"{path.relative_to(ROOT)}: {wrong[0]}"


def test_extras_refer_to_this_distribution_and_exist():
    extras = PROJECT["optional-dependencies"]
    own = [re.fullmatch(r"mutiny-nn\[(\w+)\]", line) for lines in extras.values() for line in lines if "mutiny" in line]
    assert own
    assert all(match and match[1] in extras for match in own)


def test_missing_extra_names_this_distribution():
    assert 'pip install "mutiny-nn[ray]"' in str(MissingExtra("ray", "ray"))


def test_version_is_written_once():
    installed = distribution("mutiny-nn")
    assert installed.version == mutiny.__version__
    assert "version" not in PROJECT
    assert PROJECT["dynamic"] == ["version"]


def test_module_and_command_are_the_same_program():
    (script,) = distribution("mutiny-nn").entry_points.select(group="console_scripts")
    assert (script.name, script.load()) == ("mutiny", sys.modules["mutiny.cli"].main)
    run = f"import sys; from {script.module} import main; sys.argv[0] = 'mutiny'; main()"
    for arguments in (["--help"], ["no-such-command"]):
        by_module, by_script = (
            subprocess.run([sys.executable, *how, *arguments], capture_output=True, text=True, check=False)
            for how in (["-m", "mutiny"], ["-c", run])
        )
        assert by_module.stdout == by_script.stdout
        assert by_module.stderr == by_script.stderr
        assert by_module.returncode == by_script.returncode
