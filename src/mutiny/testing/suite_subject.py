"""The subject of a test suite: the same object that the tests import, its first original, and faults of known cost."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from types import ModuleType

import torch
from torch import nn

from mutiny.core.errors import BadInput, called
from mutiny.core.records import FaultRecord
from mutiny.faults.mutants import FaultyModel, mutant
from mutiny.models import check_model
from mutiny.models.device import placement
from mutiny.models.patch import WeightEdit
from mutiny.subjects import Subject, load_subject
from mutiny.subjects.inference.passes import first_call
from mutiny.subjects.loading import subject_in
from mutiny.testing.gate import kept, stored_assessment
from mutiny.testing.suite_faults import spread_faults
from mutiny.verbs.assess.reference import with_folds
from mutiny.verbs.assess.result import Assessment

COMPARED = 8
"""Inputs on which a fault in the model itself is compared with the same fault as it was assessed."""


class SuiteSubject:
    """A subject whose first original is the model that tests call.

    Args:
        name: Name of the subject, as on the command line.
        seed: Seed of everything random.
    """

    def __init__(self, name: str, seed: int = 0) -> None:
        with called("--mutiny", "name", "data"):
            self.subject = with_folds(imported_subject(name))
        self.seed = seed

    @cached_property
    def module(self) -> nn.Module:
        """The model that tests call: the first original, as the subject has it, or trained by its recipe."""
        if self.subject.models:
            return self.subject.models[0]
        return self.subject.originals(1, seed=self.seed)[0]

    @cached_property
    def model(self) -> nn.Module:
        """The model that faults are put into; without the wrapper of ``torch.compile``."""
        return check_model(self.module, "models[0]")

    def assessment(self, operators: str | None, root: Path) -> Assessment:
        """Faults of the first original with their costs, from the file for this subject in a folder."""
        with called("--mutiny-operators", "operators"):
            result: Assessment = stored_assessment(
                self.subject, operators, kept(self.subject, root), originals=1, seed=self.seed
            )
        if result.notice.reference.kind == "none":
            raise BadInput(
                "--mutiny",
                self.subject.name,
                "a subject with inputs besides its test set, on which the cost of faults can be measured",
                "Give Subject(validation=(inputs, targets)), or its training set as train=(inputs, targets).",
            )
        if not result.notice.faults:
            why = "; ".join(sorted({rate.reason for rate in result.notice.operators.values() if rate.reason}))
            low, high = result.notice.bins[0].low, result.notice.bins[-1].high
            expected = f"a subject with faults that cost {low:g} to {high:g} {result.notice.unit}"
            raise BadInput("--mutiny", self.subject.name, expected, f"{why}." if why else "")
        return result

    def faults(self, result: Assessment, count: int) -> list[tuple[FaultRecord, FaultyModel]]:
        """Faults for a suite, spread evenly over costs and operators; the same ones for the same seed."""
        edges = [*(each.low for each in result.notice.bins), result.notice.bins[-1].high]
        candidates = [fault for fault in result.faults if fault.original == 0]
        found = []
        for fault in spread_faults(candidates, edges, self.seed):
            faulty = mutant(self.model, fault, inputs=self.subject.test, seed=self.seed, forward=self.subject.forward)
            if self._reachable(faulty):
                found.append((fault, faulty))
            if len(found) == count:
                break
        return found

    def _reachable(self, faulty: FaultyModel) -> bool:
        """Whether calls of the model have the fault: not if the subject's forward function has it, around the model."""
        if all(isinstance(edit, WeightEdit) for edit in faulty.patch.edits):
            return True
        inputs = placement(self.model).put(self.subject.test.first(COMPARED))
        with torch.inference_mode():
            with faulty.applied() as call:
                wanted = first_call(lambda _, x: call(x), self.model, inputs, "model")
            with faulty.in_place() as model:
                return torch.equal(first_call(self.subject.forward, model, inputs, "model"), wanted)


@cache
def configured_subject(name: str, root: Path) -> SuiteSubject:
    """The subject of fixtures without ``--mutiny``; loaded once.

    Args:
        name: Value of the setting ``mutiny_subject``; a file is looked for in the root folder.
        root: Root folder of pytest.
    """
    if not name:
        fix = "Set it in pyproject.toml under [tool.pytest.ini_options], or run pytest --mutiny FILE.py:NAME."
        raise BadInput("mutiny_subject", "not set", "the subject that the fixture gives", fix)
    where, _, attribute = name.rpartition(":")
    with called("mutiny_subject", "--mutiny"):
        return SuiteSubject(f"{root / where}:{attribute}" if where.endswith(".py") else name)


def imported_subject(name: str) -> Subject:
    """Loads a subject. A file that tests have imported is not run a second time: its objects are those of the tests."""
    where, colon, attribute = name.rpartition(":") if isinstance(name, str) else ("", "", "")
    if colon and where.endswith(".py"):
        for module in _modules_of(Path(where).resolve()):
            return subject_in(module, where, attribute)
    return load_subject(name)


def _modules_of(path: Path) -> Iterator[ModuleType]:
    """Modules that were imported from a file."""
    for module in [*sys.modules.values()]:
        file = module.__dict__.get("__file__") if isinstance(module, ModuleType) else None  # some load others lazily
        if isinstance(file, str) and file.endswith(path.name) and Path(file).resolve() == path:
            yield module
