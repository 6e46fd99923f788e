"""What the notice rate should reach, and whether it does."""

from __future__ import annotations

SPREAD = 0.05
COVERED = (0.92, 0.99)
FALL = 0.02
ORDERED = 0.95
EASY = 0.5
ALARMS = 0.05
BIAS = 0.03
POWER = 0.8


def verdict(holds: bool) -> str:
    """In words.

    >>> verdict(False)
    'goal missed'
    """
    return "goal met" if holds else "goal missed"
