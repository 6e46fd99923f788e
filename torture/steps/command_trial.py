"""One fault at one place of a command, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mutiny import cli
from mutiny.cli import invocation  # noqa: F401, imported before processes are forked
from torture.steps.campaigns import command_line, resume_line
from torture.steps.injection import INJECTIONS, record_saved
from torture.steps.places import Places
from torture.steps.system_calls import HARMLESS, SystemCalls
from torture.steps.trial import Point, _tells, check_after
from torture.watching import attempts, check, results

CODES = (2, 3)
"""Exit codes after a fault: refused, or interrupted and resumable."""


class CommandTrial:
    """A point of a command, in its own folder; arguments as for `Trial`."""

    def __init__(self, point: Point, folder: Path, _: Mapping[str, Any]) -> None:
        self.point, self.folder, self.store = point, folder, folder / "a.mutiny"
        self.saved, self.places, self.said = (folder.with_suffix(f".{name}") for name in ("saved", "places", "said"))
        self.exit = folder.with_suffix(".code")

    def first(self, answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Runs the command with the fault, and checks its exit code, its message and its output."""
        point = self.point
        self.folder.mkdir()
        record_saved(self.saved)
        places = Places(point.at, point.fault)
        calls = SystemCalls() if point.kind == "system-calls" else None
        if calls is None:
            INJECTIONS[point.kind](places)
        else:
            calls.start(f"{self.folder}/", point.at, point.fault)
        try:
            code, said = self._run(command_line(point.campaign, self.folder))
        finally:
            places.open = False
            names = places.names if calls is None else calls.stop()
            self.places.write_text("\n".join(" ".join(name.split()) for name in names))
        self.exit.write_text(str(code))
        check("Traceback" not in said, f"a traceback: {said[-600:]}")
        if code:
            check(code in CODES and point.fault not in HARMLESS, f"exit code {code}: {said[-400:]}")
            lines = [line for line in said.splitlines() if "finishing running jobs" not in line]
            check(bool(lines) and lines[-1].startswith("mutiny: "), f"exit code {code}, no sentence: {said[-400:]}")
            if code == 3:
                check("esume with" in said or "same command" in said, f"it does not say how to go on: {said[-400:]}")
            return None
        result = self._answer()
        if answer is not None and result != answer:
            check(_tells(result, point.fault), "exit code 0 with another result, which does not say what failed")
        return result

    def second(self, answer: Mapping[str, Any]) -> None:
        """Runs the command that mutiny recommends next, and compares."""
        kept, begun = results(self.store), attempts(self.store)
        acknowledged = set(self.saved.read_text().upper().split()) if self.saved.exists() else set()
        check(acknowledged <= kept.keys(), f"{len(acknowledged - kept.keys())} results were saved and are lost")
        said = self.said.read_text() if self.said.exists() else ""
        lines = [command_line(self.point.campaign, self.folder)]
        if "mutiny resume" in said and "Resume with" in said:
            lines.insert(0, resume_line(self.folder))
        code, told = self._run(lines[0])
        check(code == 0, f"after {said.strip()!r}, `{lines[0][0]}` ended with {code}: {told[-500:]}")
        result = self._answer()
        different = [name for name in answer if result.get(name) != answer[name]]
        check(not different, f"the result after the second run differs in {', '.join(different)}")
        check_after(self.folder, kept, begun)

    def _answer(self) -> dict[str, Any]:
        told = json.loads((self.folder / "a.json").read_text())
        return {name: value for name, value in told.items() if name != "timing"}

    def _run(self, arguments: list[str]) -> tuple[int, str]:
        """Exit code and standard error of a command that runs in this process."""
        os.environ.update(MUTINY_CACHE=str(self.folder / "cache"), MUTINY_KEY=str(self.folder / "key"))
        os.environ["MUTINY_CACHE"], os.environ["MUTINY_KEY"] = str(self.folder / "cache"), str(self.folder / "key")
        sys.argv = ["mutiny", *arguments]
        with self.said.open("w") as said:
            sys.stderr.flush()
            sys.stdout.flush()
            os.dup2(said.fileno(), 2)
            nothing = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nothing, 1)
        code: Any = 0
        try:
            cli.main()
        except SystemExit as end:
            code = end.code
        sys.stderr.flush()
        return int(code or 0), self.said.read_text()
