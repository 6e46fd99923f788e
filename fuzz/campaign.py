"""A run of many cases in a worker process that is watched: time, memory, exit codes, distinct outcomes."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from fuzz.worker import BUG, UNMADE

BATCH = 200
"""Cases of one kind before the next kind has its turn."""
PROGRESS = 5000
"""Cases after which a line says how many are done, about."""
START = 120.0
"""Seconds in which a worker must have started."""
PATIENT = 10
"""Times as long that a case may take if its worker waits for a processor, as on a busy machine."""
CODES = (0, 1, 2, 3)
"""Exit codes that a command may have."""


@dataclass(frozen=True)
class Settings:
    """Folder, seed, value of ``MUTINY_LIMIT``, bytes and seconds that a case may take, and seconds for all."""

    root: Path
    seed: int
    limit: str
    most: int
    patience: float
    seconds: float

    @property
    def own(self) -> dict[str, str]:
        """Variables by which cache and key are those of the fuzzer, never the user's."""
        return {"MUTINY_CACHE": str(self.root / "cache"), "MUTINY_KEY": str(self.root / "user" / "key")}


class Campaign:
    """Runs cases and keeps what came of them."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.cases: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.unmade: Counter[str] = Counter()
        self.seconds: Counter[str] = Counter()
        self.slowest: dict[str, float] = defaultdict(float)
        self.largest: dict[str, int] = defaultdict(int)
        self.messages: dict[str, set[str]] = defaultdict(set)
        self.places: dict[str, set[str]] = defaultdict(set)
        self.failures: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self.last: dict[str, Any] = {}
        self._worker: subprocess.Popen[bytes] | None = None
        self._said = b""

    def run(self, counts: Mapping[str, int], first: int = 0) -> None:
        """Runs cases of all kinds in turn until all are done or the time is over."""
        end, done, told = time.monotonic() + self.settings.seconds, dict.fromkeys(counts, 0), 0
        try:
            while any(done[kind] < counts[kind] for kind in counts) and time.monotonic() < end:
                for kind, count in counts.items():
                    batch = min(BATCH, count - done[kind])
                    if batch > 0 and time.monotonic() < end:
                        self._batch(kind, first + done[kind], batch)
                        done[kind] += batch
                now = sum(done.values())
                if now // PROGRESS > told:
                    told = now // PROGRESS
                    sys.stderr.write(f"{now:,} cases\n")
        finally:
            self._end()

    def _batch(self, kind: str, first: int, count: int) -> None:
        number = first
        while number < first + count:
            if self._worker is None:
                self._start()
            self._write(f"{kind} {number} {first + count - number}\n")
            while number < first + count:
                answer = self._answer(self.settings.patience)
                if answer is None:
                    ended = self._end()
                    what = "hang" if ended is None else f"death with exit code {ended}"
                    self._keep({"kind": kind, "number": number, "code": what, "seconds": 0.0, "bytes": 0})
                    number += 1
                    break
                self._keep(answer)
                number += 1

    def _start(self) -> None:
        work = self.settings.root / "work"
        work.mkdir(exist_ok=True)
        environment = {
            **os.environ,
            "MUTINY_LIMIT": self.settings.limit,
            **self.settings.own,
            "TMPDIR": str(work),
            "OMP_NUM_THREADS": "1",
            "PYTHONWARNINGS": "ignore",
            "PYTHONDONTWRITEBYTECODE": "1",
            "COLUMNS": "100",
        }
        environment.pop("MUTINY_DATA", None)
        corpus = self.settings.root / "corpus"
        command = [sys.executable, "-m", "fuzz.worker", str(corpus), str(work), str(self.settings.seed)]
        pipe = subprocess.PIPE
        self._worker = subprocess.Popen(command, stdin=pipe, stdout=pipe, env=environment)
        self._said = b""
        if self._answer(START) is None:
            raise SystemExit(f"the worker did not start: exit code {self._end()}")

    def _write(self, line: str) -> None:
        assert self._worker is not None
        assert self._worker.stdin is not None
        self._worker.stdin.write(line.encode())
        self._worker.stdin.flush()

    def _answer(self, seconds: float) -> dict[str, Any] | None:
        assert self._worker is not None
        assert self._worker.stdout is not None
        start, worked = time.monotonic(), processor_seconds(self._worker.pid)
        while b"\n" not in self._said:
            ready, _, _ = select.select([self._worker.stdout], [], [], seconds / 10)
            if ready:
                more = os.read(self._worker.stdout.fileno(), 1 << 16)
                if not more:
                    return None
                self._said += more
                continue
            passed, busy = time.monotonic() - start, processor_seconds(self._worker.pid) - worked
            if passed >= PATIENT * seconds or (passed >= seconds and busy >= seconds / 2):
                return None
        line, _, self._said = self._said.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _end(self) -> int | None:
        """Ends the worker; returns its exit code if it had ended by itself."""
        worker, self._worker = self._worker, None
        if worker is None:
            return None
        code = None
        with suppress(subprocess.TimeoutExpired):
            code = worker.wait(0.5)
        with suppress(BrokenPipeError), worker:
            worker.kill()
        return code

    def _keep(self, answer: dict[str, Any]) -> None:
        kind = answer["kind"]
        self.last = answer
        if answer["code"] == UNMADE:
            self.unmade[answer["message"][:60]] += 1
            return
        self.cases[kind] += 1
        self.refused[kind] += answer["code"] == 2
        self.seconds[kind] += answer["seconds"]
        self.slowest[kind] = max(self.slowest[kind], answer["seconds"])
        self.largest[kind] = max(self.largest[kind], answer["bytes"])
        self.messages[kind].add(answer.get("message", ""))
        self.places[kind].add(answer.get("where", ""))
        if answer["bytes"] > self.settings.most:
            self._fail(answer, "memory", answer.get("where", ""))
        if answer["code"] not in CODES:
            self._fail(answer, str(answer["code"]), answer.get("where", "") + answer.get("message", "")[:60])

    def _fail(self, answer: dict[str, Any], what: str, where: str) -> None:
        alike = self.failures.setdefault((what, where), [])
        alike.append(answer)
        if len(alike) == 1:
            where = where if what == str(BUG) else ""
            sys.stderr.write(f"{answer['kind']}:{answer['number']}: {what} {where}\n")

    def show(self, whole: bool = False) -> None:
        """Prints a table, and the first case of each failure."""
        table = Table(title=f"fuzz, seed {self.settings.seed}", show_edge=False)
        for column in ("kind", "cases", "refused", "messages", "places", "slowest", "most memory", "seconds"):
            table.add_column(column, justify="left" if column == "kind" else "right")
        for kind, count in self.cases.items():
            numbers = (count, self.refused[kind], len(self.messages[kind]), len(self.places[kind]))
            peak = f"{self.largest[kind] / 2**20:.0f} MiB"
            table.add_row(
                kind, *(f"{n:,}" for n in numbers), f"{self.slowest[kind]:.1f} s", peak, f"{self.seconds[kind]:.0f}"
            )
        console = Console(width=max(100, Console().width))
        console.print(table)
        for (what, where), answers in self.failures.items():
            first = answers[0]
            again = f"python -m fuzz --seed {self.settings.seed} --case {first['kind']}:{first['number']}"
            console.print(f"{what}: {where} ({len(answers)} cases; {again})", markup=False, highlight=False)
            console.print(first.get("shown", ""), markup=False, highlight=False)
        bugs, hangs, large = (
            sum(len(answers) for (what, _), answers in self.failures.items() if test(what))
            for test in (lambda w: w == str(BUG), lambda w: w not in (str(BUG), "memory"), lambda w: w == "memory")
        )
        console.print(f"exit 70: {bugs}; hangs and deaths: {hangs}; above {self.settings.most >> 20} MiB: {large}")
        if self.unmade:
            console.print(f"cases that could not be made: {sum(self.unmade.values()):,}")
        if whole:
            console.print_json(json.dumps(self.last))


def processor_seconds(process: int) -> float:
    """Processor time that a process has taken; 0 where it cannot be read."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
