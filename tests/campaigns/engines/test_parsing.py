"""Engines by name."""

import pytest

from mutiny.campaigns.engines.base import Engine, Intake, reason_of
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.engines.ray import Ray
from mutiny.campaigns.engines.serial import Serial
from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput
from mutiny.testing.engines import check_engine


def test_names_and_what_follows_from_the_other_options():
    assert isinstance(as_engine("serial"), Serial)
    assert isinstance(as_engine(None), Serial)
    assert isinstance(as_engine(None, workers=1), Serial)
    assert isinstance(as_engine("serial", workers=1), Serial)
    assert isinstance(as_engine(None, workers=3), Processes)
    assert as_engine("processes", workers=3).size == 3
    assert as_engine("processes").size >= 1
    assert isinstance(as_engine("ray"), Ray)
    assert isinstance(as_engine(None, address="10.0.0.7:6379"), Ray)
    ray = as_engine("ray", workers=4, address="10.0.0.7:6379")
    assert (ray.address, ray.workers) == ("10.0.0.7:6379", 4)
    own = Processes(2)
    assert as_engine(own) is own


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("threads",), "engine='threads': expected one of serial, processes, ray"),
        (("serial", 2), "workers=2: expected 1 with the engine serial. Use the engine processes."),
        (("processes", 0), "workers=0: expected a whole number of at least 1"),
        (("processes", 10**20), f"workers={10**20}: expected a whole number of at most 100,000"),
        (("processes", 2.5), "workers=2.5: expected a whole number of at least 1"),
        ((None, "2"), "workers='2': expected a whole number of at least 1"),
        (("ray", True), "workers=True: expected a whole number of at least 1"),
        (("processes", 2, "10.0.0.7:6379"), "address='10.0.0.7:6379': expected nothing with the engine processes"),
        ((Serial(), 2), r"engine=Serial\(\): expected a name where workers or address are given"),
    ],
)
def test_what_does_not_fit_is_refused(arguments, words):
    with pytest.raises(BadInput, match=words):
        as_engine(*arguments)


def test_serial_keeps_the_contract():
    check_engine(Serial, workers=False)


class Forgetful(Serial):
    """An engine that wrongly loses every tenth job."""

    def run(self, work, jobs):
        for number, result in enumerate(super().run(work, jobs)):
            if number % 10 != 9:
                yield result


class Greedy(Serial):
    """An engine that wrongly takes all jobs before it runs the first."""

    def run(self, work, jobs):
        jobs = [job for job, _ in zip(jobs, range(500), strict=False) if job]
        yield from super().run(work, jobs)


class Impatient(Engine):
    """An engine that wrongly ends at ``None`` while a job is running."""

    def run(self, work, jobs):
        held = []
        for job in jobs:
            if job is None:
                break
            held.append(job)
        yield from Serial().run(work, held)


@pytest.mark.parametrize(
    ("engine", "words"),
    [(Forgetful, "50 jobs gave 45 results"), (Greedy, "a chain of jobs|holds"), (Impatient, "a chain of jobs gave")],
)
def test_the_contract_bites(engine, words):
    with pytest.raises(AssertionError, match=words):
        check_engine(engine, workers=False)


def test_intake_takes_no_more_than_there_is_room_for():
    taken = []

    def jobs():
        for number in range(10):
            taken.append(number)
            yield Job("a", (number,))

    intake = Intake(jobs())
    assert [job.arguments[0] for job in intake.take(3)] == taken == [0, 1, 2]
    assert not list(intake.take(0))
    assert taken == [0, 1, 2]
    assert len(list(intake.take(100))) == 7
    assert not list(intake.take(5))


def test_reasons_are_one_line():
    with pytest.raises(ValueError, match="first") as caught:
        raise ValueError("first\nsecond")
    assert reason_of(caught.value).startswith("ValueError: first (test_parsing.py:")
    assert reason_of(KeyError()) == "KeyError"
