"""Files that only this user reads and writes, in folders where others may write too.

A link that somebody else has put into a shared folder decides nothing: files are created exclusively, under names that
cannot be guessed, and links are not followed where mutiny chooses the name.
"""

from __future__ import annotations

import os
import secrets
import socket
import stat
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from mutiny.core.errors import BadInput

NOFOLLOW = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NONBLOCK", 0)
"""Flags for names that mutiny chooses: no links, and no wait for the other end of a pipe. Windows has none of them."""
PRIVATE, USUAL = 0o600, 0o666
"""Permissions of files, from which the user's umask takes away."""


def create(path: Path, mode: int = PRIVATE) -> None:
    """Creates an empty file; raises `FileExistsError` for everything that is there already, also for a link."""
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NOFOLLOW, mode))


def is_plain(handle: int) -> bool:
    """Whether an open file is a regular file without a second name, through which somebody else's would be changed."""
    status = os.fstat(handle)
    return stat.S_ISREG(status.st_mode) and status.st_nlink <= 1


def is_own(handle: int) -> bool:
    """Whether an open file is regular and belongs to this user; always on Windows."""
    status = os.fstat(handle)
    return stat.S_ISREG(status.st_mode) and _user() in (None, status.st_uid)


@contextmanager
def replaced(path: Path, mode: int = PRIVATE) -> Iterator[Path]:
    """A new file beside ``path`` that replaces it at the end, and is deleted if anything fails.

    What killed processes of this user have left in the folder is deleted, too.
    """
    here = f".mutiny-{zlib.crc32(os.fsencode(socket.gethostname())):08x}"  # processes of other machines may run
    for left in path.parent.glob(f"{here}-*.part"):
        with suppress(OSError, ValueError):
            if left.lstat().st_uid == _user() and not _is_running(int(left.name.split("-")[2])):
                left.unlink()
    part = path.with_name(f"{here}-{os.getpid()}-{secrets.token_hex(8)}.part")
    create(part, mode)
    try:
        yield part
        part.replace(path)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it belongs to another user
        return True
    return True


def followed(path: str | Path, argument: str) -> Path:
    """The path without links; raises `BadInput` for a link that somebody else has put into a shared folder.

    The rule is that of Linux (``fs.protected_symlinks``), which does not apply to paths that a program resolves: in a
    folder in which everybody may write, links of this user and of the folder's owner are followed.
    """
    whole = Path(path).absolute()
    for link in (whole, *whole.parents):
        if _user() is not None and link.is_symlink():
            owner, folder = link.lstat().st_uid, link.parent.stat()
            shared = folder.st_mode & stat.S_ISVTX and folder.st_mode & stat.S_IWOTH
            if shared and owner not in (_user(), folder.st_uid):
                fix = f"{link} is a link of another user to {link.readlink()}: choose another name."
                raise BadInput(argument, path, "a file, or a link of your own", fix)
    return whole.resolve()


def make_private(folder: Path) -> None:
    """Makes a folder, and those above it, which only this user can open; existing ones stay as they are."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(mode=0o700, exist_ok=True)


def why_shared(folder: Path) -> str:
    """Why others could change files of this user in a folder, in a sentence; empty if they cannot.

    Group members may write if the group is the user's own, as on systems that give each user one.
    """
    user = _user()
    if user is None:
        return ""
    folder = folder.absolute()
    status = folder.stat()
    if status.st_uid not in (user, 0):
        return f"It belongs to {_name(status.st_uid)}."
    if status.st_mode & stat.S_IWOTH or (status.st_mode & stat.S_IWGRP and not _own_group(status.st_gid, user)):
        return f"Others may write in it: run chmod go-w {folder}."
    for above in folder.resolve().parents:
        mode = above.stat().st_mode
        if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
            return f"Others may write in {above}: run chmod o-w {above}."
    return ""


def _user() -> int | None:
    return os.geteuid() if hasattr(os, "geteuid") else None


def _name(user: int) -> str:
    import pwd  # not on Windows, where nobody asks

    try:
        return pwd.getpwuid(user).pw_name
    except KeyError:
        return f"user {user}"


def _own_group(group: int, user: int) -> bool:
    import grp

    try:
        return grp.getgrgid(group).gr_name == _name(user)
    except KeyError:
        return False
