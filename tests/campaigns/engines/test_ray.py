"""Ray: a cluster of two workers on this machine."""

import os
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
import torch

ray = pytest.importorskip("ray", reason="needs the extra ray")

from campaigns.engines.sockets import descendants, listening  # noqa: E402
from mutiny.campaigns.engines import ray_node as node  # noqa: E402
from mutiny.campaigns.engines.parsing import as_engine  # noqa: E402
from mutiny.campaigns.engines.ray import Ray  # noqa: E402
from mutiny.campaigns.engines.ray_start import QUICK  # noqa: E402
from mutiny.campaigns.jobs import Job  # noqa: E402
from mutiny.core.errors import BadInput, MissingExtra  # noqa: E402
from mutiny.core.results import versions  # noqa: E402
from mutiny.testing.engines import check_engine  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def home(tmp_path_factory):
    """A home folder, where Ray would write a token, of a user who has switched token authentication off."""
    folder = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch, tempfile.TemporaryDirectory(dir="/tmp") as short:
        patch.setenv("RAY_TMPDIR", short)
        patch.setenv("HOME", str(folder))
        patch.setenv("RAY_AUTH_MODE", "disabled")
        for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS"):
            patch.delenv(name, raising=False)
        yield folder


@pytest.fixture(scope="module")
def two(home):
    """An engine with a cluster of its own, for all tests, because starting it takes seconds; it ends with the last."""
    with Ray(workers=2) as engine:
        yield engine
    assert not ray.is_initialized()
    assert os.environ["RAY_AUTH_MODE"] == "disabled"
    assert "RAY_AUTH_TOKEN" not in os.environ
    assert list(Path(os.environ["RAY_TMPDIR"]).iterdir()) == []
    assert QUICK == {"worker_niceness": 0}  # else later clusters would write into folders of this one


def test_starts_and_leaves_signal_handlers(two):
    def own(*_):
        """Handler of SIGTERM that campaigns install."""

    assert not ray.is_initialized()
    before = signal.signal(signal.SIGTERM, own)
    try:
        (result,) = two.run(lambda job: job.kind, [Job("a")])
        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)
    assert result.value == "a"


def test_a_cluster_of_its_own_listens_on_loopback_only(two):
    (result,) = two.run(lambda job: os.getpid(), [Job("a")])
    processes = descendants(os.getpid())
    assert result.value in processes
    addresses = [address for process in processes for address in listening(process)]
    assert len(addresses) > 4  # head, node, their agents, this process, workers
    assert set(addresses) <= {"127.0.0.1", "::1"}


def test_a_cluster_of_its_own_refuses_clients_without_its_token_and_keeps_it_to_itself(two, home):
    grpc = pytest.importorskip("grpc", reason="a client of Ray's services")
    list(two.run(lambda job: job.kind, [Job("a")]))
    with grpc.insecure_channel(ray.get_runtime_context().gcs_address) as channel:
        nodes = channel.unary_unary("/ray.rpc.NodeInfoGcsService/GetAllNodeInfo")
        for metadata in ((), (("authorization", "Bearer " + "0" * 64),)):
            with pytest.raises(grpc.RpcError) as refused:
                nodes(b"", metadata=metadata, timeout=30)
            assert refused.value.code() == grpc.StatusCode.UNAUTHENTICATED
        token = os.environ["RAY_AUTH_TOKEN"]
        assert b"127.0.0.1" in nodes(b"", metadata=(("authorization", f"Bearer {token}"),), timeout=30)
    assert not (home / ".ray").exists()
    commands = b"".join((Path("/proc") / str(process) / "cmdline").read_bytes() for process in descendants(os.getpid()))
    assert token.encode() not in commands  # which every user of the machine may read


def test_keeps_the_contract_in_a_cluster_that_is_there_and_leaves_it(two):
    list(two.run(lambda job: job.kind, [Job("a")]))
    check_engine(lambda: Ray(workers=2, retries=0))
    assert ray.is_initialized()


@pytest.mark.slow
def test_short_tasks_travel_together_and_long_ones_alone(two):
    count = 1000
    list(two.run(lambda job: None, [Job("empty", (n,)) for n in range(200)]))
    results = list(two.run(lambda job: os.getpid(), (Job("empty", (n,)) for n in range(count))))
    assert len({result.job.id for result in results}) == count

    def work(job):
        time.sleep(job.arguments[1])
        return os.getpid(), time.time()

    jobs = [Job("mixed", (n, 0.0)) for n in range(200)] + [Job("mixed", (n, 1.0)) for n in range(200, 204)]
    results = [r for r in two.run(work, jobs) if r.job.arguments[1]]
    ends = {}
    for result in results:
        ends.setdefault(result.value[0], []).append(result.value[1])
    assert len(ends) == 2  # four surprises shared by two workers, none left to one of them


def test_a_killed_worker_costs_nothing_but_time(two, tmp_path):
    def work(job):
        mark = tmp_path / str(job.arguments[0])
        if job.arguments[0] == 7 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return job.arguments[0] ** 2

    results = list(two.run(work, [Job("a", (n,)) for n in range(60)]))
    assert {r.job.arguments[0]: r.value for r in results} == {n: n**2 for n in range(60)}
    assert (tmp_path / "7").exists()


def test_a_deadly_task_fails_with_rays_reason(two):
    engine = Ray(retries=0)
    results = list(engine.run(lambda job: os._exit(3) if job.kind == "deadly" else 1, [Job("deadly"), Job("a")]))
    failures = {r.job.kind: r.failure for r in results}
    assert failures["a"] is None
    assert failures["deadly"].startswith("the worker died 1 time: The worker died unexpectedly")


def test_workers_share_the_work_and_may_write_to_it(two, tmp_path):
    size = 16 << 20
    tensor, array = torch.zeros(size // 4), np.zeros(size, np.uint8)

    def work(job):
        seen = float(tensor.sum()) + float(array.sum())
        tensor[job.arguments[0]] = array[job.arguments[0]] = 1
        tensor[job.arguments[0]] = array[job.arguments[0]] = 0
        (tmp_path / str(os.getpid())).touch()
        end = time.monotonic() + 60
        while len([*tmp_path.iterdir()]) < 2 and time.monotonic() < end:  # the other worker may still have to start
            time.sleep(0.02)
        return seen, os.getpid(), os.fstat(next(f for _, f in node._kept.values()).fileno()).st_ino

    results = [r.value for r in two.run(work, [Job("a", (n,)) for n in range(8)])]
    assert {seen for seen, _, _ in results} == {0.0}
    assert len({process for _, process, _ in results}) == 2
    assert len({inode for _, _, inode in results}) == 1  # one file for both


def test_other_versions_are_refused():
    here = versions()
    assert node.differences(here) == ""
    told = {**here, "torch": "1.0"}
    assert node.differences(told) == f"torch {here['torch']} instead of 1.0"
    about = {"versions": told, "settings": {}, "threads": 1}
    answer = node.serve("key of this test", lambda: (about, []), [], 1.0)
    assert answer == f"there is torch {here['torch']} instead of 1.0: install the same versions on all"


def test_work_that_cannot_be_loaded_there_is_an_error(two):
    class Unloadable:
        def __reduce__(self):
            return eval, ("1 // 0",)

    with pytest.raises(BadInput, match=r"On one the work cannot be loaded: ZeroDivisionError"):
        list(two.run(Unloadable(), [Job("a")]))


@pytest.mark.slow
def test_a_cluster_of_its_own_ends_with_the_run(tmp_path):
    """In another process, since this one has joined a cluster; as a script with its own classes and no main guard."""
    code = """
        import ray
        from mutiny.campaigns.engines.ray import Ray
        from mutiny.campaigns.jobs import Job

        class Answer:
            def __init__(self, value):
                self.value = value

        values = [r.value for r in Ray(workers=1).run(lambda job: Answer(job.arguments[0]), [Job("a", (4,))])]
        assert isinstance(values[0], Answer), values
        assert not ray.is_initialized()
        print(values[0].value)
    """
    file = tmp_path / "script.py"
    file.write_text(textwrap.dedent(code))
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stdout == "4\n", done.stderr


def test_without_the_extra_the_message_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtra) as refused:
        list(as_engine("ray").run(lambda job: 1, [Job("a")]))
    assert str(refused.value) == 'this needs the package ray: pip install "mutiny-nn[ray]"'


def test_a_cluster_that_is_not_there_or_not_for_us_gets_a_sentence():
    """At once: Ray itself would wait for an answer without reacting to Ctrl-C."""
    code = """
        import socket
        from mutiny.campaigns.engines.ray import Ray
        from mutiny.core.errors import BadInput
        from mutiny.campaigns.jobs import Job
        somebody = socket.create_server(("127.0.0.1", 0))
        for port in (1, somebody.getsockname()[1]):
            try:
                list(Ray(f"127.0.0.1:{port}").run(lambda job: 1, [Job("a")]))
            except BadInput as error:
                print(error)
    """
    environment = {**os.environ, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "", "HOME": "/nonexistent"}
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False, env=environment
    )
    nobody, stranger = done.stdout.splitlines()
    assert nobody == "address='127.0.0.1:1': expected a Ray cluster that can be reached. Connection refused."
    assert "expected a Ray cluster that can be joined. " in stranger
    assert "no authentication token was found" in stranger
    assert "set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token" in stranger
