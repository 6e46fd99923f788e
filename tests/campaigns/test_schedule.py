"""Plans: coroutines that ask for jobs."""

import random
from dataclasses import replace

import pytest

from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.schedule import Schedule, ask, is_known, queued, together
from mutiny.core.errors import BadInput, JobFailed


async def double(number):
    return await ask(Job("double", number))


async def binary(secret, low=0, high=1024):
    """A bisection: which numbers it asks about depends on the answers."""
    while high - low > 1:
        middle = (low + high) // 2
        if await ask(Job("too large", (secret, middle))):
            high = middle
        else:
            low = middle
    return low


def answer(job):
    return 2 * job.arguments if job.kind == "double" else job.arguments[1] > job.arguments[0]


def drive(schedule, width=1, seed=0, work=answer):
    """Runs a schedule like an engine with ``width`` running jobs and results in random order; returns the jobs."""
    rng, under_way, given, asked = random.Random(seed), [], [], schedule.jobs()
    while True:
        while len(under_way) < width:
            job = next(asked, None)
            if job is None:
                break
            under_way.append(job)
            given.append(job)
        if not under_way:
            return given
        job = under_way.pop(rng.randrange(len(under_way)))
        schedule.give(JobResult(job, work(job)))


@pytest.mark.parametrize("width", [1, 2, 7, 100])
def test_plans_end_with_their_results_in_any_order_of_tasks(width):
    secrets = [5, 700, 0, 1023, 512]
    for seed in range(5):
        schedule = Schedule([binary(secret) for secret in secrets])
        given = drive(schedule, width, seed)
        assert schedule.results == secrets
        assert schedule.left == 0
        assert len(given) == len({job.id for job in given}) == 10 * len(secrets)


async def in_a_queue(plans):
    return await queued(plans)


@pytest.mark.parametrize("at_the_top", [True, False])
def test_plans_begin_only_when_there_is_room(at_the_top):
    begun = []

    async def plan(number):
        begun.append(number)
        return await double(number)

    plans = [plan(number) for number in range(100)]
    schedule = Schedule(plans if at_the_top else [in_a_queue(plans)])
    jobs = schedule.jobs()
    assert begun == []
    first = [next(jobs) for _ in range(3)]
    assert begun == [0, 1, 2]
    schedule.give(JobResult(first[1], 2))
    assert begun == [0, 1, 2]
    schedule.close()


def test_parts_of_a_plan_go_on_together_and_are_nested():
    async def both(secret):
        return sum(await together([binary(secret), nested(secret)]))

    async def nested(secret):
        return sum(await together(double(number) for number in range(secret)))

    async def nothing():
        return await together([])

    schedule = Schedule([both(9), nothing()])
    drive(schedule, 4)
    assert schedule.results == [9 + 2 * sum(range(9)), []]


def test_a_task_that_two_plans_want_is_done_once():
    schedule = Schedule([binary(77), binary(77), double(3), double(3)])
    given = drive(schedule, 3)
    assert schedule.results == [77, 77, 6, 6]
    assert len(given) == 11


def test_what_is_known_is_not_asked_for_and_takes_the_same_path():
    whole = drive(Schedule([binary(300), double(1)]))
    for kept in range(len(whole) + 1):
        known = {job.id: JobResult(job, answer(job)) for job in whole[:kept]}
        schedule = Schedule([binary(300), double(1)], lambda job, known=known: known.get(job.id))
        assert [job.id for job in drive(schedule)] == [job.id for job in whole[kept:]]
        assert schedule.results == [300, 2]


def test_a_plan_can_look_and_have_what_is_known_done_afresh():
    job, other = Job("double", 1), Job("double", 2)

    async def plan():
        seen = [await is_known(job), await is_known(other)]
        return seen, await ask(job), await ask(replace(job, afresh=True))

    schedule = Schedule([plan()], known=lambda wanted: JobResult(wanted, "before") if wanted == job else None)
    assert [(given.arguments, given.afresh) for given in drive(schedule)] == [(1, True)]
    assert schedule.results == [([True, False], "before", 2)]


def test_long_paths_of_known_tasks_do_not_fill_the_stack():
    async def counts():
        return sum([await double(1) for _ in range(50_000)])

    schedule = Schedule([counts()], lambda job: JobResult(job, 2))
    assert drive(schedule) == []
    assert schedule.results == [100_000]


def test_a_failure_is_raised_where_it_is_waited_for():
    async def careful():
        try:
            return await together([double(1), double(2), double(3)])
        except JobFailed as failure:
            return str(failure)

    schedule = Schedule([careful(), double(4)])
    for job in schedule.jobs():
        lost = "it died" if job.arguments in (2, 3) else None
        schedule.give(JobResult(job, None if lost else answer(job), failure=lost))
    assert schedule.results == ["double 2: it died", 8]


def test_what_is_meant_for_the_user_ends_everything_unless_it_is_caught():
    async def caught():
        try:
            await double(1)
        except BadInput:
            return "caught"

    error = BadInput("x", 1, "2")
    schedule = Schedule([caught()])
    (job,) = [job for job in schedule.jobs() if job and not schedule.give(JobResult(job, failure="x", error=error))]
    assert (job.arguments, schedule.results) == (1, ["caught"])
    schedule = Schedule([double(1)])
    job = next(schedule.jobs())
    with pytest.raises(BadInput, match="x=1"):
        schedule.give(JobResult(job, failure="x", error=error))


@pytest.mark.parametrize("at_the_top", [True, False])
def test_scratch_is_reported_when_the_plan_that_left_it_ends(at_the_top):
    events = []

    def work(job):
        events.append(str(job))
        return WithScratch(2, "scratch") if job.kind == "double" else answer(job)

    plans = [double(1), binary(3, 0, 4)]
    schedule = Schedule(
        plans if at_the_top else [in_a_queue(plans)],
        ended=lambda jobs: events.append(["scratch", *map(str, jobs)]),
    )
    drive(schedule, work=work)
    assert [event for event in events if isinstance(event, list)] == [["scratch", "double 1"]]
    assert events.index(["scratch", "double 1"]) == 1  # not only when the second plan has ended


def test_results_of_queued_plans_are_in_their_order_and_an_error_ends_all():
    schedule = Schedule([in_a_queue([binary(secret) for secret in (5, 700, 0)])])
    drive(schedule, 3)
    assert schedule.results == [[5, 700, 0]]
    schedule = Schedule([in_a_queue([])])
    assert [*schedule.jobs()] == []
    assert schedule.results == [[]]
    schedule = Schedule([in_a_queue([double(1), double(2)])])
    job = next(schedule.jobs())
    with pytest.raises(BadInput, match="x=1"):
        schedule.give(JobResult(job, failure="x", error=BadInput("x", 1, "2")))
    schedule.close()


def test_closing_closes_every_plan():
    closed = []

    async def plan(number):
        try:
            await together([double(number), double(-number)])
        finally:
            closed.append(number)

    schedule = Schedule([plan(1), plan(2), plan(3)])
    next(schedule.jobs())
    schedule.close()
    assert closed == [1]
