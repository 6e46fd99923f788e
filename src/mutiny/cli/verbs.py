"""Commands that a campaign can be resumed with, by name."""

from __future__ import annotations

from collections.abc import Callable

from mutiny.cli.assess import assess
from mutiny.cli.attack import attack
from mutiny.cli.locate import locate
from mutiny.cli.repair import repair
from mutiny.cli.select import select
from mutiny.cli.strengthen import strengthen

VERBS: dict[str, Callable[..., None]] = {
    "assess": assess, "attack": attack, "locate": locate, "repair": repair, "select": select,
    "strengthen": strengthen,
}  # fmt: skip
