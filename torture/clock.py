"""(g) The clock runs backwards, between runs and during them."""

from __future__ import annotations

import os
import random
import time

from torture.lab import Lab
from torture.watching import check, results, wait_for

BACKWARDS = '''
"""A wall clock that jumps back by hours now and then; the clocks that only measure are left alone."""

import os, random, time

_real, _draw = time.time, random.Random(os.getpid())
_late = float(os.environ["TORTURE_LATE"])


def _now():
    global _late
    if _draw.random() < 0.2:
        _late += _draw.uniform(0, 7200)
    return _real() - _late


def _filled(function):
    return lambda seconds=None: function(_now() if seconds is None else seconds)


_strftime = time.strftime
time.time, time.time_ns = _now, lambda: int(_now() * 1e9)
time.localtime, time.gmtime, time.ctime = map(_filled, (time.localtime, time.gmtime, time.ctime))
time.strftime = lambda text, moment=None: _strftime(text, time.localtime() if moment is None else moment)
'''


def run(lab: Lab) -> tuple[int, str]:
    """Number of repetitions and a summary; raises `Lost` if something does not hold."""
    draw, count = random.Random(lab.seed), 0
    for engine in ("serial",) if lab.quick else ("serial", "processes"):
        campaign = lab.campaign()
        patch = campaign.folder / "cache" / "clock"
        patch.mkdir(parents=True)
        (patch / "sitecustomize.py").write_text(BACKWARDS)
        paths = [str(patch), *filter(None, [os.environ.get("PYTHONPATH")])]
        campaign.environment |= {"PYTHONPATH": os.pathsep.join(paths), "TORTURE_LATE": "0"}
        answer = lab.undisturbed()
        for part in (1, 2):
            run = campaign.go_on(engine)
            share = lab.jobs * part // 3
            wait_for(lambda c=campaign, r=run, s=share: len(results(c.store)) >= s or not r.alive, 300, 0.01)
            count += run.kill()
            campaign.environment["TORTURE_LATE"] = str(draw.uniform(0.5, 1000) * 86_400)
            ahead = time.time() + 86_400
            os.utime(campaign.store, (ahead, ahead))
            check("interrupted" in campaign.status(), "status does not say that the run was interrupted")
        run = campaign.go_on(engine)
        run.succeed()
        check("finished" in campaign.status(), "status does not say that the run is finished")
        campaign.check_equal(answer)
        campaign.check_tidy()
    return count, "jumps by hours within runs and by days between them: equal, status works"
