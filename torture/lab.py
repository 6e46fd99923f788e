"""Campaigns as a user runs them: the command line, in processes of its own, in a folder of its own."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from torture import subject
from torture.watching import attempts, campaigns, check, end_marked, no_orphans, results

PATIENCE = 900.0
"""Seconds after which a command is taken for hanging."""
ENGINES: Mapping[str, tuple[str, ...]] = {
    "serial": ("--engine", "serial", "--workers", "1"),
    "processes": ("--engine", "processes", "--workers", "2"),
    "ray": ("--engine", "ray", "--workers", "2"),
}


SIZES = ("--originals", "5", "--k-max", "2", "--max-probes", "4")
"""Of an assessment."""
ALIKE = ("--batch-size", "500")
"""Without it each campaign, with a cache of its own, would measure which size is fastest, and round accordingly."""


class Lab:
    """What all cases share: a folder, the size of a campaign, and the answers of undisturbed runs."""

    def __init__(self, root: Path, seed: int = 0, kills: int = 50, quick: bool = False) -> None:
        self.root, self.seed, self.kills, self.quick = root, seed, kills, quick
        self._answers: dict[tuple[int, str], dict[str, Any]] = {}
        self.seconds = 0.0
        self.jobs = 0
        self._made: list[Campaign] = []
        self._turn = threading.RLock()

    @property
    def operators(self) -> str:
        """With memory between probes (WI, GF), without (LA), and before training (HNE)."""
        return "WI,LA" if self.quick else "WI,GF,LA,HNE"

    def campaign(self, seed: int = 0, name: str = "subject", operators: str | None = None) -> Campaign:
        """An assessment that has not begun, in a folder of its own."""
        return self.of("assess", "--operators", operators or self.operators, *SIZES, seed=seed, name=name)

    def of(self, verb: str, *options: str, seed: int = 0, name: str = "subject") -> Campaign:
        """A campaign of any verb that has not begun, in a folder of its own."""
        with self._turn:
            folder = self.root / str(len(self._made) + 1)
            what = [verb, f"{Path(subject.__file__).resolve()}:{name}", *options, *ALIKE, "--seed", str(seed)]
            self._made.append(Campaign(folder, what, self.root / "ray"))
            return self._made[-1]

    def end(self) -> None:
        """Leaves no process behind, whatever has happened."""
        for campaign in self._made:
            end_marked(campaign.mark)

    def undisturbed(self, seed: int = 0) -> dict[str, Any]:
        """The answer of a run that nothing disturbs, on the serial engine."""
        return self.finished(seed, "serial")

    def finished(self, seed: int, engine: str) -> dict[str, Any]:
        """The answer of an undisturbed run on an engine."""
        if (seed, engine) not in self._answers:
            campaign, start = self.campaign(seed), time.monotonic()
            campaign.begin(engine).succeed()
            if engine == "serial":
                self.seconds, self.jobs = time.monotonic() - start, len(results(campaign.store))
            campaign.check_tidy()
            self._answers[seed, engine] = campaign.answer()
        return self._answers[seed, engine]


class Run:
    """A command under way."""

    def __init__(self, arguments: Sequence[str], folder: Path, environment: Mapping[str, str], **more: Any) -> None:
        self.said = folder / f"said-{uuid.uuid4().hex[:8]}"
        with self.said.open("w") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "mutiny", *arguments],
                cwd=folder,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=output,
                start_new_session=True,
                **more,
            )

    @property
    def alive(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def wait(self, seconds: float = PATIENCE) -> tuple[int, str]:
        """Exit code, and what it said on standard error."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            check(False, f"a command hung for {seconds:.0f} s: {self.process.args}")
        text = self.said.read_text().strip()
        self.said.unlink(missing_ok=True)
        check("Traceback" not in text, f"a traceback: {text[-300:]}")
        return code, text

    def succeed(self) -> str:
        """Waits for its end, which must be a good one; what it said."""
        code, text = self.wait()
        check(code == 0, f"exit code {code}: {text[-300:]}")
        return text

    def kill(self, group: bool = True) -> bool:
        """SIGKILL, to all of its group or to the first process alone; whether it was still alive."""
        alive = self.alive
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL) if group else self.process.kill()
        killed = self.process.wait() == -signal.SIGKILL
        self.said.unlink(missing_ok=True)
        return alive and killed


class Campaign:
    """One call of a verb, with its store, its result and its temporary files.

    Args:
        folder: for all of these.
        what: verb, subject and options.
        ray: a folder for Ray; names of sockets must not be long.
    """

    def __init__(self, folder: Path, what: Sequence[str], ray: Path) -> None:
        self.folder, self.mark = folder, f"TORTURE={uuid.uuid4().hex}"
        self.store, self.json, self.temporary = folder / "a.mutiny", folder / "a.json", folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.what = what
        self.environment = {
            **os.environ,
            "MUTINY_CACHE": str(folder / "cache"),
            "TMPDIR": str(self.temporary),
            "RAY_TMPDIR": str(ray),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "only-for-tests-" + "0" * 32,
            "OMP_NUM_THREADS": "1",
            "RAY_worker_niceness": "0",
            "TORTURE": self.mark.partition("=")[2],
        }

    def begin(self, engine: str = "serial", *more: str, **how: Any) -> Run:
        """Begins it, or goes on by the same command."""
        arguments = [*self.what, "--store", str(self.store), *self._common(engine), *more]
        return Run(arguments, self.folder, self.environment, **how)

    def resume(self, engine: str = "serial", *more: str, **how: Any) -> Run:
        """Goes on with it."""
        return Run(["resume", str(self.store), *self._common(engine), *more], self.folder, self.environment, **how)

    def go_on(self, engine: str = "serial") -> Run:
        """What mutiny tells the user to do next."""
        begun, finished = campaigns(self.store)
        if not begun:
            return self.begin(engine)
        if finished:
            return Run(["report", str(self.store), "--json", str(self.json)], self.folder, self.environment)
        return self.resume(engine)

    def status(self) -> str:
        """What ``mutiny status`` prints."""
        command = [sys.executable, "-m", "mutiny", "status", str(self.store)]
        told = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        check(told.returncode == 0, f"status: exit code {told.returncode}: {told.stderr[-300:]}")
        return told.stdout

    def answer(self) -> dict[str, Any]:
        """The result without its times."""
        told = json.loads(self.json.read_text())
        return {name: value for name, value in told.items() if name != "timing"}

    def check_equal(self, answer: Mapping[str, Any]) -> None:
        """The result is that of an undisturbed run."""
        own = self.answer()
        different = [name for name in answer if own[name] != answer[name]]
        check(not different, f"the result differs in {', '.join(different)}")
        check(campaigns(self.store)[1] == 1, "the campaign is not marked as finished")

    def standing(self) -> tuple[dict[str, int], set[str]]:
        """How often each job was begun, and which are done."""
        return attempts(self.store), set(results(self.store))

    def check_once(self, before: tuple[dict[str, int], set[str]] | None = None) -> list[str]:
        """Since then no job was begun twice, and none that was done; the jobs that were begun in vain."""
        (begun, done), (now, finished) = before or ({}, set()), self.standing()
        new = {job: count - begun.get(job, 0) for job, count in now.items()}
        check(all(count <= 1 for count in new.values()), "a job was begun twice in one run")
        check(not any(new[job] for job in done), "a job was done again")
        check(all(now[job] for job in finished), "a job has a result and was never begun")
        return [job for job, count in new.items() if count and job not in finished]

    def check_kept(self, acknowledged: Mapping[str, str]) -> None:
        """All that was kept is still there."""
        now = results(self.store)
        missing = [job for job, content in acknowledged.items() if now.get(job) != content]
        check(not missing, f"{len(missing)} results are lost or changed")

    def check_tidy(self, seconds: float = 60.0) -> None:
        """Nobody runs any more, and nothing lies about.

        What is not mutiny's may: torch's empty folder. Notes of Ray's workers are a few bytes that stay for a day.
        """
        no_orphans(self.mark, seconds)
        lying = {path.name for path in self.folder.iterdir()} - {"a.mutiny", "a.json", "cache", "tmp"}
        there = [path.name for path in self.temporary.iterdir()]
        lying |= {name for name in there if not name.endswith(".note") and not name.startswith("torchinductor_")}
        check(not lying, f"files were left behind: {sorted(lying)}")

    def _common(self, engine: str) -> tuple[str, ...]:
        return (*ENGINES[engine], "--json", str(self.json), "--quiet")


def digest(answer: Mapping[str, Any]) -> str:
    """A short hash of a result."""
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]
