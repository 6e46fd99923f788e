"""An engine that counts and is interrupted, for all verbs."""

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
