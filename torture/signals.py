"""(h) Ctrl-C and SIGTERM, once and twice."""

from __future__ import annotations

import os
import signal
import time

from torture.lab import Lab
from torture.watching import check, no_orphans, results, wait_for

EVERY = [
    (signal.SIGINT, 1, "serial"),
    (signal.SIGINT, 2, "processes"),
    (signal.SIGINT, 1, "processes"),
    (signal.SIGINT, 2, "serial"),
    (signal.SIGTERM, 1, "processes"),
    (signal.SIGTERM, 2, "serial"),
    (signal.SIGINT, 1, "ray"),
    (signal.SIGINT, 2, "ray"),
    (signal.SIGTERM, 1, "ray"),
]


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    answer, sent = lab.undisturbed(), 0
    for number, times, engine in EVERY[:1] if lab.quick else EVERY:
        campaign = lab.campaign()
        name, run = f"{number.name} x {times} on {engine}", campaign.begin(engine)
        begun = wait_for(lambda store=campaign.store, run=run: len(results(store)) > 3 or not run.alive, 300, 0.01)
        check(begun and run.alive, f"{name}: the run ended too early")
        for _ in range(times):
            kept = results(campaign.store)
            if number is signal.SIGINT:  # a terminal sends it to all
                os.killpg(run.process.pid, number)
            else:
                os.kill(run.process.pid, number)
            time.sleep(0.05)
        code, text = run.wait(120)
        check(code == 3, f"{name}: exit code {code}: {text[-300:]}")
        last = text.splitlines()[-1]
        check(
            last.startswith("mutiny: interrupted; finished work is kept. Resume with: mutiny resume"), f"{name}: {last}"
        )
        no_orphans(campaign.mark)
        campaign.check_kept(kept)
        left, before = campaign.check_once(), campaign.standing()
        check(times > 1 or not left, f"{name}: {len(left)} jobs were abandoned")
        campaign.resume(engine).succeed()
        campaign.check_equal(answer)
        campaign.check_once(before)
        campaign.check_tidy()
        sent += 1
    return sent, "exit code 3 and how to go on; once: nothing abandoned; twice: nothing kept is lost; resumed, equal"
