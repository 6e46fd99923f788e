"""mutiny: can you trust this neural network?

>>> import mutiny
>>> subject = mutiny.load_subject("digits")
>>> result = mutiny.assess(subject, operators="WI,NI", originals=10)  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutiny.core.errors import BadInput, MutinyError, NotApplicable, PreflightFailed, UntrustedFile
    from mutiny.core.records import Verdict
    from mutiny.faults import OPERATORS, Operator
    from mutiny.faults.evaluation import Screening
    from mutiny.reports.loading import load_result
    from mutiny.subjects import Subject, load_subject
    from mutiny.subjects.data import mutate
    from mutiny.subjects.tasks import Classification, Regression
    from mutiny.subjects.training import Recipe, load_weights
    from mutiny.verbs.assess.assess import assess
    from mutiny.verbs.assess.kill_rule import KillRule
    from mutiny.verbs.assess.result import Assessment
    from mutiny.verbs.assess.search import Search
    from mutiny.verbs.assess.weak_set import WeakSet
    from mutiny.verbs.attack.attack import attack
    from mutiny.verbs.attack.result import Robustness
    from mutiny.verbs.locate.locate import locate
    from mutiny.verbs.locate.result import Location
    from mutiny.verbs.locate.synthesis import Ascent
    from mutiny.verbs.locate.synthesize import synthesize
    from mutiny.verbs.repair.repair import repair
    from mutiny.verbs.repair.result import Repair
    from mutiny.verbs.select import METHODS, Selector
    from mutiny.verbs.select.result import Selection
    from mutiny.verbs.select.retraining.retraining import accuracy_after_retraining
    from mutiny.verbs.select.select import select
    from mutiny.verbs.strengthen.result import Strengthening
    from mutiny.verbs.strengthen.strengthen import strengthen

_WHERE = {
    "Ascent": "mutiny.verbs.locate.synthesis",
    "Assessment": "mutiny.verbs.assess.result",
    "BadInput": "mutiny.core.errors",
    "Classification": "mutiny.subjects.tasks",
    "KillRule": "mutiny.verbs.assess.kill_rule",
    "Location": "mutiny.verbs.locate.result",
    "METHODS": "mutiny.verbs.select",
    "MutinyError": "mutiny.core.errors",
    "NotApplicable": "mutiny.core.errors",
    "OPERATORS": "mutiny.faults",
    "Operator": "mutiny.faults",
    "PreflightFailed": "mutiny.core.errors",
    "Recipe": "mutiny.subjects.training",
    "Regression": "mutiny.subjects.tasks",
    "Repair": "mutiny.verbs.repair.result",
    "Robustness": "mutiny.verbs.attack.result",
    "Screening": "mutiny.faults.evaluation",
    "Search": "mutiny.verbs.assess.search",
    "Selection": "mutiny.verbs.select.result",
    "Selector": "mutiny.verbs.select",
    "Strengthening": "mutiny.verbs.strengthen.result",
    "Subject": "mutiny.subjects",
    "UntrustedFile": "mutiny.core.errors",
    "Verdict": "mutiny.core.records",
    "WeakSet": "mutiny.verbs.assess.weak_set",
    "accuracy_after_retraining": "mutiny.verbs.select.retraining.retraining",
    "assess": "mutiny.verbs.assess.assess",
    "attack": "mutiny.verbs.attack.attack",
    "load_result": "mutiny.reports.loading",
    "load_subject": "mutiny.subjects",
    "load_weights": "mutiny.subjects.training",
    "locate": "mutiny.verbs.locate.locate",
    "mutate": "mutiny.subjects.data",
    "repair": "mutiny.verbs.repair.repair",
    "select": "mutiny.verbs.select.select",
    "strengthen": "mutiny.verbs.strengthen.strengthen",
    "synthesize": "mutiny.verbs.locate.synthesize",
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
    "load_result",
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
