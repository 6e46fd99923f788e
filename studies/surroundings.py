"""What was run with: settings, code, versions and machine."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mutiny import __version__
from mutiny.core.errors import BadInput
from mutiny.reports.files import write_json
from studies.store import Row, Rows

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

SETTINGS = "settings.json"
COLUMNS = "started arguments commit processor cores threads python torch numpy scipy mutiny".split()


def run_rows(folder: Path) -> Rows:
    return Rows(folder / "runs.csv", COLUMNS, 1)


def surroundings(arguments: str) -> dict[str, Any]:
    """When, with which code and on what machine."""
    return {
        "started": time.strftime("%Y-%m-%d %H:%M:%S"),
        "arguments": arguments,
        "commit": _git("rev-parse", "--short", "HEAD") + ("+" if _git("status", "--porcelain", "src") else ""),
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "threads": torch.get_num_threads(),
        "python": platform.python_version(),
        **{name: version(name) for name in ("torch", "numpy", "scipy")},
        "mutiny": __version__,
    }


def in_words(runs: Iterable[Row]) -> str:
    """Machines and versions of all runs, in one sentence."""
    each = {
        f"{row['processor']}, one thread, Python {row['python']}, torch {row['torch']}, numpy {row['numpy']}, "
        f"scipy {row['scipy']}, mutiny {row['mutiny']}"
        for row in runs
    }
    return f"Hardware and versions: {'; '.join(sorted(each)) or 'not run'}; other work ran beside it."


def same_settings(folder: Path, settings: DataclassInstance) -> None:
    """Refuses to mix numbers that cannot be compared."""
    wanted = asdict(settings)
    if not (folder / SETTINGS).exists():
        folder.mkdir(parents=True, exist_ok=True)
        write_json(folder / SETTINGS, wanted)
    elif read_settings(folder) != wanted:
        raise BadInput("out", folder, f"results made with {wanted}", "Give another --out for other settings.")


def read_settings(folder: Path) -> Mapping[str, Any]:
    """The settings of the numbers in a folder; nothing if there are no numbers."""
    path = folder / SETTINGS
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    return found


def _git(*arguments: str) -> str:
    try:
        return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    names = [line for line in info.read_text().splitlines() if line.startswith("model name")] if info.exists() else []
    return names[0].partition(":")[2].strip() if names else platform.processor()
