"""Runs campaigns as a user does: by the command line, each in its own processes and folder."""

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
"""Seconds after which a command counts as hanging."""
ENGINES: Mapping[str, tuple[str, ...]] = {
    "serial": ("--engine", "serial", "--workers", "1"),
    "processes": ("--engine", "processes", "--workers", "2"),
    "ray": ("--engine", "ray", "--workers", "2"),
}


SIZES = ("--originals", "5", "--k-max", "2", "--max-probes", "4")
"""Options that keep an assessment small."""
ALIKE = ("--batch-size", "500")
"""Fixed batch size; otherwise each campaign, with its own cache, would measure one, and might round differently."""


class Lab:
    """State that all cases share: a folder, the size of a campaign, and the results of undisturbed runs."""

    def __init__(
        self,
        root: Path,
        seed: int = 0,
        kills: int = 50,
        quick: bool = False,
        *,
        every_point: bool = False,
        lanes: int = 2,
    ) -> None:
        self.root, self.seed, self.kills, self.quick = root, seed, kills, quick
        self.every_point, self.lanes = every_point, lanes
        self._answers: dict[tuple[int, str], dict[str, Any]] = {}
        self.seconds = 0.0
        self.jobs = 0
        self._made: list[Campaign] = []
        self._turn = threading.RLock()

    @property
    def operators(self) -> str:
        """Operators with memory between probes (WI, GF), without (LA), and before training (HNE)."""
        return "WI,LA" if self.quick else "WI,GF,LA,HNE"

    def campaign(self, seed: int = 0, name: str = "subject", operators: str | None = None) -> Campaign:
        """A new assessment in its own folder, not started."""
        return self.of(
            "assess", "--method", "muff", "--operators", operators or self.operators, *SIZES, seed=seed, name=name
        )

    def of(self, verb: str, *options: str, seed: int = 0, name: str = "subject") -> Campaign:
        """A new campaign of any verb in its own folder, not started."""
        with self._turn:
            folder = self.root / str(len(self._made) + 1)
            what = [verb, f"{Path(subject.__file__).resolve()}:{name}", *options, *ALIKE, "--seed", str(seed)]
            self._made.append(Campaign(folder, what, self.root / "ray"))
            return self._made[-1]

    def end(self) -> None:
        """Ends all processes of all campaigns."""
        for campaign in self._made:
            end_marked(campaign.mark)

    def undisturbed(self, seed: int = 0) -> dict[str, Any]:
        """The result of an undisturbed run on the serial engine."""
        return self.finished(seed, "serial")

    def finished(self, seed: int, engine: str) -> dict[str, Any]:
        """The result of an undisturbed run on an engine."""
        if (seed, engine) not in self._answers:
            campaign, start = self.campaign(seed), time.monotonic()
            campaign.begin(engine).succeed()
            if engine == "serial":
                self.seconds, self.jobs = time.monotonic() - start, len(results(campaign.store))
            campaign.check_tidy()
            self._answers[seed, engine] = campaign.answer()
        return self._answers[seed, engine]


class Run:
    """A running command."""

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
        """Whether it is running."""
        return self.process.poll() is None

    def wait(self, seconds: float = PATIENCE) -> tuple[int, str]:
        """Waits for its end; returns the exit code and standard error."""
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
        """Waits for its end, requires exit code 0, and returns standard error."""
        code, text = self.wait()
        check(code == 0, f"exit code {code}: {text[-300:]}")
        return text

    def kill(self, group: bool = True) -> bool:
        """Sends SIGKILL to its process group, or to the first process only; returns whether it was still running."""
        alive = self.alive
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL) if group else self.process.kill()
        killed = self.process.wait() == -signal.SIGKILL
        self.said.unlink(missing_ok=True)
        return alive and killed


class Campaign:
    """One call of a verb, with its store, its result and its temporary files.

    Args:
        folder: Folder for all of these.
        what: Verb, subject and options.
        ray: Folder for Ray; its path must be short, because the paths of sockets are limited.
    """

    def __init__(self, folder: Path, what: Sequence[str], ray: Path) -> None:
        self.folder, self.mark = folder, f"TORTURE={uuid.uuid4().hex}"
        self.store, self.json, self.temporary = folder / "a.mutiny", folder / "a.json", folder / "tmp"
        self.temporary.mkdir(parents=True)
        self.what = what
        self.environment = {
            **os.environ,
            "MUTINY_CACHE": str(folder / "cache"),
            "MUTINY_KEY": str(ray.with_name("user") / "key"),
            "TMPDIR": str(self.temporary),
            "RAY_TMPDIR": str(ray),
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": "only-for-tests-" + "0" * 32,
            "OMP_NUM_THREADS": "1",
            "RAY_worker_niceness": "0",
            "TORTURE": self.mark.partition("=")[2],
        }

    def begin(self, engine: str = "serial", *more: str, **how: Any) -> Run:
        """Starts it, or continues it with the same command."""
        arguments = [*self.what, "--store", str(self.store), *self._common(engine), *more]
        return Run(arguments, self.folder, self.environment, **how)

    def resume(self, engine: str = "serial", *more: str, **how: Any) -> Run:
        """Continues it with ``mutiny resume``."""
        return Run(["resume", str(self.store), *self._common(engine), *more], self.folder, self.environment, **how)

    def go_on(self, engine: str = "serial") -> Run:
        """Runs the command that mutiny recommends next."""
        started, finished = campaigns(self.store)
        if not started:
            return self.begin(engine)
        if finished:
            return Run(["report", str(self.store), "--json", str(self.json)], self.folder, self.environment)
        return self.resume(engine)

    def status(self) -> str:
        """Output of ``mutiny status``."""
        command = [sys.executable, "-m", "mutiny", "status", str(self.store)]
        told = subprocess.run(command, capture_output=True, text=True, env=self.environment, check=False)
        check(told.returncode == 0, f"status: exit code {told.returncode}: {told.stderr[-300:]}")
        return told.stdout

    def answer(self) -> dict[str, Any]:
        """The result without its times."""
        told = json.loads(self.json.read_text())
        return {name: value for name, value in told.items() if name != "timing"}

    def check_equal(self, answer: Mapping[str, Any]) -> None:
        """Checks that the result is that of an undisturbed run."""
        result = self.answer()
        different = [name for name in answer if result[name] != answer[name]]
        check(not different, f"the result differs in {', '.join(different)}")
        check(campaigns(self.store)[1] == 1, "the campaign is not marked as finished")

    def standing(self) -> tuple[dict[str, int], set[str]]:
        """Attempts of each job, and the jobs that are done."""
        return attempts(self.store), set(results(self.store))

    def check_once(self, before: tuple[dict[str, int], set[str]] | None = None) -> list[str]:
        """Checks that since ``before`` no job was started twice or done again; returns jobs without a result."""
        (begun, done), (now, finished) = before or ({}, set()), self.standing()
        new = {job: count - begun.get(job, 0) for job, count in now.items()}
        check(all(count <= 1 for count in new.values()), "a job was started twice in one run")
        check(not any(new[job] for job in done), "a job was done again")
        check(all(now[job] for job in finished), "a job has a result and was never started")
        return [job for job, count in new.items() if count and job not in finished]

    def check_kept(self, acknowledged: Mapping[str, str]) -> None:
        """Checks that no stored result was lost or changed."""
        now = results(self.store)
        missing = [job for job, content in acknowledged.items() if now.get(job) != content]
        check(not missing, f"{len(missing)} results are lost or changed")

    def check_tidy(self, seconds: float = 60.0) -> None:
        """Checks that no process runs and no file was left behind.

        Allowed are torch's empty folder and the notes of Ray's workers, a few bytes that are removed after a day.
        """
        no_orphans(self.mark, seconds)
        extra = {path.name for path in self.folder.iterdir()} - {"a.mutiny", "a.json", "cache", "tmp"}
        there = [path.name for path in self.temporary.iterdir()]
        extra |= {name for name in there if not name.endswith(".note") and not name.startswith("torchinductor_")}
        check(not extra, f"files were left behind: {sorted(extra)}")

    def _common(self, engine: str) -> tuple[str, ...]:
        return (*ENGINES[engine], "--json", str(self.json), "--quiet")


def digest(answer: Mapping[str, Any]) -> str:
    """A short hash of a result."""
    return hashlib.sha256(json.dumps(answer, sort_keys=True).encode()).hexdigest()[:16]
