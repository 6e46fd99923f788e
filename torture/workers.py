"""(b) Random workers are killed; and a job kills each worker that runs it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from contextlib import suppress

from torture.lab import PATIENCE, Campaign, Lab, Run
from torture.watching import campaigns, check, note, results, rows, wait_for, workers_of


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    draw, wanted = random.Random(lab.seed), 1 if lab.quick else 10
    killed = finished = 0
    while killed < wanted:
        campaign = lab.campaign()
        run = campaign.begin("processes")
        killed += _kill_workers(campaign, run, draw, wanted - killed)
        code, text = run.wait()
        check(code == 0 or "the worker died 3 times" in text, f"exit code {code}: {text[-300:]}")
        while not campaigns(campaign.store)[1]:  # one job was hit three times
            campaign.resume("processes").succeed()
        campaign.check_equal(lab.undisturbed())
        campaign.check_tidy()
        finished += 1
    return killed, f"{finished} campaigns equal; {_fatal_jobs(lab)}"


def _kill_workers(campaign: Campaign, run: Run, draw: random.Random, most: int) -> int:
    """Kills a worker now and then until the run ends; returns the number of kills."""
    killed = kept = 0
    while run.alive and killed < most:
        wait_for(lambda kept=kept: len(results(campaign.store)) > kept + 1 or not run.alive, PATIENCE)
        kept, end = len(results(campaign.store)), time.monotonic() + draw.uniform(0.0, 1.0)
        while run.alive and time.monotonic() < end:
            time.sleep(0.01)
        there = workers_of(run.process.pid)
        if there and run.alive:
            with suppress(ProcessLookupError):
                os.kill(draw.choice(there), signal.SIGKILL)
                killed += 1
                note(f"    kill {killed}: {kept} kept")
    return killed


def _fatal_jobs(lab: Lab) -> str:
    alone, both = lab.campaign(name="fatal", operators="WI"), lab.campaign(name="fatal", operators="WI,HNE")
    alone.begin("serial").succeed()
    shutil.copytree(alone.folder / "cache", both.folder / "cache")
    both.begin("processes").succeed()
    reasons = [reason for (reason,) in rows(both.store, "SELECT reason FROM failures")]
    check(bool(reasons), "a job that kills its workers is not recorded as failed")
    check(all("the worker died 3 times: killed by signal 9" in reason for reason in reasons), f"told: {reasons}")
    told = {record["code"]: record for record in both.answer()["operators"]}
    check(told["HNE"]["status"] == "failed", f"the operator is {told['HNE']['status']}")
    check([told["WI"]] == alone.answer()["operators"], "the other operator has another result")
    check("the worker died 3 times" in " ".join(both.status().split()), "status does not tell why")
    both.check_tidy()
    return f"{len(reasons)} fatal jobs failed with their reason, the others finished"
