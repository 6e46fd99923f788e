"""A case of ``python -m torture``: faults at the places of one kind, in several campaigns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torture.lab import Lab
from torture.steps.system_calls import compiled
from torture.watching import check, note

ROOT = Path(__file__).parents[2]
LANES = 2
"""Number of drivers that run at the same time."""
USUAL = 75.0
"""Seconds of a case in the usual run."""


@dataclass(frozen=True)
class Part:
    """A campaign of a case.

    Attributes:
        campaign: Name of the call or command.
        every: One of so many points is tried in the usual run.
        thinned: The same if every point is tried: more than 1 for campaigns with tens of thousands of points.
        engine: Name of the engine.
    """

    campaign: str
    every: int
    thinned: int = 1
    engine: str = "serial"


class StepsCase:
    """Faults at each place of one kind.

    Args:
        kind: Kind of places.
        about: What they are.
        parts: Campaigns.
    """

    def __init__(self, kind: str, about: str, *parts: Part) -> None:
        self.kind, self.parts, self.__doc__ = kind, parts, about

    def run(self, lab: Lab) -> tuple[int, str]:
        """Number of points and a summary; raises `Lost` if a fault was not survived."""
        with tempfile.TemporaryDirectory(dir=lab.root) as folder:
            environment = {**os.environ, "MUTINY_KEY": str(Path(folder) / "user" / "key")}
            if self.kind == "system-calls":
                if not sys.platform.startswith("linux"):
                    return 0, "needs Linux, whose system calls it replaces"
                if (library := compiled(Path(folder))) is None:
                    return 0, "needs a C compiler named cc"
                environment["LD_PRELOAD"] = str(library)
            parts = self.parts[:1] if lab.quick else self.parts
            end = time.monotonic() + (float("inf") if lab.every_point else USUAL)
            told = [self._part(part, lab, environment, len(parts) - place, end) for place, part in enumerate(parts)]
        problems = [line for lines in told for line in lines if "problem" in line]
        for line in problems:
            note(f"    {line['point']} ({line['place']}): {line['problem']}")
        tried = [sum(line["points"] for line in lines if "points" in line) for lines in told]
        all_ = [next(line["all"] for line in lines if "all" in line) for lines in told]
        check(not problems, f"{len(problems)} of {sum(tried)} points were not survived")
        each = ", ".join(
            f"{part.campaign}{f' on {part.engine}' * (part.engine != 'serial')} {count} of {number}"
            for part, count, number in zip(parts, tried, all_, strict=True)
        )
        checked = "models untouched, locks free, nothing kept is lost or done again, then equal and tidy"
        return sum(tried), f"{checked}; points: {each}"

    def _part(self, part: Part, lab: Lab, environment: dict[str, str], left: int, end: float) -> list[dict[str, Any]]:
        every = part.thinned if lab.every_point else part.every
        seconds = max(5.0, (end - time.monotonic()) / left)
        with ThreadPoolExecutor(LANES) as pool:
            lines = pool.map(
                lambda lane: list(self._driver(part, every, f"{lane}/{LANES}", seconds, lab, environment)), range(LANES)
            )
            return [line for lane in lines for line in lane]

    def _driver(
        self, part: Part, every: int, share: str, seconds: float, lab: Lab, environment: dict[str, str]
    ) -> Iterator[dict[str, Any]]:
        options = ["--kind", self.kind, "--campaign", part.campaign, "--engine", part.engine, "--every", str(every)]
        limits = ["--seed", str(lab.seed), "--part", share, "--seconds", str(seconds)]
        yield from driven([*options, *limits], environment)


def driven(options: Sequence[str], environment: dict[str, str]) -> list[dict[str, Any]]:
    """Runs a driver; returns what it told."""
    command = [sys.executable, "-m", "torture.steps.driver", *options]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    check(done.returncode == 0, f"the driver ended with {done.returncode}: {done.stderr[-500:]}")
    return [json.loads(line) for line in done.stdout.splitlines()]


STORE_CALLS = StepsCase(
    "store-calls",
    "(k) A fault at each call of the store.",
    Part("notice", 61),
    Part("select", 7),
    Part("command-select", 7),
    Part("select", 23, 2, "processes"),
)
STATEMENTS = StepsCase(
    "statements",
    "(l) A fault at each SQL statement.",
    Part("select", 61),
    Part("notice", 601, 7),
    Part("command-select", 61),
    Part("muff", 301, 7),
)
SYSTEM_CALLS = StepsCase(
    "system-calls",
    "(m) A fault of each system call on the files of a campaign.",
    Part("trained", 31),
    Part("command-select", 41),
)
JOBS = StepsCase(
    "jobs",
    "(n) A fault at each job, and at each forward pass.",
    Part("notice", 101),
    Part("muff", 11),
    Part("select", 13),
    Part("command-select", 7),
    Part("command-assess", 101, 7),
)
