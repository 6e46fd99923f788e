"""Worker processes: their death, the death of their parent, shared memory."""

import json
import os
import signal
import subprocess
import sys
import textwrap
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
def two():
    with Processes(2) as engine:
        yield engine


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


@LINUX
def test_an_inner_with_leaves_the_workers_to_the_outer_one():
    before = set(children())
    with Processes(1) as engine:
        with engine:
            list(engine.run(lambda job: job.arguments, [Job("a", 1)]))
            started = set(children()) - before
        assert started
        assert set(children()) - before == started
        results = engine.run(lambda job: os.getpid(), [Job("a", 1)])
        assert {result.value for result in results} == started
    assert not gone(started)


def gone(processes, seconds=30):
    end = time.monotonic() + seconds
    while any(Path(f"/proc/{p}").exists() for p in processes) and time.monotonic() < end:
        time.sleep(0.05)
    return [p for p in processes if Path(f"/proc/{p}").exists()]


def script(tmp_path, text, **options):
    """Runs a user's file as a script."""
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(text))
    return subprocess.Popen(
        [sys.executable, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, **options
    )


def test_keeps_the_contract():
    check_engine(lambda: Processes(2, retries=0))


def test_a_killed_worker_is_replaced_and_its_task_done_again(two, tmp_path):
    def work(job):
        number = job.arguments[0]
        mark = tmp_path / f"{number}"
        if number == 4 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number * 10

    results = list(two.run(work, [Job("a", (n,)) for n in range(10)]))
    assert values(results) == {n: n * 10 for n in range(10)}
    assert [path.name for path in tmp_path.iterdir()] == ["4"]


@LINUX
def test_a_worker_killed_from_outside_changes_nothing(two):
    killed = False
    seen = {}
    for result in two.run(lambda job: time.sleep(0.02) or job.arguments[0], [Job("a", (n,)) for n in range(60)]):
        seen[result.job.arguments[0]] = result.value
        if len(seen) == 10:
            os.kill(children()[0], signal.SIGKILL)
            killed = True
    assert killed
    assert seen == {n: n for n in range(60)}


@LINUX
def test_workers_leave_signals_to_their_parent(two):
    """SIGTERM to the whole process group, as schedulers send it, loses no running job."""

    def work(job):
        for number in (signal.SIGTERM, signal.SIGINT):
            os.kill(os.getpid(), number)
        return os.getpid()

    signaled = values(two.run(work, [Job("a", (n,)) for n in range(4)]))
    assert sorted(signaled) == [0, 1, 2, 3]
    assert set(signaled.values()) <= set(children())


def test_a_task_that_always_kills_its_worker_fails_and_the_rest_goes_on(tmp_path):
    def work(job):
        if job.kind == "deadly":
            with (tmp_path / "tries").open("a") as file:
                file.write("x")
            os.kill(os.getpid(), signal.SIGKILL)
        return job.arguments[0]

    jobs = [Job("a", (0,)), Job("deadly", (1,)), *(Job("a", (n,)) for n in range(2, 8))]
    results = {r.job.arguments[0]: r for r in Processes(1, retries=1).run(work, jobs)}
    assert results[1].failure == "the worker died 2 times: killed by signal 9 (SIGKILL; perhaps out of memory)"
    assert [results[n].value for n in (0, *range(2, 8))] == [0, *range(2, 8)]
    assert (tmp_path / "tries").read_text() == "xx"


@LINUX
def test_workers_stay_between_runs_and_no_longer():
    with Processes(1) as engine:
        first = [r.value for r in engine.run(lambda _: os.getpid(), [Job("a")])]
        big = torch.ones(1000)
        second = [r.value for r in engine.run(lambda _: (os.getpid(), float(big.sum())), [Job("a")])]
        assert second == [(first[0], 1000.0)]
        os.kill(first[0], signal.SIGKILL)
        time.sleep(0.2)
        (third,) = engine.run(lambda _: os.getpid(), [Job("a")])
        assert third.failure is None
        assert third.value in children()
    assert not gone([*first, third.value])


@LINUX
def test_a_run_that_raises_leaves_no_process():
    def jobs():
        yield Job("a")  # a second one would keep both workers busy, and the plan would be asked for more a minute later
        raise RuntimeError("the plan is wrong")

    before = children()
    with pytest.raises(RuntimeError, match="the plan is wrong"):
        list(Processes(2).run(lambda _: time.sleep(60), jobs()))
    assert children() == before


def test_one_thread_each_and_the_same_torch(two):
    def work(_):
        deterministic = torch.are_deterministic_algorithms_enabled()
        return torch.get_num_threads(), os.environ["OMP_NUM_THREADS"], str(torch.get_default_dtype()), deterministic

    torch.set_default_dtype(torch.float64)
    torch.use_deterministic_algorithms(True)
    try:
        (result,) = two.run(work, [Job("a")])
    finally:
        torch.set_default_dtype(torch.float32)
        torch.use_deterministic_algorithms(False)
    assert result.value == (1, "1", "torch.float64", True)
    (result,) = two.run(work, [Job("a")])
    assert result.value == (1, "1", "torch.float32", False)


def test_a_worker_starts_without_the_compiler_of_torch():
    """Importing it takes as long as importing the rest of torch."""
    (result,) = Processes(1).run(lambda _: "torch._inductor" in sys.modules, [Job("a")])
    assert result.value is False


@LINUX
def test_workers_share_models_and_data(two):
    size = 256 << 20
    tensor, array = torch.ones(size // 4), np.ones(size, np.uint8)

    def work(job):
        total = float(tensor.sum()) + int(array.sum(dtype=np.int64))  # touches every page
        time.sleep(0.5)  # until the other has them too
        lines = Path("/proc/self/smaps_rollup").read_text().splitlines()[1:]
        return total, os.getpid(), {line.split(":")[0]: int(line.split()[1]) << 10 for line in lines}

    results = [r.value for r in two.run(work, [Job("a", (n,)) for n in range(6)])]
    assert {total for total, _, _ in results} == {size / 4 + size}
    assert len({process for _, process, _ in results}) == 2
    for _, _, memory in results[-2:]:
        assert memory["Rss"] > 2 * size
        assert memory["Private_Dirty"] < size  # torch itself is some 150 MB
        assert memory["Private_Dirty"] + memory["Private_Clean"] < size


@LINUX
def test_the_file_with_the_work_has_no_name(two, tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    for result in two.run(lambda job: 1, [Job("a")]):
        assert result.value == 1
        assert not list(tmp_path.iterdir())


def test_the_file_is_removed_where_it_needs_a_name(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    exists = Path.exists
    monkeypatch.setattr(Path, "exists", lambda self: not str(self).startswith("/proc/") and exists(self))
    with Processes(1) as engine:
        for result in engine.run(lambda job: 1, [Job("a")]):
            assert result.value == 1
            assert len(list(tmp_path.iterdir())) == 1
        assert not list(tmp_path.iterdir())


@LINUX
def test_no_room_for_the_work_gets_a_sentence(tmp_path):
    text = """
        import resource, tempfile
        import torch
        from mutiny.campaigns.engines.processes import Processes
        from mutiny.core.errors import BadInput
        from mutiny.campaigns.jobs import Job
        tempfile.tempdir = "."
        data = torch.ones(1_000_000)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_000_000, 1_000_000))
        try:
            list(Processes(1).run(lambda job: data.sum(), [Job("a")]))
        except BadInput as error:
            print(error)
    """
    out, err = script(tmp_path, text).communicate(timeout=120)
    assert out.startswith("work=<4 MB>: expected room for it in "), err
    assert "File too large. Point the variable TMPDIR to a folder with more room." in out
    assert [path.name for path in tmp_path.iterdir()] == ["script.py"]


SCRIPT = """
    import os, sys, time
    import torch
    from mutiny.campaigns.engines.processes import Processes
    from mutiny.campaigns.jobs import Job

    class Net(torch.nn.Module):  # as in a notebook: known to __main__ only
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(3, 1)
        def forward(self, x):
            return self.layer(x)

    class Answer:
        def __init__(self, value):
            self.value = value

    net = Net()
    def work(job):
        print("a word from the work")
        return Answer(net(torch.ones(3)).item() * job.arguments[0])

    for result in Processes(1).run(work, [Job("a", (n,)) for n in range(4)]):
        assert isinstance(result.value, Answer), result
        assert abs(result.value.value - net(torch.ones(3)).item() * result.job.arguments[0]) < 1e-6
    print("done", len(sys.argv))
"""


def test_a_script_needs_no_guard_and_its_prints_spoil_nothing(tmp_path):
    out, err = script(tmp_path, SCRIPT).communicate(timeout=120)
    assert out == "done 1\n", err
    assert err.count("a word from the work") == 4


@pytest.mark.slow
def test_code_from_the_command_line(tmp_path):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(SCRIPT)], capture_output=True, text=True, check=False)
    assert done.stdout == "done 1\n", done.stderr


NO_PROC = """
    from pathlib import Path
    exists = Path.exists
    Path.exists = lambda self: not str(self).startswith("/proc/") and exists(self)
"""

LONG = """
    import os, signal, sys, time
    from mutiny.campaigns.engines.processes import Processes
    from mutiny.campaigns.jobs import Job

    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs the tests in the background ignores it

    def work(job):
        if job.kind == "who":
            return os.getpid()
        time.sleep(600)

    jobs = [Job("who"), Job("long", (0,)), Job("long", (1,)), Job("long", (2,))]
    try:
        for result in Processes(2).run(work, jobs):
            print(result.value, flush=True)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
        sys.exit(3)
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
def test_workers_end_with_their_parent(tmp_path, way):
    (tmp_path / "temporary").mkdir()
    process = script(
        tmp_path,
        textwrap.dedent(NO_PROC if "another" in way else "") + textwrap.dedent(LONG),
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
            assert (out, process.returncode) == ("interrupted\n", 3), err
            assert "Traceback" not in err
        assert not gone(workers, 20)
        assert not list((tmp_path / "temporary").glob("mutiny-*"))
    finally:
        process.kill()
        process.communicate()


def test_work_that_cannot_be_sent_or_loaded_is_an_error(two, tmp_path, monkeypatch):
    with pytest.raises(BadInput, match="cannot pickle 'generator' object"):
        list(two.run((n for n in range(3)), [Job("a")]))

    class Unloadable:
        def __reduce__(self):
            return eval, ("1 // 0",)

    with pytest.raises(BadInput, match=r"There it fails: ZeroDivisionError"):
        list(two.run(Unloadable(), [Job("a"), Job("b")]))
    assert [r.value for r in two.run(lambda _: 5, [Job("a")])] == [5]


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


def test_what_a_task_brings_may_be_unsendable(two):
    results = list(two.run(lambda job: job.kind, [Job("a", given=(n for n in "x")), Job("b")]))
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


def test_nothing_waits_behind_a_long_task():
    """Workers get a second job in advance only if jobs are short, since a waiting job is started even after Ctrl-C."""
    taken = []

    def jobs():
        for number in range(6):
            taken.append(number)
            yield Job("nap", (number,))

    with Processes(1) as engine:
        results = engine.run(lambda job: time.sleep(1.2 if job.arguments == (2,) else 0), jobs())
        under_way = [(next(results).job.arguments[0], len(taken)) for _ in range(6)]
    assert under_way == [(0, 1), (1, 3), (2, 4), (3, 4), (4, 6), (5, 6)]
