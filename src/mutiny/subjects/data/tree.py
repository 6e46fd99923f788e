"""A folder of folders of files, on disk or inside a zip file, read without extracting."""

from __future__ import annotations

import zipfile
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from mutiny.core.errors import BadInput
from mutiny.core.limits import Allowance
from mutiny.subjects.data.archives import check_entries


class Tree(ABC):
    """A folder of files and folders. Names are sorted and relative, with ``/``; hidden entries are left out."""

    @abstractmethod
    def folders(self, inside: str = "") -> list[str]:
        """Names of the folders directly in ``inside``."""

    @abstractmethod
    def files(self, inside: str = "") -> list[str]:
        """Paths of the files directly in ``inside``."""

    @abstractmethod
    def read(self, file: str) -> bytes:
        """The content of a file; `BadInput` if it takes too much memory."""

    @abstractmethod
    def on_disk(self, file: str) -> int:
        """Bytes that a file takes on disk."""


class DiskTree(Tree):
    """A folder on disk."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __str__(self) -> str:
        return str(self.root)

    def folders(self, inside: str = "") -> list[str]:
        """Names of the folders directly in ``inside``."""
        return sorted(entry.name for entry in (self.root / inside).iterdir() if entry.is_dir() and _shown(entry.name))

    def files(self, inside: str = "") -> list[str]:
        """Paths of the files directly in ``inside``."""
        entries, start = (self.root / inside).iterdir(), f"{inside}/" if inside else ""
        return sorted(f"{start}{entry.name}" for entry in entries if entry.is_file() and _shown(entry.name))

    def read(self, file: str) -> bytes:
        """The content of a file; `BadInput` if it takes too much memory."""
        size = self.on_disk(file)
        Allowance("file", self.root / file, size).take(size)
        return (self.root / file).read_bytes()

    def on_disk(self, file: str) -> int:
        """Bytes that a file takes on disk."""
        return (self.root / file).stat().st_size


class ZipTree(Tree):
    """A folder inside a zip file; ``root`` is its path in there, empty for the top."""

    def __init__(self, archive: Path, root: str = "") -> None:
        self.archive, self.root = archive, root.strip("/")
        self._open()

    def _open(self) -> None:
        self._zip = zipfile.ZipFile(self.archive)
        start = f"{self.root}/" if self.root else ""
        self._folders: dict[str, set[str]] = {"": set()}
        self._files: dict[str, list[str]] = {}
        for entry in sorted(self._zip.namelist()):
            *parents, last = entry.removeprefix(start).split("/")
            if not entry.startswith(start) or not all(map(_shown, [*parents, last or "folder"])):
                continue
            for depth, parent in enumerate(parents):
                self._folders.setdefault("/".join(parents[:depth]), set()).add(parent)
            if last:
                self._files.setdefault("/".join(parents), []).append("/".join([*parents, last]))

    def __str__(self) -> str:
        return f"{self.archive}/{self.root}".rstrip("/")

    def __getstate__(self) -> dict[str, Any]:
        return {"archive": self.archive, "root": self.root}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._open()

    def folders(self, inside: str = "") -> list[str]:
        """Names of the folders directly in ``inside``."""
        return sorted(self._folders.get(inside, ()))

    def files(self, inside: str = "") -> list[str]:
        """Paths of the files directly in ``inside``."""
        return self._files.get(inside, [])

    def read(self, file: str) -> bytes:
        """The content of a file; `BadInput` if it takes too much memory."""
        entry = self._entry(file)
        check_entries([entry], "file", f"{self}/{file}", self.archive.stat().st_size)
        return self._zip.read(entry)

    def on_disk(self, file: str) -> int:
        """Bytes that a file takes on disk."""
        return self._entry(file).compress_size

    def _entry(self, file: str) -> zipfile.ZipInfo:
        return self._zip.getinfo(f"{self.root}/{file}" if self.root else file)


def open_tree(path: Path, name: str) -> Tree:
    """The tree at ``path``, which may point into a zip file, as in ``images.zip/cifar10/train``."""
    if path.is_dir():
        return DiskTree(path)
    archive = archive_in(path)
    if archive is None:
        raise BadInput(name, path, "an existing folder or .zip file", "Check the path.")
    try:
        tree = ZipTree(archive, path.relative_to(archive).as_posix().removeprefix("."))
    except Exception as error:  # zipfile raises errors of many kinds for files that nobody vouches for
        raise BadInput(name, archive, "an intact zip file", f"It cannot be read: {error}.") from error
    if not tree.folders() and not tree.files():
        raise BadInput(name, path, "a folder in the zip file", f"Look inside with unzip -l {archive}.")
    return tree


def archive_in(path: Path) -> Path | None:
    """The zip file that ``path`` is or points into."""
    for part in (path, *path.parents):
        if part.suffix.lower() == ".zip" and part.is_file():
            return part
    return None


def _shown(name: str) -> bool:
    return not name.startswith(".") and name != "__MACOSX"
