"""Engines by name."""

from __future__ import annotations

from mutiny.campaigns.engines.base import Engine
from mutiny.campaigns.engines.serial import Serial
from mutiny.core.checks import check_whole
from mutiny.core.errors import BadInput

ENGINES = ("serial", "processes", "ray")
MOST_WORKERS = 100_000


def as_engine(
    engine: str | Engine | None, workers: int | None = None, address: str | None = None, threads: int = 1
) -> Engine:
    """The engine with this name.

    Args:
        engine: ``"serial"``, ``"processes"``, ``"ray"``, or an instance, which is returned. By default ``"ray"`` if an
            address is given, ``"processes"`` if there are several workers, else ``"serial"``.
        workers: Number of jobs that run at once; one per core by default.
        address: Ray cluster address; starts a local cluster by default.
        threads: Torch threads of each worker.

    >>> as_engine("serial"), as_engine(None, workers=2)
    (Serial(), Processes(2))
    """
    if isinstance(engine, Engine):
        if workers is not None or address is not None:
            raise BadInput("engine", engine, "a name where workers or address are given", "Give them to the engine.")
        return engine
    check_whole("workers", 1 if workers is None else workers, most=MOST_WORKERS)
    if engine is None:
        engine = "ray" if address else "processes" if (workers or 1) > 1 else "serial"
    if engine not in ENGINES:
        raise BadInput("engine", repr(engine), f"one of {', '.join(ENGINES)}")
    if address is not None and engine != "ray":
        raise BadInput("address", repr(address), f"nothing with the engine {engine}", "Use the engine ray.")
    if engine == "ray":
        from mutiny.campaigns.engines.ray import Ray

        return Ray(address, workers, threads)
    if engine == "processes":
        from mutiny.campaigns.engines.processes import Processes

        return Processes(workers, threads)
    if (workers or 1) > 1:
        raise BadInput("workers", workers, "1 with the engine serial", "Use the engine processes.")
    return Serial()
