"""One writer at a time, whatever happens to the others."""

import errno
import gc
import os
import subprocess
import sys
import threading
import time

import pytest

from mutiny.campaigns.stores.lock import Lock, holder
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import StoreBusy, StoreError

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="signals and forks of POSIX")


def run(code, *arguments):
    return subprocess.Popen([sys.executable, "-c", code, *map(str, arguments)], stdout=subprocess.PIPE, text=True)


HOLD = """
import sys, time, pathlib
from mutiny.campaigns.stores.lock import Lock
lock = Lock(pathlib.Path(sys.argv[1]))
print("held", flush=True)
time.sleep(60)
"""


def test_the_holder_is_named_until_it_dies(tmp_path):
    holder = run(HOLD, tmp_path / "store")
    try:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(StoreBusy, match=rf"mutiny \(process {holder.pid}\) is writing it"):
            Lock(tmp_path / "store")
    finally:
        holder.kill()
        holder.communicate()
    assert (tmp_path / "store.lock").exists()
    lock = Lock(tmp_path / "store")
    assert (tmp_path / "store.lock").read_text().split()[0] == str(os.getpid())
    lock.release()
    lock.release()
    assert not (tmp_path / "store.lock").exists()


def test_one_process_holds_it_once(tmp_path):
    lock = Lock(tmp_path / "store")
    for _ in range(2):  # a refusal must not break it
        with pytest.raises(StoreBusy, match=rf"this process \({os.getpid()}\) is writing it"):
            Lock(tmp_path / "store")
    lock.release()
    Lock(tmp_path / "store").release()


def test_a_lock_whose_file_cannot_be_removed_is_released(tmp_path, monkeypatch):
    def broken(*_, **__):
        raise OSError(errno.EIO, "Input/output error")

    lock = Lock(tmp_path / "store")
    with monkeypatch.context() as disk:
        disk.setattr("pathlib.Path.unlink", broken)
        lock.release()
    assert not lock.held
    assert holder(tmp_path / "store") is None
    Lock(tmp_path / "store").release()


def test_a_lock_that_an_interrupt_took_from_its_owner_is_released(tmp_path):
    Lock(tmp_path / "store")
    gc.collect()
    assert not (tmp_path / "store.lock").exists()
    Lock(tmp_path / "store").release()


def test_a_lock_file_that_cannot_be_read_is_an_error_of_the_store(tmp_path, monkeypatch):
    def broken(*_):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as disk:
        disk.setattr("os.read", broken)
        with pytest.raises(StoreError, match="a lock file that can be read"):
            Lock(tmp_path / "store")
    Lock(tmp_path / "store").release()


def test_a_holder_on_another_machine_is_named_with_it(tmp_path):
    lock = Lock(tmp_path / "store")
    (tmp_path / "store.lock").write_text("12 elsewhere\n")
    with pytest.raises(StoreBusy, match=r"process 12 on elsewhere"):
        Lock(tmp_path / "store")
    (tmp_path / "store.lock").write_text("")
    with pytest.raises(StoreBusy, match=r"another process is writing it"):
        Lock(tmp_path / "store")
    lock.release()


FORK = """
import os, sys, time, pathlib
from mutiny.campaigns.stores.sqlite import SqliteStore
store = SqliteStore(pathlib.Path(sys.argv[1]))
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(0)
print(child, flush=True)
time.sleep(60)
"""


def test_children_of_a_dead_holder_do_not_hold_it(tmp_path):
    holder = run(FORK, tmp_path / "store")
    child = int(holder.stdout.readline())
    try:
        holder.kill()
        holder.wait()
        os.kill(child, 0)  # it lives
        Lock(tmp_path / "store").release()
    finally:
        os.kill(child, 9)
        holder.stdout.close()


RACE = """
import os, sys, time, pathlib
from mutiny.core.errors import StoreBusy, StoreError
from mutiny.campaigns.stores.lock import Lock
path, end, taken = pathlib.Path(sys.argv[1]), time.monotonic() + float(sys.argv[2]), 0
while time.monotonic() < end:
    try:
        lock = Lock(path)
    except StoreBusy:
        continue
    os.close(os.open(path.with_name("inside"), os.O_CREAT | os.O_EXCL))  # fails if another is inside
    path.with_name("inside").unlink()
    lock.release()
    taken += 1
print(taken)
"""


def test_taking_and_removing_never_lets_two_in(tmp_path):
    racers = [run(RACE, tmp_path / "store", 1.5) for _ in range(3)]
    told = [racer.communicate()[0] for racer in racers]
    assert [racer.returncode for racer in racers] == [0] * 3
    assert all(int(count) > 10 for count in told)
    assert list(tmp_path.iterdir()) == []


def test_a_refusal_does_not_take_long(tmp_path):
    lock, start = Lock(tmp_path / "store"), time.monotonic()
    with pytest.raises(StoreBusy):
        Lock(tmp_path / "store")
    assert time.monotonic() - start < 3
    lock.release()


def test_who_looks_does_not_keep_others_out(tmp_path):
    """A reader that checks the lock or cleans up does not keep a writer from opening the store."""
    SqliteStore(tmp_path / "store").close()
    (tmp_path / "link").symlink_to(tmp_path / "store")
    stop = threading.Event()

    def look():
        while not stop.is_set():
            holder(tmp_path / "store")
            SqliteStore(tmp_path / "store", write=False).close()

    looking = threading.Thread(target=look)
    looking.start()
    try:
        for _ in range(100):
            SqliteStore(tmp_path / "store").close()
    finally:
        stop.set()
        looking.join()
    assert holder(tmp_path / "store") is None
    with SqliteStore(tmp_path / "store"):
        assert holder(tmp_path / "link") == f"this process ({os.getpid()})"
