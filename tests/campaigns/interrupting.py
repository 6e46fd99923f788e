"""An engine that counts and is interrupted, for all verbs."""

from mutiny.campaigns.engines.serial import Serial


class Counting(Serial):
    """Counts jobs, and is interrupted before the one after the last that it may do."""

    def __init__(self, most=10**9):
        self.done, self.most = [], most

    def run(self, work, jobs):
        def counted(job):
            if len(self.done) >= self.most:
                raise KeyboardInterrupt
            self.done.append(str(job))
            return work(job)

        yield from super().run(counted, jobs)


def interrupted(call, step):
    """Calls until it is through, with an interrupt after every ``step`` jobs; all jobs that were done, the result."""
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
    """All that is told but the times."""
    return {name: value for name, value in result.to_json().items() if name != "timing"}
