"""Worker processes: their death, the death of their parent, shared memory."""

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.engines.ray import Ray
from mutiny.campaigns.jobs import Job
from mutiny.core.errors import BadInput
from mutiny.testing.engines import check_engine

LINUX = pytest.mark.skipif(not Path("/proc/self/smaps_rollup").exists(), reason="asks Linux about processes")


@pytest.fixture(scope="module")
def one():
    """One worker, for as many tests as possible, because starting it takes seconds; it ends with the last of them."""
    with Processes(1, retries=1) as engine:
        yield engine
        (last,) = engine.run(lambda _: os.getpid(), [Job("who")])
    assert not gone([last.value])


def values(results):
    return {result.job.arguments[0]: result.value for result in results}


def children():
    """Running worker processes of this process, without zombies."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
            command = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if int(stat[1]) == os.getpid() and stat[0] not in "ZX" and b"mutiny.campaigns.engines.worker_main" in command:
            found.append(int(folder.name))
    return sorted(found)


def gone(processes, seconds=30):
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{p}").exists() for p in processes) and time.monotonic() < end:
        time.sleep(0.05)
    return [p for p in processes if Path(f"/proc/{p}").exists()]


def script(tmp_path, text, *arguments, **options):
    """Runs a user's file as a script."""
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, str(file), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        **options,
    )


def test_keeps_the_contract(two_workers):
    engines = iter([two_workers, Processes(1)])
    check_engine(lambda: next(engines))


@LINUX
def test_a_new_worker_is_without_the_compiler_of_torch_and_stays_between_runs_and_inner_withs():
    """Importing the compiler takes as long as importing the rest of torch."""
    with Processes(1) as engine:
        (first,) = engine.run(lambda _: (os.getpid(), "torch._inductor" in sys.modules), [Job("a")])
        worker, compiler = first.value
        assert not compiler
        big = torch.ones(1000)
        with engine:
            (second,) = engine.run(lambda _: (os.getpid(), float(big.sum())), [Job("a")])
        (third,) = engine.run(lambda _: os.getpid(), [Job("a")])
        assert (second.value, third.value) == ((worker, 1000.0), worker)
        assert worker in children()
    assert not gone([worker])


@LINUX
def test_a_worker_that_died_between_two_runs_is_replaced(one):
    (first,) = one.run(lambda _: os.getpid(), [Job("a")])
    os.kill(first.value, signal.SIGKILL)
    time.sleep(0.2)
    (second,) = one.run(lambda _: os.getpid(), [Job("a")])
    assert second.failure is None
    assert second.value in set(children()) - {first.value}


@LINUX
def test_a_job_is_done_again_if_its_worker_is_killed_and_fails_if_that_happens_again(one, tmp_path):
    def work(job):
        if job.kind == "unlucky" and not (tmp_path / "unlucky").exists():
            (tmp_path / "new").write_text(str(os.getpid()))
            (tmp_path / "new").rename(tmp_path / "unlucky")
            time.sleep(600)
        if job.kind == "deadly":
            with (tmp_path / "tries").open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return job.arguments[0] * 10

    def kill():
        while not (tmp_path / "unlucky").exists():
            time.sleep(0.05)
        os.kill(int((tmp_path / "unlucky").read_text()), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    jobs = [
        Job("a", (0,)),
        Job("unlucky", (1,)),
        Job("a", (2,)),
        Job("deadly", (3,)),
        *(Job("a", (n,)) for n in (4, 5)),
    ]
    results = {r.job.arguments[0]: r for r in one.run(work, jobs)}
    killer.join(60)
    assert results.pop(3).failure == "the worker died 2 times: killed by signal 9 (SIGKILL; perhaps out of memory)"
    assert {n: result.value for n, result in results.items()} == {n: n * 10 for n in (0, 1, 2, 4, 5)}
    assert (tmp_path / "tries").read_text() == "xx"


@LINUX
def test_workers_leave_signals_to_their_parent(two_workers):
    """SIGTERM to the whole process group, as schedulers send it, loses no running job."""

    def work(job):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        return os.getpid()

    signaled = values(two_workers.run(work, [Job("a", (n,)) for n in range(4)]))
    assert sorted(signaled) == [0, 1, 2, 3]
    assert set(signaled.values()) <= set(children())


@LINUX
def test_a_run_that_raises_leaves_no_process():
    def jobs():
        yield Job("a")  # a second one would keep both workers busy, and the plan would be asked for more a minute later
        raise RuntimeError("the plan is wrong")

    before = children()
    with pytest.raises(RuntimeError, match="the plan is wrong"):
        list(Processes(2).run(lambda _: time.sleep(60), jobs()))
    assert children() == before


def test_one_thread_each_and_the_same_torch(two_workers):
    def work(_):
        deterministic = torch.are_deterministic_algorithms_enabled()
        return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"], str(torch.get_default_dtype()), deterministic

    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    try:
        (result,) = two_workers.run(work, [Job("a")])
    finally:
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
    assert result.value == (1, "1", "torch.float64", True)
    (result,) = two_workers.run(work, [Job("a")])
    assert result.value == (1, "1", "torch.float32", False)


@LINUX
def test_workers_share_models_and_data(two_workers, tmp_path):
    def until_both_are_here(step):
        (tmp_path / f"{step} {os.getpid()}").touch()
        end = time.monotonic() + 60
        while len(list(tmp_path.glob(f"{step} *"))) < 2 and time.monotonic() < end:
            time.sleep(0.02)

    def memory():
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
        return os.getpid(), {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}

    def first(_):
        until_both_are_here("first")
        return memory()

    before = dict(result.value for result in two_workers.run(first, [Job("a", (n,)) for n in range(2)]))
    assert len(before) == 2
    size = 64 << 20
    tensor, array = torch.ones(size // 4), np.ones(size, np.uint8)

    def work(job):
        total = float(tensor.sum()) + int(array.sum(dtype=np.int64))  # touches every page
        until_both_are_here("data")
        return total, *memory()

    results = [r.value for r in two_workers.run(work, [Job("a", (n,)) for n in range(6)])]
    assert {total for total, _, _ in results} == {size / 4 + size}
    assert {process for _, process, _ in results} == set(before)
    for _, process, after in results[-2:]:
        more = {name: after[name] - before[process][name] for name in ("Rss", "Private_Dirty", "Private_Clean")}
        assert more["Rss"] > size
        assert more["Private_Dirty"] + more["Private_Clean"] < size / 2


@LINUX
def test_the_file_with_the_work_has_no_name(two_workers, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for result in two_workers.run(lambda job: 1, [Job("a")]):
        assert result.value == 1
        assert not list(tmp_path.iterdir())


def test_the_file_is_removed_where_it_needs_a_name(one, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: not str(self).startswith("/proc/") and exists(self))
    for result in one.run(lambda job: 1, [Job("a")]):
        assert result.value == 1
        assert len(list(tmp_path.iterdir())) == 1
    assert not list(tmp_path.iterdir())


@LINUX
def test_no_room_for_the_work_gets_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    data, before = torch.ones(1_000_000), resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, before[1]))
    try:
        with pytest.raises(BadInput) as refused:
            list(Processes(1).run(lambda job: data.sum(), [Job("a")]))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(refused.value).startswith(f"work=<4 MB>: expected room for it in {tmp_path}")
    assert "File too large. Point the variable TMPDIR to a folder with more room." in str(refused.value)
    assert not list(tmp_path.iterdir())


SCRIPT = """
    import os, signal, sys, time
    import torch
    from mutiny.campaigns.engines.processes import Processes
    from mutiny.campaigns.jobs import Job

    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it

    class Net(torch.nn.Module):  # as in a notebook: known to __main__ only
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)
        def forward(self, x):
            return self.layer(x)

    class Answer:
        def __init__(self, value):
            self.value, self.process = value, os.getpid()

    net = Net()
    def work(job):
        print("a word from the work")
        if job.kind == "long":
            time.sleep(600)
        return Answer(net(torch.ones(3)).item() * job.arguments[0])

    jobs = [*(Job("a", (n,)) for n in range(4)), *(Job(kind, (n,)) for kind in sys.argv[1:] for n in range(3))]
    number = 0
    try:
        for number, result in enumerate(Processes(2).run(work, jobs), 1):
            assert isinstance(result.value, Answer), result
            assert abs(result.value.value - net(torch.ones(3)).item() * result.job.arguments[0]) < 1e-6
            if number == 4:
                print(result.value.process, flush=True)
    except KeyboardInterrupt:
        print("interrupted", number, flush=True)
        sys.exit(3)
"""


@pytest.mark.slow
def test_code_from_the_command_line(tmp_path):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.stdout.strip().isdigit(), done.stderr


NO_PROC = """
    from pathlib import Path
    exists = Path.exists
    Path.exists = lambda self: not str(self).startswith("/proc/") and exists(self)
"""


def workers_of(process):
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if int((folder / "stat").read_text().rpartition(")")[2].split()[1]) == process.pid:
                found.append(int(folder.name))
        except OSError:
            continue
    return found


@LINUX
@pytest.mark.parametrize(
    "way",
    [
        pytest.param("killed", marks=pytest.mark.slow),
        "killed on another system",
        pytest.param("interrupted", marks=pytest.mark.slow),
        "interrupted as a group",
    ],
)
def test_a_script_needs_no_guard_prints_spoil_nothing_and_workers_end_with_their_parent(tmp_path, way):
    (tmp_path / "temporary").mkdir()
    process = script(
        tmp_path,
        textwrap.dedent(NO_PROC if "another" in way else "") + textwrap.dedent(SCRIPT),
        "long",
        start_new_session=True,
        env={**os.environ, "TMPDIR": str(tmp_path / "temporary")},
    )
    try:
        first = process.stdout.readline()
        assert first.strip().isdigit(), process.stderr.read()
        workers = workers_of(process)
        assert int(first) in workers
        time.sleep(0.3)
        assert len(list((tmp_path / "temporary").glob("mutiny-*"))) == ("another" in way)
        if "killed" in way:
            process.kill()
        elif way == "interrupted":
            process.send_signal(signal.SIGINT)
        else:  # what a terminal does on Ctrl-C
            os.killpg(process.pid, signal.SIGINT)
        start = time.monotonic()
        out, err = process.communicate(timeout=60)
        assert time.monotonic() < start + 20
        if "killed" not in way:
            assert (out, process.returncode) == ("interrupted 4\n", 3), err
            assert "Traceback" not in err
        assert err.count("a word from the work") >= 4
        assert not gone(workers, 20)
        assert not list((tmp_path / "temporary").glob("mutiny-*"))
    finally:
        process.kill()
        process.communicate()


def test_work_that_cannot_be_sent_or_loaded_is_an_error(two_workers, tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="cannot pickle 'generator' object"):
        list(two_workers.run((n for n in range(3)), [Job("a")]))

    class Unloadable:
        def __reduce__(self):
            return eval, ("1 // 0",)

    with pytest.raises(BadInput, match=r"There it fails: ZeroDivisionError"):
        list(two_workers.run(Unloadable(), [Job("a")]))
    assert [r.value for r in two_workers.run(lambda _: 5, [Job("a")])] == [5]


def test_workers_that_cannot_start_are_an_error(monkeypatch, tmp_path):
    (tmp_path / "torch.py").write_text("raise ImportError('no torch today')")
    monkeypatch.setattr(sys, "path", [str(tmp_path), *sys.path])
    with pytest.raises(BadInput, match=r"worker processes that start. They fail with ImportError: no torch today"):
        list(Processes(1).run(lambda _: 1, [Job("a")]))
    monkeypatch.undo()
    monkeypatch.setattr(sys, "executable", str(tmp_path / "nosuch"))
    with pytest.raises(BadInput, match=r"workers=one more: expected a process that the system starts"):
        list(Processes(1).run(lambda _: 1, [Job("a")]))
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BadInput, match=r"live long enough to load the work. 3 died before: it ended with exit code 1"):
        list(Processes(1).run(lambda _: 1, [Job("a")]))


def test_what_a_task_brings_may_be_unsendable(two_workers):
    results = list(two_workers.run(lambda job: job.kind, [Job("a", given=(n for n in "x")), Job("b")]))
    failures = {r.job.kind: r.failure for r in results}
    assert failures["b"] is None
    assert "the job cannot be sent to another process: TypeError" in failures["a"]


@pytest.mark.slow
def test_children_of_the_work_do_not_keep_a_dead_worker_alive(tmp_path):
    """A forked child that outlives its parent must not keep the pipe open, whose end signals the parent's death."""

    def work(job):
        if job.kind == "fork":
            if (child := os.fork()) == 0:
                time.sleep(200)
                os._exit(0)
            (tmp_path / "child").write_text(str(child))
            os.kill(os.getpid(), signal.SIGKILL)
        return subprocess.run(["cat"], capture_output=True, check=True).stdout  # would eat the orders

    start = time.monotonic()
    results = {r.job.kind: r for r in Processes(1, retries=0).run(work, [Job("fork"), Job("cat")])}
    assert results["fork"].failure.startswith("the worker died 1 time: killed by signal 9")
    assert results["cat"].value == b""
    assert time.monotonic() < start + 100
    os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)  # it was still there


@pytest.mark.parametrize(
    "settings",
    [{"workers": 0}, {"workers": "2"}, {"workers": 2.5}, {"threads": 0}, {"threads": None}, {"retries": -1}],
    ids=json.dumps,
)
@pytest.mark.parametrize("engine", [Processes, Ray])
def test_wrong_numbers_are_refused(engine, settings):
    with pytest.raises(BadInput, match=rf"{next(iter(settings))}=.*: expected a whole number of at least [01]"):
        engine(**settings)


def test_nothing_waits_behind_a_long_task(one):
    """Workers get a second job in advance only if jobs are short, since a waiting job is started even after Ctrl-C."""
    taken = []

    def jobs():
        for number in range(6):
            taken.append(number)
            yield Job("nap", (number,))

    results = one.run(lambda job: time.sleep(1.2 if job.arguments == (2,) else 0), jobs())
    under_way = [(next(results).job.arguments[0], len(taken)) for _ in range(6)]
    assert under_way == [(0, 1), (1, 3), (2, 4), (3, 4), (4, 6), (5, 6)]
