"""mutiny: would your tests notice if the network went wrong?

>>> import mutiny
>>> subject = mutiny.load_subject("digits")
>>> result = mutiny.assess(subject, operators="WI,NI", originals=10)  # doctest: +SKIP
"""

from __future__ import annotations

import ast
import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The public names, written once: type checkers read these imports, and the lines below read them as a table of what to
# import when a name is first used, so that importing mutiny imports nothing heavy.
if TYPE_CHECKING:
    from mutiny.campaigns.engines.base import Engine as Engine
    from mutiny.campaigns.stores.base import Store as Store
    from mutiny.core.errors import BadInput as BadInput
    from mutiny.core.errors import JobFailed as JobFailed
    from mutiny.core.errors import MissingExtra as MissingExtra
    from mutiny.core.errors import MutinyError as MutinyError
    from mutiny.core.errors import NotApplicable as NotApplicable
    from mutiny.core.errors import PluginError as PluginError
    from mutiny.core.errors import PreflightFailed as PreflightFailed
    from mutiny.core.errors import StoreError as StoreError
    from mutiny.core.errors import UntrustedFile as UntrustedFile
    from mutiny.core.progress import Progress as Progress
    from mutiny.core.records import FaultRecord as FaultRecord
    from mutiny.core.records import Verdict as Verdict
    from mutiny.core.results import Result as Result
    from mutiny.faults import OPERATORS as OPERATORS
    from mutiny.faults import Operator as Operator
    from mutiny.faults.evaluation import Screening as Screening
    from mutiny.faults.mutants import FaultyModel as FaultyModel
    from mutiny.faults.mutants import mutant as mutant
    from mutiny.faults.mutants import mutants as mutants
    from mutiny.faults.training import TRAINING_OPERATORS as TRAINING_OPERATORS
    from mutiny.faults.training import TrainingOperator as TrainingOperator
    from mutiny.models.patch import Patch as Patch
    from mutiny.reports.loading import load_result as load_result
    from mutiny.reports.tracking import log_to_mlflow as log_to_mlflow
    from mutiny.reports.tracking import log_to_tensorboard as log_to_tensorboard
    from mutiny.subjects import Subject as Subject
    from mutiny.subjects import load_subject as load_subject
    from mutiny.subjects.data import Benign as Benign
    from mutiny.subjects.data import Data as Data
    from mutiny.subjects.data import MutatedData as MutatedData
    from mutiny.subjects.data import Mutation as Mutation
    from mutiny.subjects.data import Noise as Noise
    from mutiny.subjects.data import image_folder as image_folder
    from mutiny.subjects.data import mutate as mutate
    from mutiny.subjects.tasks import Classification as Classification
    from mutiny.subjects.tasks import Regression as Regression
    from mutiny.subjects.training import OwnTraining as OwnTraining
    from mutiny.subjects.training import Recipe as Recipe
    from mutiny.subjects.training import load_weights as load_weights
    from mutiny.subjects.training.changes import NetworkChange as NetworkChange
    from mutiny.subjects.training.own import TrainingSettings as TrainingSettings
    from mutiny.verbs.assess.assess import assess as assess
    from mutiny.verbs.assess.judges import JUDGES as JUDGES
    from mutiny.verbs.assess.judges import Judge as Judge
    from mutiny.verbs.assess.judges import PairedTest as PairedTest
    from mutiny.verbs.assess.muff.kill_rule import KillRule as KillRule
    from mutiny.verbs.assess.muff.options import Savings as Savings
    from mutiny.verbs.assess.muff.options import WeakSet as WeakSet
    from mutiny.verbs.assess.muff.result import MuffAssessment as MuffAssessment
    from mutiny.verbs.assess.muff.search import Search as Search
    from mutiny.verbs.assess.result import Assessment as Assessment
    from mutiny.verbs.attack.adapters import EnsembleModule as EnsembleModule
    from mutiny.verbs.attack.adapters import art_classifier as art_classifier
    from mutiny.verbs.attack.attack import attack as attack
    from mutiny.verbs.attack.attack import mutants_of as mutants_of
    from mutiny.verbs.attack.base import Attack as Attack
    from mutiny.verbs.attack.defenses import BitDepth as BitDepth
    from mutiny.verbs.attack.defenses import Defended as Defended
    from mutiny.verbs.attack.defenses import Jpeg as Jpeg
    from mutiny.verbs.attack.ensemble import Ensemble as Ensemble
    from mutiny.verbs.attack.methods import ATTACKS as ATTACKS
    from mutiny.verbs.attack.mutants import Choice as Choice
    from mutiny.verbs.attack.mutants import Mutant as Mutant
    from mutiny.verbs.attack.result import Robustness as Robustness
    from mutiny.verbs.attack.trained import distilled as distilled
    from mutiny.verbs.attack.trained import smoothed as smoothed
    from mutiny.verbs.compare.compare import compare as compare
    from mutiny.verbs.compare.result import Comparison as Comparison
    from mutiny.verbs.locate.activity import Activity as Activity
    from mutiny.verbs.locate.ascent import Ascent as Ascent
    from mutiny.verbs.locate.locate import locate as locate
    from mutiny.verbs.locate.measures import MEASURES as MEASURES
    from mutiny.verbs.locate.measures import Measure as Measure
    from mutiny.verbs.locate.result import Location as Location
    from mutiny.verbs.locate.suspects import Suspect as Suspect
    from mutiny.verbs.locate.synthesis import Synthesis as Synthesis
    from mutiny.verbs.locate.synthesize import synthesize as synthesize
    from mutiny.verbs.repair.base import RepairMethod as RepairMethod
    from mutiny.verbs.repair.files import load_patch as load_patch
    from mutiny.verbs.repair.methods import REPAIRS as REPAIRS
    from mutiny.verbs.repair.repair import repair as repair
    from mutiny.verbs.repair.result import Repair as Repair
    from mutiny.verbs.select import METHODS as METHODS
    from mutiny.verbs.select import Selector as Selector
    from mutiny.verbs.select.result import Selection as Selection
    from mutiny.verbs.select.retraining.result import Retraining as Retraining
    from mutiny.verbs.select.retraining.retraining import accuracy_after_retraining as accuracy_after_retraining
    from mutiny.verbs.select.select import select as select
    from mutiny.verbs.strengthen.result import Strengthening as Strengthening
    from mutiny.verbs.strengthen.strengthen import strengthen as strengthen


def _public_names() -> dict[str, str]:
    """The module of each public name: constants first, then classes, then functions."""
    (block,) = [node for node in ast.parse(Path(__file__).read_text(encoding="utf-8")).body if isinstance(node, ast.If)]
    imports = [node for node in block.body if isinstance(node, ast.ImportFrom) and node.module]
    found = {alias.name: str(node.module) for node in imports for alias in node.names}
    return dict(sorted(found.items(), key=lambda item: (not item[0].isupper(), item[0][0].islower(), item[0])))


_MODULES = _public_names()
__all__ = list(_MODULES)


def __getattr__(name: str) -> Any:
    """Imports a public name when it is first used."""
    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'mutiny' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
