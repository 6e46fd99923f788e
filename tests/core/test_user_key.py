"""The user's key, and proofs that are made with it."""

import os
import stat
import subprocess
import sys

import pytest

from mutiny.core import user_key
from mutiny.core.user_key import is_proof, key_file, key_problem, prove

VALUES = ["c1", {"verb": "assess"}]
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")


@pytest.fixture
def key(tmp_path, monkeypatch):
    path = tmp_path / "own" / "key"
    monkeypatch.setenv("MUTINY_KEY", str(path))
    return path


def test_a_proof_is_about_its_kind_and_values_and_nothing_else(key):
    proof = prove("campaign", VALUES)
    assert is_proof(proof, "campaign", ["c1", {"verb": "assess"}])
    assert not is_proof(proof, "original", VALUES)
    assert not is_proof(proof, "campaign", ["c2", {"verb": "assess"}])
    assert not is_proof(proof[:-1] + "0123456789abcdef"[proof[-1] == "0"], "campaign", VALUES)


@pytest.mark.parametrize("forged", ["", None, 5, b"", "é", ["a"]])
def test_what_is_no_text_is_no_proof(key, forged):
    prove("campaign", VALUES)
    assert not is_proof(forged, "campaign", VALUES)


def test_values_that_have_no_json_are_not_proven(key):
    proof = prove("campaign", VALUES)
    deep: list = []
    for _ in range(100_000):
        deep = [deep]
    for values in (b"c1", {1: 2, "a": 3}, deep):
        assert not is_proof(proof, "campaign", values)


def test_another_key_makes_other_proofs(key):
    proof = prove("campaign", VALUES)
    key.unlink()
    assert not is_proof(proof, "campaign", VALUES)
    assert prove("campaign", VALUES) != proof


def test_checking_creates_no_key(key):
    assert not is_proof("0" * 64, "campaign", VALUES)
    assert key_problem() == ""
    assert not key.parent.exists()
    assert key_problem(create=True) == ""


@POSIX
def test_the_key_is_private_and_created_once(key):
    before = os.umask(0)
    try:
        first = prove("campaign", VALUES)
    finally:
        os.umask(before)
    assert stat.S_IMODE(key.stat().st_mode) == 0o600
    assert stat.S_IMODE(key.parent.stat().st_mode) == 0o700
    content = key.read_bytes()
    assert len(content) == 32
    assert prove("campaign", VALUES) == first
    assert key.read_bytes() == content
    assert [path.name for path in key.parent.iterdir()] == ["key"]


MAKE = """
import sys
from mutiny.core.user_key import prove
print("ready", flush=True)
sys.stdin.read(1)
print(prove("campaign", [1]), flush=True)
"""


def test_processes_that_create_the_key_at_once_have_the_same(key):
    run = [sys.executable, "-c", MAKE]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    processes = [subprocess.Popen(run, **pipes) for _ in range(4)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("x")
        process.stdin.flush()
    proofs = {process.communicate()[0].strip() for process in processes}
    assert proofs == {prove("campaign", [1])}
    assert [path.name for path in key.parent.iterdir()] == ["key"]


def test_a_process_that_is_late_takes_the_key_of_the_other(key, monkeypatch):
    link = os.link

    def late(draft, path, **follow):
        (key.parent / "key").write_bytes(b"k" * 32)
        key.chmod(0o600)
        link(draft, path, **follow)

    monkeypatch.setattr(os, "link", late)
    monkeypatch.setattr(os, "supports_dir_fd", {*os.supports_dir_fd, late})
    proof = prove("campaign", VALUES)
    assert key.read_bytes() == b"k" * 32
    assert is_proof(proof, "campaign", VALUES)


@pytest.mark.parametrize("flag", ["O_TMPFILE", None])
def test_nothing_but_the_key_is_left_with_and_without_nameless_files(key, monkeypatch, flag):
    if flag is None:
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    assert is_proof(prove("campaign", VALUES), "campaign", VALUES)
    assert [path.name for path in key.parent.iterdir()] == ["key"]
    assert stat.S_IMODE(key.stat().st_mode) == 0o600


def whole(key):
    key.parent.mkdir(mode=0o700)
    key.write_bytes(b"k" * 32)
    key.chmod(0o600)


def readable(key):
    whole(key)
    key.chmod(0o644)


def open_folder(key):
    whole(key)
    key.parent.chmod(0o777)


def short(key):
    whole(key)
    key.write_bytes(b"k" * 31)


def long(key):
    whole(key)
    key.write_bytes(b"k" * 5000)


def folder(key):
    key.mkdir(parents=True)


def pipe(key):
    key.parent.mkdir(mode=0o700)
    os.mkfifo(key, 0o600)


def no_folder(key):
    key.parent.write_text("")


def loop(key):
    key.parent.mkdir(mode=0o700)
    key.symlink_to(key)


def link_to_nothing(key):
    key.parent.mkdir(mode=0o700)
    key.symlink_to(key.with_name("nothing"))


@POSIX
@pytest.mark.parametrize(
    ("make", "told"),
    [
        (link_to_nothing, "is a link to nothing"),
        (readable, "can be read or written by other users"),
        (open_folder, "Other users can write in the folder of the key"),
        (short, "has 31 bytes: expected 32 to 4096 bytes"),
        (long, "bytes: expected 32 to 4096 bytes"),
        (folder, "The key"),
        (pipe, "is no file"),
        (no_folder, "cannot be created or read"),
        (loop, "cannot be created or read"),
    ],
)
def test_a_key_that_cannot_be_used_is_told_and_nothing_is_proven(key, make, told):
    make(key)
    assert prove("campaign", VALUES) == ""
    assert not is_proof("", "campaign", VALUES)
    problem = key_problem(create=True)
    assert told in problem
    assert str(key) in problem
    assert problem.count("\n") == 0


@POSIX
def test_a_key_in_a_folder_of_others_is_not_created(key):
    key.parent.mkdir()
    key.parent.chmod(0o777)
    assert prove("campaign", VALUES) == ""
    assert "Run `chmod go-w" in key_problem(create=True)
    assert not [*key.parent.iterdir()]


@POSIX
@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() != 0, reason="only root can give files away")
@pytest.mark.parametrize("what", ["key", "folder"])
def test_a_key_of_another_user_is_not_used(key, what, monkeypatch):
    whole(key)
    os.chown(key if what == "key" else key.parent, 65534, -1)
    assert "belongs to another user" in key_problem()
    assert prove("campaign", VALUES) == ""


def test_a_link_to_a_private_key_is_followed(key, tmp_path):
    whole(key)
    (tmp_path / "secret").mkdir(mode=0o700)
    key.rename(tmp_path / "secret" / "real")
    key.symlink_to(tmp_path / "secret" / "real")
    assert is_proof(prove("campaign", VALUES), "campaign", VALUES)


def test_the_place_of_the_key(monkeypatch, tmp_path):
    monkeypatch.delenv("MUTINY_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    assert key_file() == tmp_path / "config" / "mutiny" / "key"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for unset in ("", "relative"):  # https://specifications.freedesktop.org/basedir-spec: to be ignored
        monkeypatch.setenv("XDG_CONFIG_HOME", unset)
        assert key_file() == tmp_path / "home" / ".config" / "mutiny" / "key"
    assert prove("campaign", VALUES)
    assert key_file().is_file()


def test_a_relative_path_is_refused(monkeypatch):
    monkeypatch.setenv("MUTINY_KEY", "key")
    assert key_problem() == "MUTINY_KEY=key: expected an absolute path."
    assert prove("campaign", VALUES) == ""


def test_without_a_home_there_is_no_key(monkeypatch):
    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("MUTINY_KEY", raising=False)
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.setattr(user_key.Path, "home", staticmethod(homeless))
    assert prove("campaign", VALUES) == ""
    assert "There is no home folder" in key_problem()
