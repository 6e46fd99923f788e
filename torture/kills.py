"""(a) The whole run is killed at random moments, and resumed."""

from __future__ import annotations

import random
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import cycle

from torture.lab import Campaign, Lab, Run
from torture.watching import campaigns, check, no_orphans, note, results

FLIGHT = {"serial": 1, "processes": 4, "ray": 256}
"""Largest number of jobs that one kill may lose: two per worker, on Ray up to 64 short ones per call."""
ALONE = {"serial": 60.0, "processes": 60.0, "ray": 180.0}
"""Seconds until all processes are gone; Ray's agents may search for their lost head for more than a minute."""
ORDER = ["serial", "processes", "serial", "processes", "serial", "processes", "serial", "processes", "ray"]
STUCK = 3
"""Consecutive kills without progress after which a campaign may finish undisturbed."""


@dataclass
class Count:
    """Counts of one lane."""

    finished: int = 0
    lost: int = 0
    moments: Counter[str] = field(default_factory=Counter)


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    lanes = 1 if lab.quick else lab.lanes
    for seed in range(lanes):
        lab.undisturbed(seed)
    shares = [(lab.kills + lane) // lanes for lane in range(lanes)]
    with ThreadPoolExecutor(lanes) as pool:
        counts = list(pool.map(lambda lane: _lane(lab, lane, shares[lane]), range(lanes)))
    moments = sum((count.moments for count in counts), Counter[str]())
    finished, lost = sum(count.finished for count in counts), sum(count.lost for count in counts)
    told = f"{finished} campaigns equal, nothing kept was lost or done again, {lost} jobs in flight were done again"
    return moments.total(), f"{told} ({', '.join(f'{number} {kind}' for kind, number in sorted(moments.items()))})"


def _lane(lab: Lab, lane: int, kills: int) -> Count:
    """Kills and resumes campaigns so many times in total; the last campaign then finishes."""
    draw, count = random.Random(f"{lab.seed} {lane}"), Count()
    engines, kinds = cycle(ORDER[lane:] + ORDER[:lane]), cycle(["time", "write", "time", "early", "write"])
    campaign, kept, stuck = None, 0, 0
    while count.moments.total() < kills or campaign is not None:
        campaign = campaign or lab.campaign(lane)
        engine, before, finished = next(engines), campaign.standing(), campaigns(campaign.store)[1]
        run = campaign.go_on(engine)
        stuck = stuck + 1 if len(before[1]) == kept else 0
        kept = len(before[1])
        kind = next(kinds) if stuck < STUCK and count.moments.total() < kills else "never"
        acknowledged = _until(kind, run, campaign, lab, draw)
        if acknowledged is not None and run.kill(group=draw.random() < 0.7):
            count.moments[kind] += 1
            no_orphans(campaign.mark, ALONE[engine])
            campaign.check_kept(acknowledged)
            lost = campaign.check_once(before)
            check(len(lost) <= FLIGHT[engine], f"{len(lost)} jobs were under way at once on {engine}")
            count.lost += len(lost)
            told = f"{len(results(campaign.store))} kept, {len(lost)} in flight"
            note(f"    kill {count.moments.total()} of lane {lane}: {engine}, {kind}: {told}")
            continue
        run.succeed()
        if finished:  # killed after its last result: a report leaves the log, the next command that writes merges it
            campaign.begin(engine).succeed()
        campaign.check_equal(lab.undisturbed(lane))
        campaign.check_once(before)
        campaign.check_tidy()
        count.finished += 1
        campaign, stuck = None, 0
    return count


def _until(kind: str, run: Run, campaign: Campaign, lab: Lab, draw: random.Random) -> dict[str, str] | None:
    """Waits for the moment of a kill; returns the stored results, or ``None`` if the run ended before."""
    if kind == "write":
        left = max(1, 3 * (lab.jobs - len(results(campaign.store))))
        _changes(draw.randint(1, left), run, campaign)
    else:
        most = {"time": lab.seconds, "early": 0.3 * lab.seconds, "never": float("inf")}[kind]
        end = time.monotonic() + (draw.uniform(0, most) if kind != "never" else most)
        while run.alive and time.monotonic() < end:
            time.sleep(0.002)
    return results(campaign.store) if run.alive else None


def _changes(count: int, run: Run, campaign: Campaign) -> None:
    """Waits until the log of the store was written ``count`` times."""
    log, last = campaign.store.with_name("a.mutiny-wal"), 0
    while run.alive and count > 0:
        try:
            now = log.stat().st_mtime_ns
        except OSError:
            now = last
        count -= now != last
        last = now
        time.sleep(0.0005)
