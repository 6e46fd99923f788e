"""(c) A Ray cluster of two machines loses one of them half-way."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO

from torture.lab import Campaign, Lab
from torture.watching import check, no_orphans, results, wait_for


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    if importlib.util.find_spec("ray") is None:
        return 0, "needs the extra ray"
    answer, campaign = lab.undisturbed(), lab.campaign()
    with _cluster(campaign) as (address, orders, told):
        run = campaign.begin("ray", "--address", address)
        half = wait_for(lambda: len(results(campaign.store)) >= lab.jobs // 2 or not run.alive, 300)
        check(half and run.alive, f"the run did not come half-way: {run.wait(1) if not run.alive else 'it hangs'}")
        orders.write("remove\n")
        orders.flush()
        kept = len(results(campaign.store))
        check(told.readline().strip() == "removed", "the machine was not removed")
        run.succeed()
    campaign.check_equal(answer)
    campaign.check_once()
    campaign.check_tidy()
    return 1, f"equal; the machine left after {kept} of {lab.jobs} jobs, no job started twice"


@contextmanager
def _cluster(campaign: Campaign) -> Iterator[tuple[str, IO[str], IO[str]]]:
    command = [sys.executable, "-m", "torture.cluster"]
    with subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=campaign.environment,
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            address = next((line.split()[1] for line in process.stdout if line.startswith("address ")), None)
            check(address is not None, "the cluster did not start")
            yield str(address), process.stdin, process.stdout
        finally:
            process.stdin.close()
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
    no_orphans(campaign.mark)
