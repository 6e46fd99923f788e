"""Arguments that all verbs share: seed, device, engine, store, progress."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType

import torch

from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.parsing import as_engine
from mutiny.campaigns.stores.base import Store
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput
from mutiny.core.progress import Progress
from mutiny.models.shared_context import torch_threads


@dataclass(frozen=True)
class Runtime:
    """Arguments that all verbs share.

    Attributes:
        seed: Seed of everything random.
        device: Torch device; the device of the models by default.
        batch_size: Inputs per forward pass; measured once per model and device by default.
        threads: Torch threads of each job; an engine that has a number of its own keeps it.
        engine: Engine that runs jobs: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages; none by default.

    >>> Runtime(seed=1.5)
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: seed=1.5: expected a whole number of at least 0.
    """

    seed: int = 0
    device: str | None = None
    batch_size: int | None = None
    threads: int = 1
    engine: str | Engine | None = None
    workers: int | None = None
    store: str | Path | Store | None = None
    folder: str | Path | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_whole("seed", self.seed, 0)
        check_whole("batch_size", 1 if self.batch_size is None else self.batch_size)
        check_whole("threads", self.threads)
        if not isinstance(self.folder, (str, Path, NoneType)):
            raise BadInput("folder", repr(self.folder)[:60], "the path of a folder")
        if not isinstance(self.store, (str, Path, Store, NoneType)):
            raise BadInput("store", repr(self.store)[:60], "the path of a file, or an open store")
        _check_device_name(self.device)
        if self.progress and not all(callable(getattr(self.progress, name, None)) for name in ("stage", "step")):
            raise BadInput("progress", repr(self.progress)[:60], "an object with the methods stage and step, or None")
        object.__setattr__(self, "seed", int(self.seed))
        object.__setattr__(self, "batch_size", None if self.batch_size is None else int(self.batch_size))

    @contextmanager
    def opened(self) -> Iterator[Runtime]:
        """Opens the engine and the store, and sets the number of threads of torch.

        On leaving, the number of threads is as before, and an engine and a store that were given by name are closed.
        """
        with ExitStack() as stack:
            engine = stack.enter_context(as_engine(self.engine, self.workers, threads=self.threads))
            threads = engine.threads or self.threads
            stack.enter_context(torch_threads.set_to(threads))
            store = self.store
            if store is not None and not isinstance(store, Store):
                store = stack.enter_context(SqliteStore(store))
            yield replace(self, threads=threads, engine=engine, workers=None, store=store)

    @property
    def originals_folder(self) -> Path | None:
        """Folder for trained networks; ``None`` for the default."""
        return None if self.folder is None else Path(self.folder)


def _check_device_name(name: str | None) -> None:
    """Raises `BadInput` for a name that no device has; whether this machine has the device is checked later."""
    try:
        torch.device("cpu" if name is None else name)
    except (RuntimeError, TypeError):
        fix = "Usual ones are cpu, cuda, cuda:1 for the second GPU, and mps."
        raise BadInput("device", repr(name), "a device of this machine", fix) from None
