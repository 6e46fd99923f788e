"""Engines for tests of all verbs: one counts and is interrupted, one ends jobs in another order."""

from mutiny.campaigns.engines.base import attempt
from mutiny.campaigns.engines.serial import Serial


class Counting(Serial):
    """Counts jobs, and is interrupted after a given number of them."""

    def __init__(self, most=10**9):
        self.done, self.most = [], most

    def run(self, work, jobs):
        def counted(job):
            if len(self.done) >= self.most:
                raise KeyboardInterrupt
            self.done.append(str(job))
            return work(job)

        yield from super().run(counted, jobs)


class LastFirst(Serial):
    """Takes all jobs that it can get, and does the last one first."""

    def run(self, work, jobs):
        waiting = []
        for job in jobs:
            if job is not None:
                waiting.append(job)
            elif waiting:
                yield attempt(work, waiting.pop())
            else:
                return
        while waiting:
            yield attempt(work, waiting.pop())


def interrupted(call, step):
    """Repeats a call with an interrupt after every ``step`` jobs until it ends; returns all jobs and the result."""
    done = []
    while True:
        engine = Counting(step)
        try:
            result = call(engine=engine)
        except KeyboardInterrupt:
            assert len(engine.done) == step
            done += engine.done
            continue
        return done + engine.done, result


def plain(result):
    """The result without its times."""
    return {name: value for name, value in result.to_json().items() if name != "timing"}
