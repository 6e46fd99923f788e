"""One fault at one place of a call from Python, and what must hold afterwards."""

from __future__ import annotations

import gc
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutiny.campaigns.stores.lock import holder
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import MutinyError
from mutiny.models.state import ModelState
from torture.steps import places as faults
from torture.steps.campaigns import PYTHON
from torture.steps.injection import INJECTIONS, record_saved
from torture.steps.places import Places
from torture.steps.system_calls import HARMLESS, SystemCalls
from torture.watching import attempts, campaigns, check, results, rows

UNNAMED = ("after __init__", "before __exit__", "before close")
"""Places at which Python offers nothing that would still be run: an error there ends the only name of a store."""
HALF = "SELECT name FROM tasks WHERE (seconds IS NULL) = (number IN (SELECT task FROM results))"
"""Jobs whose result is only partly there."""


@dataclass(frozen=True)
class Point:
    """A fault at a place.

    Attributes:
        kind: Kind of places that are counted.
        campaign: Name of the call or command.
        at: Number of the place; 0 for none.
        fault: Name of the fault.
    """

    kind: str
    campaign: str
    at: int = 0
    fault: str = ""

    @property
    def deadly(self) -> bool:
        """Whether the process dies."""
        return self.fault.startswith("death") or self.fault == "torn"

    def __str__(self) -> str:
        return f"{self.kind}:{self.campaign}:{self.at}:{self.fault}"


class Trial:
    """A point, in its own folder.

    Args:
        point: The fault.
        folder: Folder of the store, which does not exist yet; notes about the run are written beside it.
        engine: Arguments that choose the engine.
    """

    def __init__(self, point: Point, folder: Path, engine: Mapping[str, Any]) -> None:
        self.point, self.folder, self.engine = point, folder, engine
        self.store = folder / "a.mutiny"
        self.saved, self.places = folder.with_suffix(".saved"), folder.with_suffix(".places")

    def first(self, answer: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Runs the call with the fault, and checks what can be checked while the process lives.

        Returns:
            The result, if the call had one.
        """
        call, point = PYTHON[self.point.campaign], self.point
        models = [(model, ModelState.of(model)) for model in call.network().models]
        self.folder.mkdir()
        record_saved(self.saved)
        places = Places(point.at, point.fault)
        calls = SystemCalls() if point.kind == "system-calls" else None
        if calls is None:
            INJECTIONS[point.kind](places)
        else:
            calls.start(f"{self.folder}/", point.at, point.fault)
        error, result = None, None
        try:
            result = call.run(self.store, self.folder / "originals", **self.engine)
        except BaseException as raised:
            error = raised  # kept, as an interactive session keeps the last error: nothing may depend on its end
        places.open = False
        names = places.names if calls is None else calls.stop()
        self.places.write_text("\n".join(" ".join(name.split()) for name in names))
        self._check_error(error)
        if point.kind == "store-calls" and point.at and names[min(point.at, len(names)) - 1].startswith(UNNAMED):
            error = None  # what nobody can close is closed when its last name is gone
            gc.collect()
        for model, state in models:
            check(state.difference(ModelState.of(model)) is None, "the model was changed")
        check(holder(self.store) is None, "the lock is still held")
        here = _open_files(self.folder)
        check(not here, f"files are still open after {error!r}: {here}")
        if result is not None and answer is not None and result != answer:
            check(_tells(result, point.fault), "another result, which does not say what failed")
        return result

    def second(self, answer: Mapping[str, Any]) -> None:
        """Runs the call again without a fault, and compares."""
        kept, begun = results(self.store), attempts(self.store)
        acknowledged = set(self.saved.read_text().upper().split()) if self.saved.exists() else set()
        check(acknowledged <= kept.keys(), f"{len(acknowledged - kept.keys())} results were saved and are lost")
        check_whole(self.store)
        result = PYTHON[self.point.campaign].run(self.store, self.folder / "originals", **self.engine)
        different = [name for name in answer if result.get(name) != answer[name]]
        check(not different, f"the result after the second run differs in {', '.join(different)}")
        check_after(self.folder, kept, begun)

    def _check_error(self, error: BaseException | None) -> None:
        fault = self.point.fault
        if error is None or isinstance(error, MutinyError):
            return
        allowed = faults.OWN.get(fault, MemoryError if fault == "ENOMEM" else ())
        if not isinstance(error, allowed) or fault in HARMLESS:
            raise error


def check_whole(store: Path) -> None:
    """Checks that a store, if there is one, can be opened and has each result either whole or not at all."""
    if store.exists():
        SqliteStore(store).close()
    half = rows(store, HALF)
    check(not half, f"half a result is stored of {half}")


def check_after(folder: Path, kept: Mapping[str, str], begun: Mapping[str, int]) -> None:
    """Checks a folder after a campaign has ended well: nothing lost, done again, or left behind."""
    store = folder / "a.mutiny"
    now, started = results(store), attempts(store)
    check(all(now.get(job) == body for job, body in kept.items()), "stored results are lost or changed")
    check(all(started[job] == begun.get(job, 0) for job in kept), "a job was done again")
    check(campaigns(store) == (1, 1), f"campaigns and finished ones: {campaigns(store)}")
    check(holder(store) is None, "the lock is still held")
    names = {path.name for path in folder.iterdir()} - {"a.mutiny", "a.json", "originals", "cache", "key", "said"}
    # safetensors, too, writes into a file of its own first, which a killed process leaves
    parts = [path.name for path in folder.rglob(".*") if not path.name.startswith(".tmp")]
    check(not names and not parts, f"files were left behind: {sorted(names) + parts}")


def _tells(result: Mapping[str, Any], fault: str) -> bool:
    """Whether a result names the error of a job."""
    kind = faults.OWN.get(fault)
    return kind is not None and kind.__name__ in json.dumps(result)


def _open_files(folder: Path) -> list[str]:
    """Files of a folder that this process has open."""
    there = []
    for handle in Path("/proc/self/fd").iterdir():
        with suppress(OSError):  # that of the listing
            there.append(handle.readlink())
    return [path.name for path in there if path.is_relative_to(folder)]
