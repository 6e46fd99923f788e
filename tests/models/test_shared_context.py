"""Settings of the process are as before, whichever call ends first."""

import os
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress

import pytest
import torch

from mutiny.models.forward import steady
from mutiny.models.shared_context import torch_threads
from mutiny.subjects.data.seeded import seeded

fast_path = torch.backends.mha.get_fastpath_enabled


class Elsewhere:
    """Runs steps in another thread, one after the other."""

    def __enter__(self):
        self.pool = ThreadPoolExecutor(1)
        self.stack = ExitStack()
        return self

    def __exit__(self, *error):
        self.pool.shutdown()

    def enter(self, context):
        return self.pool.submit(self.stack.enter_context, context).result(30)

    def leave(self):
        self.pool.submit(self.stack.close).result(30)

    def do(self, function, *arguments):
        return self.pool.submit(function, *arguments).result(30)


def test_fused_attention_stays_off_until_the_last_call_ends():
    assert fast_path()
    with Elsewhere() as other:
        with steady():
            other.enter(steady())
        assert not fast_path()
        with steady():
            other.leave()
            assert not fast_path()
    assert fast_path()


def test_compiled_code_stays_off_until_the_last_call_ends():
    import torch._dynamo

    def stance():
        return torch._dynamo.eval_frame._stance.stance

    with Elsewhere() as other:
        with steady():
            other.enter(steady())
        assert stance() == "force_eager"
        other.leave()
    assert stance() == "default"


def test_numbers_of_threads_are_as_before_in_all_threads_and_in_new_ones():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        with Elsewhere() as other:
            with torch_threads.set_to(1):
                other.enter(torch_threads.set_to(2))
                assert other.do(torch.get_num_threads) == 2
                with torch_threads.set_to(4):
                    assert torch.get_num_threads() == 4
                assert torch.get_num_threads() == 1
            assert torch.get_num_threads() == 3
            other.leave()
            assert other.do(torch.get_num_threads) == 3
        with Elsewhere() as new:
            assert new.do(torch.get_num_threads) == 3
    finally:
        torch.set_num_threads(before)


def test_a_number_that_a_thread_has_set_itself_comes_back():
    before = torch.get_num_threads()
    with Elsewhere() as other, torch_threads.set_to(1):
        other.do(torch.set_num_threads, before + 3)
        other.enter(torch_threads.set_to(2))
        other.leave()
        assert other.do(torch.get_num_threads) == before + 3
    torch.set_num_threads(before)


def test_random_numbers_of_two_threads_are_those_of_one():
    def drawn(seed, both=None):
        with seeded(seed):
            first = torch.rand(3).tolist()
            if both is not None:
                with suppress(threading.BrokenBarrierError):
                    both.wait(0.1)  # before, two threads came as far as this
            return first + torch.rand(3).tolist()

    expected, state, both = [drawn(seed) for seed in range(2)], torch.get_rng_state(), threading.Barrier(2)
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(drawn, range(2), [both, both])) == expected
    assert torch.equal(torch.get_rng_state(), state)


FORK = """
import os, threading
import torch
from mutiny.models.forward import steady
ready, leave = threading.Event(), threading.Event()

def hold():
    with steady():
        ready.set()
        leave.wait()

threading.Thread(target=hold).start()
ready.wait()
child = os.fork()
if child == 0:
    with steady():
        assert not torch.backends.mha.get_fastpath_enabled()
    os._exit(int(torch.backends.mha.get_fastpath_enabled()))
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), torch.backends.mha.get_fastpath_enabled())
leave.set()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_of_a_fork_has_the_setting_from_before():
    told = subprocess.run([sys.executable, "-W", "ignore", "-c", FORK], capture_output=True, text=True, timeout=60)
    assert (told.stdout, told.stderr) == ("1 False\n", "")


def test_gradients_in_two_threads():
    """Torch has one switch for the whole process here, which two contexts must not share."""
    from torch import nn

    from mutiny.models import ModelView
    from mutiny.models.read_points import ReadPoints
    from mutiny.models.relevance import explaining

    together = threading.Barrier(2)

    def explained(_):
        model, inputs = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).eval(), torch.ones(3, 2)
        view = ModelView.of(model, inputs)
        with explaining(view, ReadPoints(view, inputs).choose("0"), lambda outputs: outputs[:, 0]) as explain:
            together.wait(30)
            for _ in range(40):
                explain(inputs)
        return True

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(2) as pool:
            assert list(pool.map(explained, range(2))) == [True, True]
    finally:
        sys.setswitchinterval(before)
