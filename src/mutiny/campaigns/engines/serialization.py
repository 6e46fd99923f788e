"""Serialization of work and values for other processes.

A value becomes *parts*: a pickle, and the raw bytes of its large arrays and tensors, which are copied as rarely as
possible. Parts are sent through a pipe, or written to a file that any number of processes map into memory. They share
its memory; a process that writes to an array gets private copies of the pages that it changes.
"""

from __future__ import annotations

import functools
import io
import mmap
import pickle
import struct
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import IO, Any

import cloudpickle
import numpy as np
import torch

from mutiny.campaigns.jobs import Work
from mutiny.core.errors import BadInput

Part = bytes | bytearray | memoryview

MAGIC = b"mutiny\x00\x01"
ALIGNED = 64
"""Alignment of parts in bytes, the same as torch's own, so that its kernels treat mapped tensors like others."""
APART = 1024
"""Arrays with fewer bytes are kept inside the pickle."""

_registry = threading.Lock()


def pack(value: Any, unimportable: Sequence[ModuleType] = ()) -> list[Part]:
    """The parts of a value.

    Args:
        value: Anything that cloudpickle can handle, including lambdas and classes of ``__main__``.
        unimportable: Modules that the receiver cannot import; what they define is sent by value.
    """
    file = io.BytesIO()
    pickler = _Packer(file)
    with _by_value(unimportable):
        pickler.dump(value)
    return [struct.pack("<I", len(pickler.arrays)) + file.getvalue(), *pickler.arrays, *pickler.storages]


def unpack(parts: Sequence[Part]) -> Any:
    """The value of parts; its large arrays and tensors use the memory of ``parts``, which must be writable."""
    head = memoryview(parts[0])
    (arrays,) = struct.unpack_from("<I", head)
    return _Unpacker(io.BytesIO(head[4:]), parts[1 : 1 + arrays], parts[1 + arrays :]).load()


def pack_work(work: Work, unimportable: Sequence[ModuleType] = ()) -> list[Part]:
    """The parts of work; raises `BadInput`, which names the attribute, if it cannot be serialized."""
    try:
        return pack(work, unimportable)
    except Exception as error:
        where, reason = _unpicklable_part(work, f"<{type(work).__name__}>", unimportable, error, 8)
        fix = f"{type(reason).__name__}: {reason}. Create such things inside the call, or use the serial engine."
        raise BadInput("work", where, "something that can be sent to other processes", fix) from error


def write_parts(file: IO[bytes], parts: Sequence[Part]) -> None:
    """Writes parts to the beginning of a file, in the form that `read_work` maps."""
    sizes = [memoryview(part).nbytes for part in parts]
    file.write(MAGIC + struct.pack(f"<{1 + len(sizes)}Q", len(sizes), *sizes))
    for part in parts:
        file.write(bytes(-file.tell() % ALIGNED))
        file.write(part)
    file.flush()


def read_work(path: Path | str) -> Work:
    """Work whose arrays and tensors are mapped from the file, and shared with other readers until they are changed."""
    with Path(path).open("rb") as file:
        whole = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY))
    if whole[: len(MAGIC)] != MAGIC:
        raise BadInput("work", str(path), "a file that mutiny wrote")
    (count,) = struct.unpack_from("<Q", whole, len(MAGIC))
    sizes = struct.unpack_from(f"<{count}Q", whole, len(MAGIC) + 8)
    parts: list[Part] = []
    end = len(MAGIC) + 8 + 8 * count
    for size in sizes:
        start = end + -end % ALIGNED
        end = start + size
        parts.append(whole[start:end])
    work: Work = unpack(parts)
    return work


def send(pipe: IO[bytes], parts: Sequence[Part]) -> None:
    """Writes parts into a pipe."""
    sizes = [memoryview(part).nbytes for part in parts]
    pipe.write(struct.pack(f"<{1 + len(sizes)}Q", len(sizes), *sizes))
    for part in parts:
        pipe.write(part)
    pipe.flush()


def receive(pipe: IO[bytes]) -> list[Part]:
    """Reads parts from a pipe; raises `EOFError` if the other side is gone."""
    (count,) = struct.unpack("<Q", _read(pipe, 8))
    return [_read(pipe, size) for size in struct.unpack(f"<{count}Q", _read(pipe, 8 * count))]


def _read(pipe: IO[bytes], size: int) -> bytearray:
    data = bytearray(size)
    view, done = memoryview(data), 0
    while done < size:
        got = pipe.readinto(view[done:])  # type: ignore[attr-defined]
        if not got:
            raise EOFError
        done += got
    return data


class _Packer(cloudpickle.Pickler):  # type: ignore[misc]
    """Keeps arrays and the storages of tensors out of the pickle; tensors that share a storage still do afterwards."""

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__(file, protocol=5, buffer_callback=self._keep)
        self.arrays: list[Part] = []
        self.storages: list[Part] = []
        self._known: dict[int, tuple[int, torch.UntypedStorage]] = {}

    def _keep(self, buffer: pickle.PickleBuffer) -> bool:
        raw = buffer.raw()
        if raw.nbytes >= APART:
            self.arrays.append(raw)
        return raw.nbytes < APART

    def reducer_override(self, value: Any) -> Any:
        """Pickles small arrays by value, and ``torch.ops`` and its namespaces, which only look like modules, by name.

        Otherwise a small array would be a view of a bytes object, which takes more memory than the array.
        """
        if type(value) is np.ndarray and value.nbytes < APART and value.flags.writeable:
            return value.__reduce__()
        if isinstance(value, torch._ops._Ops):
            return _operators, ()
        if isinstance(value, torch._ops._OpNamespace):
            return _operators, (value.name,)
        return super().reducer_override(value)

    def persistent_id(self, value: Any) -> tuple[int, torch.dtype | None, str] | None:
        if isinstance(value, torch.storage.TypedStorage):
            storage, dtype = value._untyped_storage, value.dtype
        elif isinstance(value, torch.UntypedStorage):
            storage, dtype = value, None
        else:
            return None
        if storage._cdata not in self._known:
            self._known[storage._cdata] = len(self.storages), storage
            whole = torch.empty(0, dtype=torch.uint8).set_(storage.cpu())  # type: ignore[no-untyped-call]
            self.storages.append(whole.numpy().data)
        return self._known[storage._cdata][0], dtype, str(storage.device)


def _operators(*names: str) -> Any:
    return functools.reduce(getattr, names, torch.ops)


class _Unpacker(pickle.Unpickler):
    """Restores what `_Packer` kept out of the pickle."""

    def __init__(self, file: IO[bytes], arrays: Sequence[Part], storages: Sequence[Part]) -> None:
        super().__init__(file, buffers=arrays)
        self._storages = storages
        self._known: dict[int, torch.UntypedStorage] = {}

    def persistent_load(self, pid: tuple[int, torch.dtype | None, str]) -> Any:
        index, dtype, device = pid
        if index not in self._known:
            part = self._storages[index]
            whole = torch.frombuffer(part, dtype=torch.uint8) if len(part) else torch.empty(0, dtype=torch.uint8)
            self._known[index] = whole.to(device).untyped_storage()
        storage = self._known[index]
        if dtype is None:
            return storage
        return torch.storage.TypedStorage(wrap_storage=storage, dtype=dtype, _internal=True)  # type: ignore[no-untyped-call]


@contextmanager
def _by_value(modules: Sequence[ModuleType]) -> Iterator[None]:
    """Makes cloudpickle send the code of these modules instead of their names."""
    with _registry:
        known = cloudpickle.list_registry_pickle_by_value()
        new = [module for module in modules if module.__name__ not in known]
        for module in new:
            cloudpickle.register_pickle_by_value(module)
        try:
            yield
        finally:
            for module in new:
                cloudpickle.unregister_pickle_by_value(module)


def _unpicklable_part(
    value: Any, where: str, unimportable: Sequence[ModuleType], reason: Exception, depth: int
) -> tuple[str, Exception]:
    """Path of the innermost part of ``value`` that cannot be pickled, and the error."""
    if isinstance(value, dict):
        inside = [(f"{where}[{key!r}]", item) for key, item in value.items()]
    elif isinstance(value, (list, tuple, set, frozenset)):
        inside = [(f"{where}[{index}]", item) for index, item in enumerate(value)]
    else:
        closure = getattr(value, "__closure__", None) or ()
        names = getattr(getattr(value, "__code__", None), "co_freevars", ())
        inside = [(f"{where}.{name}", item) for name, item in getattr(value, "__dict__", {}).items()]
        inside += [(f"{where}:{name}", cell.cell_contents) for name, cell in zip(names, closure, strict=True)]
    for path, item in inside if depth else ():
        try:
            pack(item, unimportable)
        except Exception as error:
            return _unpicklable_part(item, path, unimportable, error, depth - 1)
    return where, reason
