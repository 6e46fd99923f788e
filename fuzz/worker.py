"""The process that runs cases one after the other, with an eye on memory; it is replaced if it hangs or dies."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import resource
import shutil
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import mutiny
from fuzz import commands, data_files, gates, results, stores, subject
from mutiny.cli.errors import given_code
from mutiny.core.errors import MutinyError

KINDS: dict[str, Callable[[Random, Path, Path], Callable[[], None]]] = {
    "stores": stores.case,
    "results": results.case,
    "data": data_files.case,
    "commands": commands.case,
    "gates": gates.case,
}
OURS = str(Path(mutiny.__file__).parent)
HEADROOM = 4 << 30
"""Bytes of address space that a case may take beyond what the process has, so that the machine survives."""
LINES = 40
"""Lines of a traceback that are kept."""
BUG, UNMADE = 70, "unmade"


def main() -> None:
    """Reads ``KIND FIRST COUNT`` from standard input, and writes a line of JSON after each case."""
    answers = os.fdopen(os.dup(1), "w")
    corpus, folder, seed = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
    warnings.simplefilter("ignore")
    for kind in ("stores", "results"):  # what is imported when first used is not memory of a case
        once(kind, 0, seed, corpus, folder)
    resource.setrlimit(resource.RLIMIT_AS, (memory("VmSize") + HEADROOM,) * 2)
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        kind, first, count = line.split()
        for number in range(int(first), int(first) + int(count)):
            print(json.dumps(once(kind, number, seed, corpus, folder)), file=answers, flush=True)


def once(kind: str, number: int, seed: int, corpus: Path, folder: Path) -> dict[str, Any]:
    """Runs one case in an empty folder and says what came of it."""
    place = folder / "case"
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    try:
        action = KINDS[kind](Random(f"{seed}/{kind}/{number}"), corpus, place)
    except Exception as error:  # a second change of what the first one has made unreadable
        return {"kind": kind, "number": number, "seconds": 0.0, "bytes": 0, "code": UNMADE, "message": repr(error)}
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before, start = memory("VmRSS"), time.perf_counter()
    with contextlib.chdir(place):
        outcome = judged(action)
    seconds, peak = time.perf_counter() - start, memory("VmHWM") - before
    return {"kind": kind, "number": number, "seconds": round(seconds, 4), "bytes": peak, **outcome}


def judged(action: Callable[[], None]) -> dict[str, Any]:
    """Exit code, place in mutiny and message of a case, as the console command would have them."""
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="strict")
    err = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="backslashreplace")
    code, where, message, shown = 0, "", "", ""
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            action()
            out.flush()
        except MutinyError as error:
            code, where, message = 2, site(error), str(error)
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
        except Exception as error:
            refusing = [frame for frame in given_code(error) if frame.filename == subject.__file__]
            code, where, message = (2 if refusing else BUG), site(error), f"{type(error).__name__}: {error}"
            shown = "".join(traceback.format_exception(error))
    err.flush()
    said = err.buffer.getvalue().decode(errors="replace")  # type: ignore[attr-defined]
    if code == BUG and not shown:
        shown = said
    shown = "\n".join(line[:200] for line in shown.splitlines()[-LINES:])
    return {"code": code, "where": where, "message": plain(message or said), "shown": shown}


def site(error: BaseException) -> str:
    """The last line of mutiny that an error went through."""
    if isinstance(error, MutinyError) and error.__cause__ is not None:
        error = error.__cause__
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(OURS)]
    return f"{Path(frames[-1].filename).relative_to(OURS)}:{frames[-1].lineno}" if frames else ""


def plain(message: str) -> str:
    """A message without what differs from case to case: numbers, paths and quoted values."""
    message = message.strip().rpartition("\n")[2] if "Traceback" in message else message.strip()
    for pattern, name in ((r"/\S+", "PATH"), (r"'[^']*'|\"[^\"]*\"", "TEXT"), (r"-?\d[\d.,e+-]*", "N")):
        message = re.sub(pattern, name, message)
    return re.sub(r"=.*?: expected", "=VALUE: expected", message, flags=re.DOTALL)[:160]


def memory(name: str) -> int:
    """A size of this process in bytes, by its name in ``/proc``."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    return 0


if __name__ == "__main__":
    main()
