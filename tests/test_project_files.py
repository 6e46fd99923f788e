"""Files beside the package agree with pyproject.toml and with one another."""

import ast
import importlib
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from mutiny.campaigns.engines.ray_package import LOWEST

yaml = pytest.importorskip("yaml")
ROOT = Path(__file__).parents[1]
SETTINGS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
TARGETS = set(re.search(r"^\.PHONY: (.*)$", MAKEFILE, flags=re.M)[1].split())


def lowest(*arguments):
    done = subprocess.run(
        [sys.executable, ROOT / ".ci" / "lowest", *arguments], capture_output=True, text=True, check=True
    )
    return dict(line.split("==") for line in done.stdout.split())


def test_lowest_has_every_dependency_and_extra():
    project = SETTINGS["project"]
    lines = [*project["dependencies"], *(line for lines in project["optional-dependencies"].values() for line in lines)]
    names = {re.match(r"[\w.-]+", line)[0] for line in lines} - {"mutiny-nn"}
    assert set(lowest()) == names
    assert lowest()["torch"] != "2.13.0" == lowest("torch=2.13.0")["torch"]


def test_lower_bounds_admit_pinned_versions():
    pinned = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().split())
    for name, bound in lowest().items():
        if name in pinned:
            low, pin = ([int(part) for part in version.split(".")] for version in (bound, pinned[name]))
            assert low <= pin, name


def test_the_lowest_ray_that_the_engine_accepts_is_that_of_the_extra():
    assert lowest()["ray"] == LOWEST


def requirements(name, extra):
    """Requirements of a distribution, or of an extra of it, in this environment; none if it is not installed."""
    project = SETTINGS["project"]
    if name == "mutiny-nn":
        lines = project["optional-dependencies"][extra] if extra else project["dependencies"]
    else:
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            lines = []
    found = [Requirement(line) for line in lines]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": extra})]


def test_everything_that_make_installs_is_pinned():
    pinned = dict(line.lower().split("==") for line in (ROOT / "constraints.txt").read_text().split())
    pinned = {canonicalize_name(name): version for name, version in pinned.items()}
    if any(metadata.version(name).partition("+")[0] != pinned[name] for name in ("torch", "numpy")):
        pytest.skip("these are other versions than those of constraints.txt")
    todo, seen = [("mutiny-nn", extra) for extra in ("", "dev", "docs", "browser")], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) not in seen:
            seen.add((name, extra))
            for each in requirements(name, extra):
                todo += [(canonicalize_name(each.name), wanted) for wanted in ("", *each.extras)]
    by_torch = {name for name, _ in seen if name.startswith(("nvidia-", "cuda-")) or name == "triton"}
    names = {name for name, _ in seen} - {"mutiny-nn"} - by_torch  # builds of torch for GPUs pin their own
    assert len(names) > 50
    assert sorted(names - set(pinned)) == []
    installed = {each.metadata["Name"]: each.version for each in metadata.distributions()}
    installed = {canonicalize_name(name): version.partition("+")[0] for name, version in installed.items()}
    assert {name: installed[name] for name in names & set(installed)} == {
        name: pinned[name] for name in names & set(installed)
    }


def test_source_distribution_has_what_the_tests_read():
    if not (ROOT / ".git").exists():
        pytest.skip("this is no clone")
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    tracked = {"/" + line.partition("/")[0] for line in done.stdout.splitlines()}
    shipped = set(SETTINGS["tool"]["hatch"]["build"]["targets"]["sdist"]["include"])
    assert tracked == shipped | {"/.gitignore", "/pyproject.toml"}  # always shipped


@pytest.mark.parametrize("file", ["CONTRIBUTING.md", ".github/workflows/ci.yml", ".ci/run"])
def test_make_targets_exist(file):
    text = (ROOT / file).read_text(encoding="utf-8")
    named = re.findall(r"^\s*(?:- run: )?make ([a-z-]+)|`make ([a-z-]+)", text, flags=re.M)
    assert named
    assert {first or second for first, second in named} <= TARGETS


def test_workflow_tests_every_supported_python():
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]
    assert jobs["pinned"]["strategy"]["matrix"]["python"] == ["3.11", "3.12", "3.13"]
    assert SETTINGS["project"]["requires-python"] == ">=3.11"
    versions = [line.rpartition(" ")[2] for line in SETTINGS["project"]["classifiers"] if ":: Python :: 3." in line]
    assert versions == jobs["pinned"]["strategy"]["matrix"]["python"]
    assert jobs["lowest"]["steps"][-1]["run"] == "make test-lowest"


def test_hooks_run_what_make_check_runs():
    hooks = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))["repos"][0]["hooks"]
    assert [hook["entry"].split()[0] for hook in hooks] == [".venv/bin/ruff", ".venv/bin/ruff", ".venv/bin/mypy"]


def test_citation_names_the_license_and_leaves_the_version_to_the_package():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["license"] == SETTINGS["project"]["license"]
    assert "version" not in citation
    assert citation["cff-version"] == "1.2.0"


BESIDE = sorted(
    file
    for folder in "benchmarks docs examples fuzz studies tests torture".split()
    for file in (ROOT / folder).rglob("*.py")
)


@pytest.mark.parametrize("file", BESIDE, ids=lambda file: str(file.relative_to(ROOT)))
def test_every_name_that_is_imported_from_mutiny_exists(file):
    """Also where nothing runs the file in these tests: pictures of the guides, slow tests, studies."""
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == "mutiny":
            module = importlib.import_module(node.module)
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")
