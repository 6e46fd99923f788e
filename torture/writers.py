"""(f) Two processes want to write one store."""

from __future__ import annotations

import os
import signal

from torture.lab import Lab
from torture.watching import check, results, wait_for


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    answer, campaign = lab.undisturbed(), lab.campaign()
    first = campaign.begin("serial")
    begun = wait_for(lambda: len(results(campaign.store)) > 2 or not first.alive, 300)
    check(begun and first.alive, "the first run ended too early")
    os.kill(first.process.pid, signal.SIGSTOP)  # it lives, and does not end meanwhile
    for verb in (campaign.resume, campaign.begin):
        code, text = verb("serial").wait()
        check(code == 2, f"the second writer: exit code {code}: {text[-300:]}")
        check(f"process {first.process.pid})" in text, f"the second writer is not told who writes: {text}")
    check(f"process {first.process.pid})" in " ".join(campaign.status().split()), "status does not tell who writes")
    kept = results(campaign.store)
    check(first.kill(), "the first run ended too early")
    campaign.check_kept(kept)
    campaign.check_once()
    before = campaign.standing()
    campaign.resume("serial").succeed()
    campaign.check_equal(answer)
    campaign.check_once(before)
    campaign.check_tidy()
    return 2, "refused with the writer's process id while it lived; took over after its SIGKILL, equal"
