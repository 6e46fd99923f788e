"""(i) One campaign on all engines, and killed and resumed on each of them in turn: one hash."""

from __future__ import annotations

import importlib.util

from torture.lab import ENGINES, Lab, digest
from torture.watching import check, note, results, wait_for


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    names = [name for name in ENGINES if name != "ray" or importlib.util.find_spec("ray")]
    hashes = {name: digest(lab.finished(0, name)) for name in names}
    campaign = lab.campaign()
    for place, name in enumerate(names):
        run = campaign.go_on(name)
        share = lab.jobs * (place + 1) // (len(names) + 1)
        wait_for(lambda share=share, run=run: len(results(campaign.store)) >= share or not run.alive, 300, 0.01)
        run.kill()
    campaign.go_on("processes").succeed()
    hashes["killed on each, then finished"] = digest(campaign.answer())
    campaign.check_tidy()
    for name, value in hashes.items():
        note(f"    {value}  {name}")
    check(len(set(hashes.values())) == 1, f"the results differ: {hashes}")
    return len(hashes), f"one hash, {hashes['serial']}: {', '.join(hashes)}"
