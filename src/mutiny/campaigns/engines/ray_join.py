"""A Ray cluster that mutiny joins, which must be trusted."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

from mutiny.campaigns.engines.ray_package import first_sentence, init
from mutiny.core.errors import BadInput

TRUSTED = (
    "jobs run on the Ray cluster at {address}. Trust whoever controls it, and whoever can reach it if it asks for no "
    "token: they can run code on this machine as you, and see your networks and data."
)
TOKEN = (
    "If the cluster asks for a token, set RAY_AUTH_MODE=token, and RAY_AUTH_TOKEN to the token, or RAY_AUTH_TOKEN_PATH "
    "to a file that holds it; `ray get-auth-token` shows it on a machine that has it."
)


@contextmanager
def joined_cluster(ray: ModuleType, address: str) -> Iterator[None]:
    """Joins the cluster at ``address``, and leaves it again."""
    if reason := unreachable(address):
        raise BadInput("address", repr(address), "a Ray cluster that can be reached", f"{reason}.")
    try:
        init(ray, address)
    except Exception as error:
        expected = "a Ray cluster that can be joined"
        raise BadInput("address", repr(address), expected, f"{first_sentence(error)}. {TOKEN}") from error
    try:
        yield
    finally:
        ray.shutdown()


def unreachable(address: str, seconds: float = 5.0) -> str:
    """The reason why an address with a port cannot be reached; empty if it can.

    Checked before Ray connects, because Ray would wait without reacting to Ctrl-C.

    >>> unreachable("auto"), unreachable("127.0.0.1:1")
    ('', 'Connection refused')
    """
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdigit():
        return ""
    try:
        with socket.create_connection((host.strip("[]"), int(port)), seconds):
            return ""
    except OSError as error:
        return str(error.strerror or error).capitalize()
    except OverflowError:
        return "There is no such port"
