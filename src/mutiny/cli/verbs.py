"""Commands that a campaign can be resumed with, by name."""

from __future__ import annotations

from collections.abc import Callable

from mutiny.cli.assess import assess

VERBS: dict[str, Callable[..., None]] = {"assess": assess}
