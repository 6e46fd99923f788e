"""Tries faults one after the other, each in processes that are forked from this one.

``python -m torture.steps.driver`` prints a line of JSON for each fault that was not survived, and one at the end with
the counts.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from torture.steps import command_trial, planted
from torture.steps.campaigns import COMMANDS, PYTHON
from torture.steps.injection import FAULTS, ON_COMMANDS
from torture.steps.system_calls import APPLY
from torture.steps.trial import Point, Trial

SECONDS = 300
"""Seconds after which a process counts as hanging."""


class Driver:
    """Tries the faults of one kind in one campaign.

    Args:
        kind: Kind of places.
        campaign: Name of the call or command.
        root: Folder for everything.
        engine: Arguments that choose the engine.
    """

    def __init__(self, kind: str, campaign: str, root: Path, engine: Mapping[str, Any]) -> None:
        self.kind, self.campaign, self.root, self.engine = kind, campaign, root, engine
        self._trial: Callable[..., Any] = command_trial.CommandTrial if campaign in COMMANDS else Trial
        self._count = 0

    def undisturbed(self) -> tuple[dict[str, Any], list[str]]:
        """The result of an undisturbed run, and the names of its places."""
        self._warm()
        trial = self._made(Point(self.kind, self.campaign))
        code, said = self._in_child(lambda: trial.first(None), "answer")
        if code:
            raise SystemExit(f"the undisturbed run failed: {said}")
        return json.loads(said), trial.places.read_text().split("\n")

    def _warm(self) -> None:
        """Runs calls here, so that forked processes need not import anything or train the network."""
        for name in ("notice", "select", "trained") if self.campaign in COMMANDS else [self.campaign]:
            folder = self.root / f"warm-{name}"
            folder.mkdir()
            PYTHON[name].run(folder / "a.mutiny", folder / "originals")

    def points(self, names: list[str]) -> Iterator[Point]:
        """All points of the campaign."""
        faults = ON_COMMANDS if self.campaign in COMMANDS else FAULTS
        for at, name in enumerate(names, 1):
            for fault in APPLY[name] if self.kind == "system-calls" else faults[self.kind]:
                yield Point(self.kind, self.campaign, at, fault)

    def survived(self, point: Point, answer: Mapping[str, Any]) -> str:
        """What does not hold after a fault; empty if all does."""
        trial = self._made(point)
        code, said = self._in_child(lambda: trial.first(answer), "first")
        if code and not (point.deadly and code == -signal.SIGKILL):
            return said or f"the process ended with {code}"
        code, said = self._in_child(lambda: trial.second(answer), "second")
        return said or f"the second process ended with {code}" if code else ""

    def _made(self, point: Point) -> Any:
        self._count += 1
        trial = self._trial(point, self.root / f"{self._count}", self.engine)
        if self._count > 3:
            before = self.root / f"{self._count - 1}"
            shutil.rmtree(before, ignore_errors=True)
            for left in self.root.glob(f"{before.name}.*"):
                left.unlink()
        return trial

    def _in_child(self, task: Callable[[], Any], name: str) -> tuple[int, str]:
        """Runs a task in a forked process; returns its exit code, and its result or what went wrong."""
        note = self.root / f"{self._count}.{name}"
        child = os.fork()
        if child == 0:
            code = 1
            try:
                signal.alarm(SECONDS)
                note.write_text(json.dumps(task()))
                code = 0
            except BaseException as error:
                note.write_text(_told(error))
            finally:
                os._exit(code)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        return code, note.read_text() if note.exists() else ""


def _told(error: BaseException) -> str:
    frames = [f"{Path(frame.filename).name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    return f"{type(error).__name__}: {error} ({' '.join(frames[-5:])})"


def main() -> None:
    """Tries a part of the points."""
    parser = argparse.ArgumentParser(prog="python -m torture.steps.driver")
    parser.add_argument("--kind", required=True)
    parser.add_argument("--campaign", required=True)
    parser.add_argument("--every", type=int, default=1, help="Try one of so many points.")
    parser.add_argument("--seed", type=int, default=0, help="Chooses these points.")
    parser.add_argument("--part", default="0/1", help="Part of the points, such as 0/2 for the first of two.")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="Start no further point after these.")
    parser.add_argument("--engine", default="serial")
    parser.add_argument("--plant", choices=sorted(planted.BUGS), help="Make mutiny wrong, to see that it is found.")
    parser.add_argument("--fault", default="", help="Try this fault only.")
    parser.add_argument("--place", default="", help="Try places only whose name contains this text.")
    parser.add_argument("--only", help="One point: its number and fault, such as 17:death.")
    options = parser.parse_args()
    faulthandler.enable()
    if options.plant:
        planted.BUGS[options.plant]()
    engine = {"engine": options.engine, "workers": 2} if options.engine != "serial" else {}
    with tempfile.TemporaryDirectory(prefix="steps-") as root:
        driver = Driver(options.kind, options.campaign, Path(root).resolve(), engine)
        answer, names = driver.undisturbed()
        points = [
            point
            for point in driver.points(names)
            if options.fault in ("", point.fault) and options.place in names[point.at - 1]
        ]
        part, parts = map(int, options.part.split("/"))
        first = random.Random(options.seed).randrange(options.every)
        chosen = points[first :: options.every][part::parts]
        if options.only:
            chosen = [point for point in points if f"{point.at}:{point.fault}" == options.only]
        failed, tried, end = 0, 0, time.monotonic() + options.seconds
        for point in chosen:
            if time.monotonic() > end:
                break
            tried += 1
            if problem := driver.survived(point, answer):
                failed += 1
                _say({"point": str(point), "place": names[point.at - 1], "problem": problem})
        _say({"places": len(names), "all": len(points), "points": tried, "failed": failed})


def _say(line: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(line)}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
