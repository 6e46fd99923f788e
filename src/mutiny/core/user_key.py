"""The user's key, and proofs made with it: a file can say that this user's mutiny wrote something, and prove it.

The key is a file of random bytes that only its owner can read. A proof is an HMAC-SHA256 of a kind and of values, which
nobody can make without the key. The key is created when the first proof is made, never when one is checked.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import stat
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mutiny.core.json_values import Plain
from mutiny.core.printable import quoted

VARIABLE = "MUTINY_KEY"
"""Environment variable with the path of the key."""
SMALLEST, LARGEST = 32, 4096
"""Bytes that a key may have; mutiny creates keys of the smallest size."""


class _Unusable(Exception):
    """The key cannot be used; the message is a sentence that says why and what to do."""


class _Missing(_Unusable):
    """There is no key yet."""


def key_file() -> Path:
    """``$MUTINY_KEY``, or ``mutiny/key`` in ``$XDG_CONFIG_HOME``, or in ``~/.config``.

    It is not in the cache folder, which is copied, shared and deleted.
    """
    chosen = os.environ.get(VARIABLE)
    if chosen:
        if not Path(chosen).is_absolute():
            raise _Unusable(f"{VARIABLE}={chosen}: expected an absolute path.")
        return Path(chosen)
    config = os.environ.get("XDG_CONFIG_HOME", "")
    try:
        folder = Path(config) if Path(config).is_absolute() else Path.home() / ".config"
    except RuntimeError:
        raise _Unusable(
            f"There is no home folder for a key. Set {VARIABLE} to a file in a folder of your own."
        ) from None
    return folder / "mutiny" / "key"


def prove(kind: str, values: Plain) -> str:
    """The proof that this user's mutiny wrote some values; empty if there can be no key, see `key_problem`.

    Args:
        kind: What the values are; a proof of one kind is none of another.
        values: Plain values.
    """
    try:
        return _digest(_key(create=True), kind, values)
    except _Unusable:
        return ""


def is_proof(proof: object, kind: str, values: Plain) -> bool:
    """Whether a proof was made with this user's key for these values; false if there is no key."""
    if not isinstance(proof, str) or not proof or not proof.isascii():
        return False
    try:
        return hmac.compare_digest(proof, _digest(_key(create=False), kind, values))
    except (_Unusable, TypeError, ValueError, RecursionError):  # values from a file may be of any type
        return False


def key_problem(create: bool = False) -> str:
    """Why this user's key cannot be used, and what to do, in sentences; empty if it can, or if there is none yet.

    Args:
        create: Whether to create the key if there is none yet.
    """
    try:
        _key(create)
    except _Missing:
        return ""
    except _Unusable as error:
        return str(error)
    return ""


def _digest(key: bytes, kind: str, values: Plain) -> str:
    message = json.dumps(["mutiny", kind, values], sort_keys=True).encode()
    return hmac.new(key, message, hashlib.sha256).hexdigest()


def _key(create: bool) -> bytes:
    path = key_file()
    try:
        if create and not path.exists():
            _create(path)
        return _read(path.resolve(strict=True))
    except FileNotFoundError:
        raise (_Unusable if create else _Missing)(f"The key {path} is a link to nothing.") from None
    except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links
        why = getattr(error, "strerror", None) or error
        fix = f"Set {VARIABLE} to a file in a folder of your own."
        raise _Unusable(f"The key {path} cannot be {'created or ' * create}read ({why}). {fix}") from None


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(handle, "rb") as file:
        _check_owned(path, os.fstat(handle))
        key = file.read(LARGEST + 1)
    if not SMALLEST <= len(key) <= LARGEST:
        expected = f"expected {SMALLEST} to {LARGEST} bytes"
        raise _Unusable(f"The key {path} has {len(key)} bytes: {expected}. Delete it, and a new one is created.")
    return key


def _check_owned(path: Path, found: os.stat_result) -> None:
    """Raises an error unless only this user, or the administrator, can read the key and write in its folder."""
    if not stat.S_ISREG(found.st_mode):
        raise _Unusable(f"The key {path} is no file. Set {VARIABLE} to one.")
    _check_folder(path)
    if sys.platform == "win32":
        return
    if found.st_uid not in (os.geteuid(), 0):
        raise _Unusable(f"The key {path} belongs to another user. Set {VARIABLE} to a file of your own.")
    if found.st_mode & 0o077:
        fix = "Others may know it by now: delete it, and a new one is created."
        raise _Unusable(f"The key {path} can be read or written by other users. {fix}")


def _check_folder(path: Path) -> None:
    if sys.platform == "win32":
        return
    folder = path.parent.stat()
    if folder.st_uid not in (os.geteuid(), 0):
        raise _Unusable(f"The folder of the key {path} belongs to another user. Set {VARIABLE} to a file of your own.")
    if folder.st_mode & 0o022:
        fix = f"Run `chmod go-w {quoted(path.parent)}`, or set {VARIABLE} to a file elsewhere."
        raise _Unusable(f"Other users can write in the folder of the key {path}. {fix}")


def _create(path: Path) -> None:
    """Creates a key, unless another process was faster: either whole or not at all, and never in place of another."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _check_folder(path)
    with _draft(path.parent) as (handle, draft):  # only this user can read it
        os.write(handle, secrets.token_bytes(SMALLEST))
        os.fsync(handle)
        place = handle if os.link in os.supports_dir_fd else None  # if there is one, Linux follows links in /proc
        with suppress(FileExistsError):
            os.link(draft, path, src_dir_fd=place)


@contextmanager
def _draft(folder: Path) -> Iterator[tuple[int, str]]:
    """A new file and its name: on Linux one that vanishes with this process, so that no copy of a key is ever left."""
    nameless = getattr(os, "O_TMPFILE", 0)
    handle = -1
    if nameless and Path("/proc/self/fd").exists():
        with suppress(OSError):  # a file system without nameless files
            handle = os.open(folder, nameless | os.O_WRONLY, 0o600)
    if handle >= 0:
        try:
            yield handle, f"/proc/self/fd/{handle}"
        finally:
            os.close(handle)
        return
    handle, draft = tempfile.mkstemp(dir=folder, prefix=".key-")
    try:
        yield handle, draft
    finally:
        os.close(handle)
        Path(draft).unlink(missing_ok=True)
