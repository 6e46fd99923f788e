"""Selection methods: which inputs should be labeled first? A new method is a file and a line in `ALL`."""

from __future__ import annotations

from mutiny.core.registry import Registry
from mutiny.verbs.select.ats import Ats
from mutiny.verbs.select.base import Selector
from mutiny.verbs.select.ces import Ces
from mutiny.verbs.select.coverage.kmnc import Kmnc
from mutiny.verbs.select.coverage.nac import Nac
from mutiny.verbs.select.coverage.nbc import Nbc
from mutiny.verbs.select.coverage.snac import Snac
from mutiny.verbs.select.coverage.tknc import Tknc
from mutiny.verbs.select.kill_rate import KillRate
from mutiny.verbs.select.npc import Npc
from mutiny.verbs.select.nss import Nss
from mutiny.verbs.select.prima import Prima
from mutiny.verbs.select.prima_kill import PrimaKill
from mutiny.verbs.select.random_choice import RandomChoice
from mutiny.verbs.select.surprise.dsa import Dsa
from mutiny.verbs.select.surprise.lsa import Lsa
from mutiny.verbs.select.surprise.mdsa import Mdsa
from mutiny.verbs.select.surprise.mlsa import Mlsa
from mutiny.verbs.select.surprise.mmdsa import Mmdsa
from mutiny.verbs.select.uncertainty.deepgini import DeepGini
from mutiny.verbs.select.uncertainty.disagreement import Disagreement
from mutiny.verbs.select.uncertainty.entropy import Entropy
from mutiny.verbs.select.uncertainty.internal_gini import InternalGini
from mutiny.verbs.select.uncertainty.margin import Margin
from mutiny.verbs.select.uncertainty.mc_dropout import McDropout
from mutiny.verbs.select.uncertainty.softmax import Softmax

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
METHODS: Registry[Selector] = Registry("mutiny.selectors", Selector, ALL)

__all__ = ["ALL", "METHODS", "Selector", *sorted(method.__name__ for method in ALL)]
