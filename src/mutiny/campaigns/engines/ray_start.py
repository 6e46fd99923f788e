"""A Ray cluster that mutiny starts on this machine, closed to others."""

from __future__ import annotations

import ipaddress
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib import import_module
from pathlib import Path
from types import ModuleType

from mutiny.campaigns.engines.ray_package import first_sentence, init
from mutiny.core.errors import BadInput

QUICK = {"worker_niceness": 0}
"""Ray's default niceness, 15, starves its workers if the machine has other work."""
LONGEST = 20
"""Largest number of characters of a folder in which Ray can make sockets, whose paths are limited."""


@contextmanager
def private_cluster(ray: ModuleType, cores: int | None) -> Iterator[None]:
    """Starts a cluster on this machine for this process alone, and ends it again.

    It listens on the loopback interface, asks for a random token, has no dashboard, and keeps its files in a folder
    that other users cannot enter; Ray makes its own folders writable for everyone.

    Args:
        ray: The package.
        cores: Number of cores to use; all by default.
    """
    with ExitStack() as stack:
        folder = stack.enter_context(private_folder())
        stack.enter_context(own_token())
        stack.callback(ray.shutdown)
        try:
            with loopback():
                files, settings = str(folder / "ray"), dict(QUICK)  # Ray adds to the settings
                init(ray, "local", num_cpus=cores, include_dashboard=False, _temp_dir=files, _system_config=settings)
        except Exception as error:
            expected = "a Ray cluster that can be started on this machine"
            raise BadInput("engine", "ray", expected, f"{first_sentence(error)}.") from error
        where = ray.util.get_node_ip_address()
        if not ipaddress.ip_address(where).is_loopback:
            fix = f"Ray {ray.__version__} listens on {where}. Install another version, or start a cluster and join it."
            raise BadInput("engine", "ray", "a cluster that other machines cannot reach", fix)
        yield


@contextmanager
def private_folder() -> Iterator[Path]:
    """A new folder that other users cannot enter, with a short path; removed at the end."""
    usual = os.environ.get("RAY_TMPDIR") or tempfile.gettempdir()
    parent = "/tmp" if len(usual) > LONGEST and os.name == "posix" else usual
    try:
        Path(parent).mkdir(parents=True, exist_ok=True)
        folder = tempfile.mkdtemp(prefix="mutiny-", dir=parent)
    except OSError as error:
        fix = f"{parent}: {error.strerror}. Set RAY_TMPDIR to another folder with at most {LONGEST} characters."
        raise BadInput("engine", "ray", "a folder for Ray's temporary files that can be written to", fix) from error
    try:
        yield Path(folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def own_token() -> Iterator[None]:
    """Lets clusters that are started inside ask for a new random token, whatever the user's variables say of others."""
    own = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": secrets.token_hex(32), "RAY_ENABLE_K8S_TOKEN_AUTH": "0"}
    try:
        with environment(own):
            _read_authentication_again()
            yield
    finally:
        _read_authentication_again()


def _read_authentication_again() -> None:
    """Makes Ray forget the mode and the token that it read from the environment earlier in this process."""
    raylet = import_module("ray._raylet")
    raylet.Config.initialize("")
    if os.environ.get("RAY_AUTH_MODE", "") != "token" or _token_is_there():  # Ray aborts if it finds none
        raylet.AuthenticationTokenLoader.instance().reset_cache()


def _token_is_there() -> bool:
    named = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(named) or Path("~/.ray/auth_token").expanduser().exists()


@contextmanager
def loopback() -> Iterator[None]:
    """Lets Ray use the loopback address as that of this machine, as it does on macOS and Windows."""
    from ray._private import ray_constants

    before = ray_constants.ENABLE_RAY_CLUSTER
    ray_constants.ENABLE_RAY_CLUSTER = False
    try:
        with environment({ray_constants.ENABLE_RAY_CLUSTERS_ENV_VAR: "0"}):
            yield
    finally:
        ray_constants.ENABLE_RAY_CLUSTER = before


@contextmanager
def environment(variables: Mapping[str, str]) -> Iterator[None]:
    """Environment variables of this process and of those that it starts inside."""
    before = {name: os.environ.get(name) for name in variables}
    os.environ.update(variables)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
