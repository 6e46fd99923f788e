"""Which inputs are worth a label? To add a method: a file, and a line in `ALL`."""

from __future__ import annotations

from mutiny.selection.ats import Ats
from mutiny.selection.base import Selector
from mutiny.selection.ces import Ces
from mutiny.selection.coverage.kmnc import Kmnc
from mutiny.selection.coverage.nac import Nac
from mutiny.selection.coverage.nbc import Nbc
from mutiny.selection.coverage.snac import Snac
from mutiny.selection.coverage.tknc import Tknc
from mutiny.selection.kill_rate import KillRate
from mutiny.selection.npc import Npc
from mutiny.selection.nss import Nss
from mutiny.selection.prima import Prima
from mutiny.selection.prima_kill import PrimaKill
from mutiny.selection.random_choice import RandomChoice
from mutiny.selection.surprise.dsa import Dsa
from mutiny.selection.surprise.lsa import Lsa
from mutiny.selection.surprise.mdsa import Mdsa
from mutiny.selection.surprise.mlsa import Mlsa
from mutiny.selection.surprise.mmdsa import Mmdsa
from mutiny.selection.uncertainty.deepgini import DeepGini
from mutiny.selection.uncertainty.disagreement import Disagreement
from mutiny.selection.uncertainty.entropy import Entropy
from mutiny.selection.uncertainty.internal_gini import InternalGini
from mutiny.selection.uncertainty.margin import Margin
from mutiny.selection.uncertainty.mc_dropout import McDropout
from mutiny.selection.uncertainty.softmax import Softmax

ALL: tuple[type[Selector], ...] = (
    DeepGini,
    Softmax,
    Margin,
    Entropy,
    McDropout,
    Disagreement,
    Ats,
    KillRate,
    PrimaKill,
    Prima,
    Nss,
    InternalGini,
    Dsa,
    Lsa,
    Mdsa,
    Mlsa,
    Mmdsa,
    Nac,
    Kmnc,
    Nbc,
    Snac,
    Tknc,
    Npc,
    Ces,
    RandomChoice,
)
METHODS: dict[str, type[Selector]] = {method.code: method for method in ALL}

__all__ = ["ALL", "METHODS", "Selector", *sorted(method.__name__ for method in ALL)]
