"""Dependencies: pinned completely, locked with hashes, free of known flaws, and under licenses that allow it."""

import importlib.util
import json
import re
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
LOCKS = sorted((ROOT / "locks").glob("*.txt"))
FIXED_IN = {
    "aiohttp": "3.13.3",  # CVE-2025-69223 and others
    "certifi": "2024.7.4",  # CVE-2024-39689
    "cryptography": "46.0.7",  # CVE-2026-39892
    "filelock": "3.20.3",  # CVE-2025-68146, CVE-2026-22701
    "fonttools": "4.60.2",  # CVE-2025-66034
    "h11": "0.16.0",  # CVE-2025-43859
    "idna": "3.7",  # CVE-2024-3651
    "jinja2": "3.1.6",  # CVE-2025-27516
    "lightning": "2.6.6",  # CVE-2026-44484 (2.6.2 and 2.6.3 are malicious), code from checkpoints
    "mkdocs-material": "9.5.32",  # cross-site scripting through search
    "mlflow-skinny": "3.13.0",  # CVE-2026-2635, CVE-2026-8147
    "pillow": "12.3.0",  # CVE-2026-59199, CVE-2026-54058 and others
    "protobuf": "6.33.5",  # CVE-2026-0994
    "pyasn1": "0.6.4",  # CVE-2026-59885, CVE-2026-59886
    "pygments": "2.20.0",  # CVE-2026-4539
    "pymdown-extensions": "10.16.1",  # CVE-2025-68142
    "pytest": "9.0.3",  # CVE-2025-71176
    "pytorch-lightning": "2.6.6",  # as lightning
    "ray": "2.56.0",  # CVE-2025-62593, CVE-2026-41486, CVE-2026-57516
    "requests": "2.33.0",  # CVE-2023-32681, CVE-2024-35195, CVE-2024-47081, CVE-2026-25645
    "setuptools": "78.1.1",  # CVE-2025-47273
    "torch": "2.13.0",  # CVE-2025-32434, CVE-2026-24747, CVE-2025-3000
    "urllib3": "2.6.3",  # CVE-2025-66418, CVE-2025-66471, CVE-2026-21441
    "werkzeug": "3.1.6",  # CVE-2026-27199
}
"""Lowest versions without a known flaw, of packages that had some."""


def pins():
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").split()
    return {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in lines)}


def locked(file):
    """Versions and hashes by name."""
    blocks = re.split(r"^(?=\w)", file.read_text(encoding="utf-8"), flags=re.MULTILINE)[1:]
    found = {}
    for block in blocks:
        requirement, *hashes = block.replace("\\\n", "").split("--hash=")
        found[Requirement(requirement)] = [each.strip() for each in hashes]
    return found


def test_no_pin_has_a_known_flaw():
    flawed = {name: pin for name, pin in pins().items() if Version(pin) < Version(FIXED_IN.get(name, "0"))}
    assert flawed == {}


def test_what_holds_back_others_is_no_dependency():
    """torchattacks pins requests 2.25.1, and with it idna and urllib3, which have known flaws; it wants torchvision."""
    assert pins().keys().isdisjoint({"torchattacks", "torchvision"})
    lines = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    assert not any(line.startswith(("torchattacks", "torchvision")) for line in lines)


def test_constraints_are_those_of_the_lock_of_all_extras():
    """uv follows every dependency of every extra, on all systems."""
    versions = {canonicalize_name(each.name): str(each.specifier) for each in locked(ROOT / "locks" / "all.txt")}
    assert versions == {name: f"=={version}" for name, version in pins().items() if name != "torch"}


def test_locks_have_what_pyproject_asks_for():
    extras = [line for lines in PROJECT["optional-dependencies"].values() for line in lines]
    for file, lines in (("mutiny", PROJECT["dependencies"]), ("all", PROJECT["dependencies"] + extras)):
        asked = {canonicalize_name(Requirement(line).name) for line in lines} - {"mutiny-nn", "torch"}
        there = {canonicalize_name(each.name): each for each in locked(ROOT / "locks" / f"{file}.txt")}
        assert asked <= set(there)
        for line in lines:
            wanted = Requirement(line)
            if canonicalize_name(wanted.name) in there:
                (version,) = (each.version for each in there[canonicalize_name(wanted.name)].specifier)
                assert wanted.specifier.contains(version), line


@pytest.mark.parametrize("file", LOCKS, ids=lambda file: file.stem)
def test_locks_have_hashes_for_everything_and_name_no_place(file):
    assert file.name in ("mutiny.txt", "all.txt")
    requirements = locked(file)
    assert len(requirements) > 30
    for requirement, hashes in requirements.items():
        assert hashes, requirement
        assert all(re.fullmatch(r"sha256:[0-9a-f]{64}", each) for each in hashes), requirement
        assert re.fullmatch(r"==[^,]+", str(requirement.specifier)), requirement
        assert requirement.url is None
    names = {canonicalize_name(requirement.name) for requirement in requirements}
    assert not any(re.match(r"torch$|nvidia-|cuda-|triton", name) for name in names)
    options = [line for line in file.read_text().splitlines() if re.match(r"\s*-(?!-hash=)", line)]
    assert options == []
    assert "://" not in file.read_text()


@pytest.fixture(scope="module")
def distributions():
    """The module that reads metadata."""
    spec = importlib.util.spec_from_file_location("distributions", ROOT / ".ci" / "distributions.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def licenses():
    rows = re.findall(r"^\| ([\w.-]+) \| (.+?) \| .+ \|$", (ROOT / "docs" / "licenses.md").read_text(), flags=re.M)
    return dict(rows[1:])


def test_licenses_of_all_dependencies_are_listed_and_allowed(distributions):
    listed = licenses()
    assert set(pins()) == set(listed)
    assert {name: license for name, license in listed.items() if not distributions.is_allowed(license)} == {}


def test_licenses_are_those_of_installed_versions(distributions):
    here = {
        canonicalize_name(each.metadata["Name"]): each.version.partition("+")[0] for each in metadata.distributions()
    }
    same = [name for name, version in pins().items() if here.get(name) == version]
    if len(same) < 20:
        pytest.skip("these are other versions than those of constraints.txt")
    assert {name: distributions.license_of(name) for name in same} == {name: licenses()[name] for name in same}


@pytest.mark.parametrize(
    ("expression", "allowed"),
    [
        ("MIT", True),
        ("Apache-2.0 OR GPL-3.0-only", True),
        ("MIT AND GPL-3.0-only", False),
        ("AGPL-3.0-or-later", False),
        ("LicenseRef-Proprietary", False),
        ("unknown", False),
    ],
)
def test_which_licenses_are_allowed(expression, allowed, distributions):
    assert distributions.is_allowed(expression) is allowed


def test_bill_of_materials_lists_every_dependency_of_mutiny(distributions):
    command = [sys.executable, ROOT / ".ci" / "sbom"]
    first, again = (
        subprocess.run(command, capture_output=True, text=True, check=True, env={"SOURCE_DATE_EPOCH": "0"}).stdout
        for _ in range(2)
    )
    assert first == again
    bill = json.loads(first)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["name"] == "mutiny-nn"
    components = {each["name"]: each for each in bill["components"]}
    assert set(components) == set(distributions.needed()) - {"mutiny-nn"}
    asked = {canonicalize_name(Requirement(line).name) for line in PROJECT["dependencies"]}
    assert asked <= set(components)
    torch = components["torch"]
    assert torch["purl"] == f"pkg:pypi/torch@{metadata.version('torch').partition('+')[0]}"
    assert torch["scope"] == "required"
    references = {"mutiny-nn", *components}
    assert {each["ref"] for each in bill["dependencies"]} == references
    assert {other for each in bill["dependencies"] for other in each["dependsOn"]} <= references
