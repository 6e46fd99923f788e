"""Attacks by name."""

from __future__ import annotations

from mutiny.attacks.auto import Auto
from mutiny.attacks.base import Attack
from mutiny.attacks.carlini import Carlini
from mutiny.attacks.pgd import Fgsm, Pgd
from mutiny.errors import BadInput
from mutiny.parsing import Names

ATTACKS: dict[str, type[Attack]] = {kind.code: kind for kind in (Pgd, Fgsm, Carlini, Auto)}
NAMES = Names("attacks", Attack, ATTACKS, "pgd(iterations=20)", "mutiny attack --help")


def as_attack(wanted: str | Attack) -> Attack:
    """An attack from its name, with parameters if you like.

    >>> str(as_attack("pgd(norm=l2, iterations=20)"))
    'pgd(norm=l2, iterations=20)'
    """
    found = NAMES.parse(wanted) if isinstance(wanted, str) else (wanted,)
    if len(found) != 1 or not isinstance(found[0], Attack):
        raise BadInput("attack", repr(wanted), f"one of {', '.join(ATTACKS)}")
    return found[0]
