"""Registry of attacks, and attacks from the names that users type."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mutiny.core.errors import BadInput
from mutiny.core.parsing import Names
from mutiny.core.registry import Registry
from mutiny.verbs.attack.auto import Auto
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.carlini import Carlini
from mutiny.verbs.attack.pgd import Fgsm, Pgd

ATTACKS: Registry[Attack] = Registry("mutiny.attacks", Attack, (Pgd, Fgsm, Carlini, Auto))
NAMES = Names("attacks", Attack, ATTACKS, "pgd(iterations=20)")
NORM = re.compile(r"\bnorm\s*=\s*\w+")


def as_attack(wanted: str | Attack) -> Attack:
    """Returns an attack from its name, with optional parameters.

    >>> str(as_attack("PGD(norm=L2, iterations=20)"))
    'pgd(norm=l2, iterations=20)'
    """
    attacks = as_attacks(wanted)
    if len(attacks) != 1:
        raise BadInput("attack", repr(wanted), f"one of {', '.join(ATTACKS)}")
    return attacks[0]


def as_attacks(wanted: str | Attack | Iterable[str | Attack], argument: str = "attack") -> tuple[Attack, ...]:
    """Returns attacks from text with commas, or from several names or instances; there may be none.

    Args:
        wanted: Attacks, one or several.
        argument: Name of the user's argument, for messages.

    >>> [str(attack) for attack in as_attacks("fgsm, pgd(iterations=5, restarts=2)")]
    ['fgsm', 'pgd(iterations=5, restarts=2)']
    >>> as_attacks(())
    ()
    """
    items: Any = (wanted,) if isinstance(wanted, str | Attack) else wanted
    if not isinstance(items, Iterable):
        raise BadInput(argument, repr(wanted), f"one of {', '.join(ATTACKS)}")
    lowered = [NORM.sub(lambda norm: norm.group().lower(), item) if isinstance(item, str) else item for item in items]
    return replace(NAMES, called=argument).parse(lowered) if lowered else ()
