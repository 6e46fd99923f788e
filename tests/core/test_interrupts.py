"""Signals, in a process of their own: the first asks, the second raises, later ones find nothing to break."""

import subprocess
import sys
from textwrap import dedent

import pytest

PROGRAM = """
    import os, signal
    from mutiny.core.interrupts import interruptible, stop_requested

    def send(number):
        os.kill(os.getpid(), number)  # to this process, which handles it before the next line

    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM)
    told = []
    try:
        with interruptible(lambda: told.append(1)):
            for number in {signals}:
                send(number)
            print("asked" if stop_requested() else "not asked", len(told))
    except KeyboardInterrupt:
        print("raised", len(told))
    {late}
    same = before == (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM))
    print("as before" if same else "deaf", stop_requested())
"""


@pytest.mark.parametrize(
    ("signals", "late", "said"),
    [
        ("()", "pass", ["not asked 0", "as before False"]),
        ("(signal.SIGINT,)", "pass", ["asked 1", "deaf False"]),
        ("(signal.SIGTERM,)", "send(signal.SIGINT); send(signal.SIGTERM)", ["asked 1", "deaf False"]),
        ("(signal.SIGINT, signal.SIGTERM)", "send(signal.SIGINT)", ["raised 1", "deaf False"]),
    ],
    ids=["none", "one", "late ones", "two and a late one"],
)
def test_signals(signals, late, said):
    program = dedent(PROGRAM).format(signals=signals, late=late)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout.splitlines()) == (0, said), done.stderr


def test_other_threads_change_nothing():
    import signal
    import threading

    from mutiny.core.interrupts import interruptible

    before, seen = signal.getsignal(signal.SIGINT), []

    def work():
        with interruptible(lambda: None):
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [before]
