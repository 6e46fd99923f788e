"""mutiny: can you trust this neural network?

>>> import mutiny
>>> subject = mutiny.load_subject("digits")
>>> result = mutiny.assess(subject, operators="WI,NI", originals=10)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutiny.attacks.attack import attack
    from mutiny.attacks.result import Robustness
    from mutiny.data import mutate
    from mutiny.errors import BadInput, MutinyError, NotApplicable, PreflightFailed, UntrustedFile
    from mutiny.evaluation import Screening
    from mutiny.localization.locate import locate
    from mutiny.localization.location import Location
    from mutiny.localization.synthesis import Ascent
    from mutiny.localization.synthesize import synthesize
    from mutiny.mutation.assess import assess
    from mutiny.mutation.assessment import Assessment
    from mutiny.mutation.kill import KillRule
    from mutiny.mutation.search import Search
    from mutiny.mutation.weak import WeakSet
    from mutiny.operators import OPERATORS, Operator
    from mutiny.records import Verdict
    from mutiny.repairs.repair import repair
    from mutiny.repairs.result import Repair
    from mutiny.selection import METHODS, Selector
    from mutiny.selection.retraining import accuracy_after_retraining
    from mutiny.selection.select import select
    from mutiny.selection.selection import Selection
    from mutiny.strengthening.result import Strengthening
    from mutiny.strengthening.strengthen import strengthen
    from mutiny.subjects import Subject, load_subject
    from mutiny.task import Classification, Regression
    from mutiny.training import Recipe, load_weights

_WHERE = {
    "Ascent": "mutiny.localization.synthesis",
    "Assessment": "mutiny.mutation.assessment",
    "BadInput": "mutiny.errors",
    "Classification": "mutiny.task",
    "KillRule": "mutiny.mutation.kill",
    "Location": "mutiny.localization.location",
    "METHODS": "mutiny.selection",
    "MutinyError": "mutiny.errors",
    "NotApplicable": "mutiny.errors",
    "OPERATORS": "mutiny.operators",
    "Operator": "mutiny.operators",
    "PreflightFailed": "mutiny.errors",
    "Recipe": "mutiny.training",
    "Regression": "mutiny.task",
    "Repair": "mutiny.repairs.result",
    "Robustness": "mutiny.attacks.result",
    "Screening": "mutiny.evaluation",
    "Search": "mutiny.mutation.search",
    "Selection": "mutiny.selection.selection",
    "Selector": "mutiny.selection",
    "Strengthening": "mutiny.strengthening.result",
    "Subject": "mutiny.subjects",
    "UntrustedFile": "mutiny.errors",
    "Verdict": "mutiny.records",
    "WeakSet": "mutiny.mutation.weak",
    "accuracy_after_retraining": "mutiny.selection.retraining",
    "assess": "mutiny.mutation.assess",
    "attack": "mutiny.attacks.attack",
    "load_subject": "mutiny.subjects",
    "load_weights": "mutiny.training",
    "locate": "mutiny.localization.locate",
    "mutate": "mutiny.data",
    "repair": "mutiny.repairs.repair",
    "select": "mutiny.selection.select",
    "strengthen": "mutiny.strengthening.strengthen",
    "synthesize": "mutiny.localization.synthesize",
}

__version__ = "0.1.0"
"""The only place where the version is written: pyproject.toml and all stored results take it from here."""

__all__ = [
    "METHODS",
    "OPERATORS",
    "Ascent",
    "Assessment",
    "BadInput",
    "Classification",
    "KillRule",
    "Location",
    "MutinyError",
    "NotApplicable",
    "Operator",
    "PreflightFailed",
    "Recipe",
    "Regression",
    "Repair",
    "Robustness",
    "Screening",
    "Search",
    "Selection",
    "Selector",
    "Strengthening",
    "Subject",
    "UntrustedFile",
    "Verdict",
    "WeakSet",
    "accuracy_after_retraining",
    "assess",
    "attack",
    "load_subject",
    "load_weights",
    "locate",
    "mutate",
    "repair",
    "select",
    "strengthen",
    "synthesize",
]


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used, so that importing mutiny imports nothing heavy."""
    if name in _WHERE:
        return getattr(importlib.import_module(_WHERE[name]), name)
    raise AttributeError(f"module 'mutiny' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
