"""Contract suite for stores: checks everything that campaigns rely on.

>>> from mutiny.campaigns.stores.memory import MemoryStore
>>> check_store(MemoryStore, reopen=lambda store: store)
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.stores.base import Campaign, CampaignTally, Failed, Kept, Store
from mutiny.core.errors import BadInput
from mutiny.core.records import KillBits, KillEvidence, MutantRecord, Verdict

Make = Callable[[], Store]
Reopen = Callable[[Store], Store]

ONE = Campaign("c1", "assess", "digits", {"seed": 0}, {"mutiny": "1"}, {"store": "a"}, "on Monday")
TWO = Campaign("c0", "select", "digits")


def check_store(make: Make, reopen: Reopen, sequences: int = 20) -> None:
    """Raises `AssertionError`, with a message, if a store violates the contract.

    Args:
        make: Function that returns a new, empty store.
        reopen: Function that closes a store and opens it again, as another process would.
        sequences: Number of random sequences of calls that are compared with a simple model.
    """
    checks = check_campaigns, check_values, check_scratch, check_afresh, check_failures, check_sharing, check_drop
    for check in checks:
        check(make, reopen)
    for seed in range(sequences):
        check_sequence(make, reopen, seed)


def check_campaigns(make: Make, reopen: Reopen) -> None:
    """Campaigns keep their order and fields; opening one again changes only what `Store.open` names."""
    store = make()
    assert store.campaigns() == [], "a new store has campaigns"
    store.open(ONE, most=5)
    store.open(TWO)
    store = reopen(store)
    assert store.campaigns() == [ONE, TWO], "campaigns are not what was opened, the last at the end"
    assert (store.tally("c1").most, store.tally("c0").most) == (5, None), "most is not what was given"
    store.begin("c1", Job("probe", [1]))
    changed = replace(ONE, command=None, settings={"seed": 1}, network="n", refused="no", proof="p")
    store.open(replace(changed, created="on Tuesday"), most=7)
    store = reopen(store)
    assert store.campaigns() == [TWO, changed], "a second opening changed something else, too"
    tally = store.tally("c1")
    assert (tally.most, tally.attempts) == (7, 1), "a second opening lost what was begun, or most"
    assert store.outcome("c1") is None, "an unfinished campaign has an outcome"
    assert store.outcome("nosuch") is None, "an unknown campaign has an outcome"
    store.finish("c1", {"score": 0.5})
    store.finish("c0", None)
    store = reopen(store)
    assert store.outcome("c1") == {"score": 0.5}, "the outcome is not what was finished with"
    assert store.tally("c1").finished, "a finished campaign does not say so"
    assert store.tally("c0").finished, "a campaign that finished with None does not say so"
    job = Job("probe")
    for act in (
        lambda: store.begin("nosuch", job),
        lambda: store.want("nosuch", [job]),
        lambda: store.save("nosuch", JobResult(job)),
        lambda: store.finish("nosuch", 1),
        lambda: store.tally("nosuch"),
        lambda: store.drop("nosuch"),
    ):
        try:
            act()
        except BadInput:
            continue
        raise AssertionError("a campaign that was never opened is not refused")
    assert store.load(job) is None, "a refused result was kept"
    store.close()


def check_values(make: Make, reopen: Reopen) -> None:
    """Loaded values equal saved ones and have the same types."""
    bits = np.packbits(np.ones((2, 3, 16), bool), axis=-1)
    values: list[Any] = [
        None,
        False,
        3,
        1 << 200,
        0.1,
        float("inf"),
        "é\n",
        b"\x00",
        [1, [2]],
        (1, (2,)),
        {"a": {1: "b"}},
        {(1, 2): {3}, None: frozenset({4})},
        np.float32(0.5),
        np.arange(6.0).reshape(2, 3).T,
        MutantRecord("WI", 0.25, "test", Verdict.KILLED, metrics=((0.5, 0.25),)),
        KillEvidence(True, 0.01, float("inf")),
        KillBits(bits[0], bits, 16),
    ]
    store = make()
    store.open(ONE)
    jobs = [Job("value", [i]) for i in range(len(values))]
    for job, value in zip(jobs, values, strict=True):
        store.save("c1", JobResult(job, value, seconds=0.5))
    store = reopen(store)
    for job, value in zip(jobs, values, strict=True):
        kept = store.load(job)
        assert kept is not None, f"{value!r} is gone"
        assert type(kept.value) is type(value), f"{value!r} became a {type(kept.value).__name__}"
        assert repr(kept.value) == repr(value), f"{value!r} became {kept.value!r}"
        assert kept.scratch is None, f"{value!r} has scratch"
    assert store.tally("c1").seconds == {"value": 0.5 * len(values)}, "seconds do not add up"
    store.save("c1", JobResult(jobs[0], "second"))
    assert store.load(jobs[0]) == Kept("second"), "a second value does not replace the first"
    assert store.load(Job("value", [0], basis="other")) is None, "a job with another basis has the same result"
    store.close()


def check_scratch(make: Make, reopen: Reopen) -> None:
    """Scratch is kept until it is dropped; the value stays."""
    store = make()
    store.open(ONE)
    first, second = Job("probe", [1]), Job("probe", [2])
    store.save("c1", JobResult(first, WithScratch(1, {"rows": [1.5]})))
    store.save("c1", JobResult(second, WithScratch(2, "notes")))
    store = reopen(store)
    assert store.load(first) == Kept(1, {"rows": [1.5]}), "value or scratch is not what was saved"
    store.forget([first, Job("probe", ["never seen"])])
    store = reopen(store)
    gone = Kept(1, forgotten=True)
    assert (store.load(first), store.load(second)) == (gone, Kept(2, "notes")), "forget dropped more or less than asked"
    store.save("c1", JobResult(first, WithScratch(1, "again")))
    assert store.load(first) == Kept(1, "again"), "forgotten scratch cannot be saved again"
    store.save("c1", JobResult(first, WithScratch(1, None)))
    assert store.load(first) == gone, "a result without its scratch does not stay one"
    store.save("c1", JobResult(first, 1))
    store.forget([first])
    assert store.load(first) == Kept(1), "scratch outlived its result"
    store.close()


def check_afresh(make: Make, reopen: Reopen) -> None:
    """A job that is started with ``afresh`` has no value until it has the new one."""
    store = make()
    store.open(ONE)
    job = Job("probe", [1], name="the first")
    store.save("c1", JobResult(job, WithScratch(1, "notes"), seconds=2.0))
    store.begin("c1", replace(job, afresh=True))
    store = reopen(store)
    tally = store.tally("c1")
    assert store.load(job) is None, "a job that is run afresh still has its old value"
    assert (tally.done, tally.waiting, tally.begun) == ({}, {"probe": 1}, ("the first",)), (
        "it is not reported as started"
    )
    store.save("c1", JobResult(job, WithScratch(1, "notes"), seconds=3.0))
    assert store.load(job) == Kept(1, "notes"), "the new result is not kept"
    assert store.tally("c1").seconds == {"probe": 3.0}, "seconds are not those of the new result"
    store.close()


def check_failures(make: Make, reopen: Reopen) -> None:
    """A failure is reported until the next attempt, and never replaces a value."""
    store = make()
    store.open(ONE)
    job, other = Job("probe", [1], name="the first"), Job("probe", [2])
    store.begin("c1", job)
    store.save("c1", JobResult(job, failure="out of luck"))
    store.want("c1", [other])
    store = reopen(store)
    tally = store.tally("c1")
    assert tally.failed == (Failed("the first", "out of luck"),), "the failure is not reported"
    assert (tally.waiting, tally.begun, tally.done) == ({"probe": 1}, (), {}), "a failed job waits, runs or is done"
    assert store.load(job) is None, "a failed job has a value"
    store.begin("c1", job)
    tally = store.tally("c1")
    assert (tally.failed, tally.begun, tally.attempts) == ((), ("the first",), 2), "a second attempt is not reported"
    store.save("c1", JobResult(job, 5))
    store.begin("c1", job)
    store.save("c1", JobResult(job, failure="late"))
    tally = store.tally("c1")
    assert store.load(job) == Kept(5), "a failure replaced a value"
    assert (tally.failed, tally.done) == ((), {"probe": 1}), "a failure counts although there is a value"
    store.close()


def check_sharing(make: Make, reopen: Reopen) -> None:
    """A value belongs to its job: a second campaign that asks for the same job finds it done."""
    store = make()
    store.open(ONE)
    store.open(TWO)
    shared, own = Job("probe", [1]), Job("clean", [2])
    store.begin("c1", shared)
    store.save("c1", JobResult(shared, 1, seconds=2.0))
    store.want("c0", [shared, own])
    store = reopen(store)
    first, second = store.tally("c1"), store.tally("c0")
    assert (first.done, first.waiting) == ({"probe": 1}, {}), "jobs of another campaign count"
    assert (second.done, second.waiting) == ({"probe": 1}, {"clean": 1}), "a shared result is not found done"
    assert (first.attempts, second.attempts) == (1, 0), "attempts of another campaign count"
    store.close()


def check_drop(make: Make, reopen: Reopen) -> None:
    """A dropped campaign is gone, with the jobs that nobody else wants; values and other campaigns stay."""
    store = make()
    store.open(ONE)
    store.open(TWO)
    done, failed, shared = Job("probe", [1]), Job("probe", [2]), Job("probe", [3])
    store.save("c0", JobResult(done, 1))
    store.save("c0", JobResult(failed, failure="refused"))
    store.save("c1", JobResult(shared, failure="out of luck"))
    store.want("c0", [shared])
    store.finish("c0", "a result")
    before = store.tally("c1")
    store.drop("c0")
    store = reopen(store)
    assert store.campaigns() == [ONE], "a dropped campaign is still there, or another one is gone"
    assert store.tally("c1") == before, "jobs of another campaign were dropped"
    assert store.load(done) == Kept(1), "a value was dropped"
    store.open(TWO)
    assert store.outcome("c0") is None, "a dropped campaign has a result"
    assert (store.tally("c0").failed, store.tally("c0").waiting) == ((), {}), "a dropped campaign has jobs"
    store.want("c1", [failed])
    assert store.tally("c1").failed == before.failed, "a dropped failure is still there"
    store.close()


def check_sequence(make: Make, reopen: Reopen, seed: int) -> None:
    """After random calls, tallies and values agree with those derived from the list of calls."""
    draw = random.Random(seed)
    store, ids = make(), ["c1", "c0"]
    store.open(ONE)
    store.open(TWO)
    jobs = [Job(draw.choice(["probe", "clean"]), (i,), name=f"job {i}") for i in range(8)]
    events: list[tuple[str, str, Job, Any]] = []
    for step in range(40):
        campaign, job = draw.choice(ids), draw.choice(jobs)
        what = draw.choice(["want", "begin", "value", "scratch", "failure", "forget", "reopen"])
        events.append((what, campaign, job, step))
        if what == "want":
            store.want(campaign, [job])
        elif what == "begin":
            store.begin(campaign, job)
        elif what == "value":
            store.save(campaign, JobResult(job, step, seconds=float(step)))
        elif what == "scratch":
            store.save(campaign, JobResult(job, WithScratch(step, [step]), seconds=float(step)))
        elif what == "failure":
            store.save(campaign, JobResult(job, failure=f"reason {step}"))
        elif what == "forget":
            store.forget([job])
        else:
            store = reopen(store)
    for job in jobs:
        assert store.load(job) == _expected_value(events, job), f"{job} is wrong after the calls of seed {seed}"
    for campaign in ids:
        tally, expected = store.tally(campaign), _expected_tally(events, campaign)
        assert tally == expected, f"after the calls of seed {seed}: {tally}, not {expected}"
    store.close()


def _expected_value(events: list[tuple[str, str, Job, Any]], job: Job) -> Kept | None:
    mine = [(what, step) for what, _, other, step in events if other == job]
    values = [(what, step) for what, step in mine if what in ("value", "scratch")]
    if not values:
        return None
    what, last = values[-1]
    forgotten = any(what == "forget" and step > last for what, step in mine)
    return Kept(last, [last] if what == "scratch" and not forgotten else None, what == "scratch" and forgotten)


def _expected_tally(events: list[tuple[str, str, Job, Any]], campaign: str) -> CampaignTally:
    calls = [event for event in events if event[0] not in ("forget", "reopen")]
    order = list(dict.fromkeys(job for _, _, job, _ in calls))
    mine = [job for job in order if any(c == campaign and t == job for _, c, t, _ in calls)]
    done = [(job, kept) for job in mine if (kept := _expected_value(events, job)) is not None]
    rest = [job for job in mine if job not in [other for other, _ in done]]
    last = {
        job: [(what, step) for what, _, other, step in calls if other == job and what in ("begin", "failure")][-1:]
        for job in rest
    }
    failed = [
        Failed(str(job), f"reason {last[job][0][1]}") for job in rest if last[job][:1] and last[job][0][0] == "failure"
    ]
    waiting = [job for job in rest if not (last[job] and last[job][0][0] == "failure")]
    seconds: Counter[str] = Counter()
    for job, kept in done:
        seconds[job.kind] += kept.value
    return CampaignTally(
        done=dict(Counter(job.kind for job, _ in done)),
        seconds={kind: float(total) for kind, total in seconds.items()},
        waiting=dict(Counter(job.kind for job in waiting)),
        begun=tuple(str(t) for t in waiting if any(w == "begin" and c == campaign and o == t for w, c, o, _ in calls)),
        failed=tuple(failed),
        attempts=sum(what == "begin" and c == campaign for what, c, _, _ in calls),
        most=None,
        finished=False,
    )
