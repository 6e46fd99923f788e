"""What mutiny depends on, as the metadata of an environment in which everything is installed tells it."""

import re
import sys
import tomllib
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NAME = PROJECT["name"]
FOR_USERS = ("attacks", "ray", "notebook", "tracking", "onnx", "frameworks")
"""Extras that add features; the others are for those who develop mutiny."""
OF_GPUS = re.compile(r"nvidia-|cuda-|triton")
"""Packages that builds of torch for GPUs require, each in a version of its own."""


def requirements(name: str, extra: str = "") -> list[Requirement]:
    """Requirements of a distribution, or of one of its extras, on this machine."""
    if name == NAME:
        lines = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    else:
        try:
            lines = metadata.requires(name) or []
        except metadata.PackageNotFoundError:
            sys.exit(f"{name} is not installed. Run make locked, and this with .venv-locked/bin/python.")
    found = [Requirement(line) for line in lines]
    return [each for each in found if each.marker is None or each.marker.evaluate({"extra": extra})]


def needed(extras: Iterable[str] = ()) -> dict[str, set[str]]:
    """Names of all distributions that mutiny with these extras needs, each with those that it asks for itself."""
    names: dict[str, set[str]] = {}
    todo, seen = [(NAME, extra) for extra in ("", *extras)], set()
    while todo:
        name, extra = todo.pop()
        if (name, extra) in seen:
            continue
        seen.add((name, extra))
        direct = names.setdefault(name, set())
        for each in requirements(name, extra):
            asked = canonicalize_name(each.name)
            if not OF_GPUS.match(asked):
                direct.add(asked)
                todo += [(asked, wanted) for wanted in ("", *each.extras)]
    return {name: direct - {name} for name, direct in sorted(names.items())}


def version(name: str) -> str:
    """Installed version, without what tells builds of torch apart."""
    return metadata.version(name).partition("+")[0]


ALLOWED = {
    *"0BSD Apache-2.0 BSD BSD-2-Clause BSD-3-Clause BSL-1.0 CC0-1.0 CNRI-Python ISC MIT MIT-0 MIT-CMU PSF-2.0".split(),
    *("Zlib", "Apache-2.0 WITH LLVM-exception"),
    "MPL-2.0",  # asks for the source of its own files only, if they were changed
}
"""Licenses that a project under Apache-2.0 may depend on."""
USUAL = {
    "Apache": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache 2.0 License": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause License": "BSD-3-Clause",
    "3-Clause BSD License": "BSD-3-Clause",
    "2-clause BSD": "BSD-2-Clause",
    "BSD License": "BSD",  # some variant of it
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "Python Software Foundation License": "PSF-2.0",
}
"""Identifiers of SPDX, by what metadata says that was written before there were rules."""
READ = {"axe-playwright-python": "MIT"}
"""Licenses that are in a file of the distribution, but not in its metadata."""


def license_of(name: str) -> str:
    """License of an installed distribution, as an SPDX expression, or ``BSD`` for an unknown variant of it.

    Without a known license, it is what the metadata says.
    """
    about = metadata.metadata(name)
    if expression := about.get("License-Expression"):  # with the package importlib_metadata, [] raises if it is missing
        return str(expression)
    classifiers = [line.rpartition(" :: ")[2] for line in about.get_all("Classifier", []) if line.startswith("License")]
    field = (about.get("License") or "").strip().partition("\n")[0]
    said = [READ.get(name, ""), field, *classifiers]
    known = [license for license in (USUAL.get(text, text) for text in said) if is_allowed(license)]
    return min(known, key=lambda license: license == "BSD", default=" / ".join(filter(None, said)) or "unknown")


def is_allowed(expression: str) -> bool:
    """Whether an SPDX expression without brackets allows that a project under Apache-2.0 depends on it."""
    return all(ALLOWED & set(choice.split(" OR ")) for choice in expression.split(" AND "))
