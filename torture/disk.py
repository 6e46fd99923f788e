"""(d) The disk fills up in the middle; and the store, or its folder, cannot be written."""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from torture.lab import Campaign, Lab
from torture.watching import check, results, wait_for

ROOM = "24m"
DAC_OVERRIDE, DAC_READ_SEARCH, DROP = 1, 2, 24


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    places, engines = ("file", "folder"), ("serial",) if lab.quick else ("serial", "processes")
    for what in places:
        _read_only(lab, what)
    told = "read-only file, read-only folder: exit code 2 and a sentence"
    with _small_disk(lab.root / "disk") as folder:
        if folder is None:
            return len(places), f"{told}; full disk: not tried, mounting is not allowed"
        kept = [_full(lab, folder, engine) for engine in engines]
    return len(places) + len(kept), f"{told}; disk full after {' and '.join(kept)}: exit code 3, then equal"


def one_sentence(text: str) -> bool:
    """Whether a command printed one sentence and nothing else."""
    return text.startswith("mutiny: ") and text.count("\n") == 0


def _full(lab: Lab, folder: Path, engine: str) -> str:
    campaign = lab.campaign()
    campaign.store = folder / f"{engine}.mutiny"
    run = campaign.begin(engine)
    wait_for(lambda: len(results(campaign.store)) >= lab.jobs // 2 or not run.alive, 300, 0.005)
    filler = folder / "filler"
    _fill(filler)
    code, text = run.wait()
    kept = len(results(campaign.store))
    check(0 < kept < lab.jobs, f"{kept} of {lab.jobs} jobs were done when the disk was full")
    check(code == 3 and one_sentence(text), f"full disk: exit code {code}: {text[-400:]}")
    check("mutiny resume" in text, f"full disk: nothing about how to go on: {text}")
    code, text = campaign.resume(engine).wait()
    check(code in (2, 3) and one_sentence(text), f"still full: exit code {code}: {text[-400:]}")
    before = results(campaign.store)
    filler.unlink()
    campaign.check_kept(before)
    campaign.resume(engine).succeed()
    campaign.check_equal(lab.undisturbed())
    campaign.check_tidy()
    return f"{kept} jobs ({engine})"


def _fill(filler: Path) -> None:
    with filler.open("wb", buffering=0) as file:
        for size in (1 << 16, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


def _read_only(lab: Lab, what: str) -> None:
    campaign = lab.campaign()
    campaign.store = campaign.folder / "inner" / "a.mutiny"
    campaign.store.parent.mkdir()
    half_done(lab, campaign)
    place = campaign.store if what == "file" else campaign.store.parent
    campaign.store.chmod(0o444)
    place.chmod(0o444 if what == "file" else 0o555)
    code, text = campaign.resume(preexec_fn=_as_anybody).wait()
    check(code == 2 and one_sentence(text), f"read-only {what}: exit code {code}: {text[-400:]}")
    check("can be" in text, f"read-only {what}: {text}")
    place.chmod(0o755)


def half_done(lab: Lab, campaign: Campaign) -> dict[str, str]:
    """Kills a campaign in the middle and merges its log; returns the stored results."""
    from mutiny.campaigns.stores.sqlite import SqliteStore

    lab.undisturbed()
    run = campaign.begin("processes")
    wait_for(lambda: len(results(campaign.store)) >= lab.jobs // 2 or not run.alive, 300, 0.005)
    check(run.kill(), "the run ended before it could be killed")
    SqliteStore(campaign.store).close()
    return results(campaign.store)


def _as_anybody() -> None:
    """Drops the right of root to ignore file permissions."""
    if os.geteuid() == 0:
        system = ctypes.CDLL(None)
        system.prctl(DROP, DAC_OVERRIDE, 0, 0, 0)
        system.prctl(DROP, DAC_READ_SEARCH, 0, 0, 0)


@contextmanager
def _small_disk(folder: Path) -> Iterator[Path | None]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={ROOM}", "tmpfs", str(folder)]
    if not shutil.which("mount") or subprocess.run(mount, capture_output=True, check=False).returncode:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
