"""Which methods are compared, and in which order."""

from __future__ import annotations

from mutiny.verbs.select import METHODS
from studies.nss import paper

NSS, AUTHORS = "nss", "nss(variant=authors-code)"
CLEAN, FORMULA = "nss(reference=clean)", "nss(distance=square, normalize=max)"
"""One step from the printed algorithms to the authors' code each: the clean original, and the formula."""
NEEDS_CLEAN = (AUTHORS, CLEAN)
FOUR = (NSS, CLEAN, FORMULA, AUTHORS)
INTERNAL, GINI, RANDOM = "internal-gini", "deepgini", "random"

FIRST = (NSS, AUTHORS, CLEAN, FORMULA, GINI, RANDOM, INTERNAL, "softmax", "dsa", "dsa(by=coverage)")
"""The cheap and telling ones."""
MUTANTS = ("prima-kill", "kill-rate", "prima")
"""One pass per mutant: for a large network, a long time."""
THEIRS = tuple(paper.METHODS.values())
OTHERS = (AUTHORS, CLEAN, FORMULA, "dsa", "lsa", *(code for code in METHODS if code not in (*THEIRS, "dsa", "lsa")))
"""What the paper does not have."""
ALL = (*THEIRS, *OTHERS)
LAST = (*(name for name in ALL if name not in (*FIRST, *MUTANTS)), *MUTANTS)
