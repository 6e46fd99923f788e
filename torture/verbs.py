"""(j) The notice rate and other verbs on all engines, and killed half-way and continued on another: one hash each."""

from __future__ import annotations

import importlib.util

from torture.lab import ENGINES, Campaign, Lab, digest
from torture.watching import attempts, check, note, wait_for

OPTIONS = {
    "assess": "--operators GF,NEB,LA --originals 5",
    "select": "--compare deepgini,dsa,mlsa,kill-rate,random --repeats 3",
    "locate": "--k 3 --validate 9",
    "repair": "--method scale(generations=60)",
    "attack": "--attack pgd(iterations=3) --eps 0.1,0.2,0.3 --mutants 2 --low -9 --high 9 --count 200",
    "strengthen": "--operators WI(ratio=0.3),GF --originals 5 --budget 5",
}
NAMES = {"repair": "spoilt", "strengthen": "pooled"}
"""Subjects other than the default, by verb."""


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    names = [name for name in ENGINES if name != "ray" or importlib.util.find_spec("ray")]
    told = {}
    for place, verb in enumerate(["select"] if lab.quick else OPTIONS):
        hashes, jobs = {}, 0
        for name in names:
            campaign = _new(lab, verb)
            campaign.begin(name).succeed()
            campaign.check_once()
            campaign.check_tidy()
            hashes[name], jobs = digest(campaign.answer()), len(attempts(campaign.store))
        first, second = names[place % len(names)], names[(place + 1) % len(names)]
        hashes[f"killed on {first}, finished on {second}"] = _killed(lab, verb, first, second, jobs)
        for name, value in hashes.items():
            note(f"    {verb}: {value}  {name}")
        check(len(set(hashes.values())) == 1, f"results of {verb} differ: {hashes}")
        told[verb] = len(hashes)
    return sum(told.values()), f"one hash for each verb on all engines, and after a kill: {', '.join(told)}"


def _new(lab: Lab, verb: str) -> Campaign:
    return lab.of(verb, *OPTIONS[verb].split(), name=NAMES.get(verb, "subject"))


def _killed(lab: Lab, verb: str, first: str, second: str, jobs: int) -> str:
    """Kills a campaign when half of its jobs have begun, and finishes it elsewhere."""
    campaign = _new(lab, verb)
    run = campaign.begin(first)
    wait_for(lambda: sum(attempts(campaign.store).values()) >= (jobs + 1) // 2 or not run.alive, 300, 0.002)
    check(run.kill(), f"{verb}: the run ended before it could be killed")
    before = campaign.standing()
    check(len(before[1]) < jobs, f"{verb}: all was done before the kill")
    campaign.begin(second).succeed()
    campaign.check_once(before)
    campaign.check_tidy(180.0 if first == "ray" else 60.0)
    return digest(campaign.answer())
