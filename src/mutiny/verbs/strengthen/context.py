"""The originals on the test set and on the pool: what proposals and judgements start from."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from mutiny.faults import Operator
from mutiny.faults.evaluation import Screening
from mutiny.models import ModelView
from mutiny.subjects.tasks import Classification, Task
from mutiny.verbs.assess.kill_rule import KillRule
from mutiny.verbs.assess.search import Search
from mutiny.verbs.select.evidence import Evidence
from mutiny.verbs.strengthen.answers import Answers, answered, answers_of
from mutiny.verbs.strengthen.mutant_pool import POOL, TEST, Said, Troupe
from mutiny.verbs.strengthen.predicting import Belief


class Stage:
    """What stays the same, whoever the mutants are.

    Args:
        evidence: the originals, the task, how a model is called and at which pace; with the pool, if there is one, or
            else with the test set in its place.
        splits: ``train``, ``test`` and, if there is one, ``pool``.
        rule: resolved.
        search: how many repetitions, and what is stable.
        screening: for verdicts on the training set; ``None`` evaluates every input.
        labels: targets of the pool as the task wants them; ``None`` if they are not known. Choosing never reads them.
    """

    def __init__(
        self,
        evidence: Evidence,
        splits: Mapping[str, Any],
        rule: KillRule,
        search: Search,
        screening: Screening | None,
        labels: npt.NDArray[Any] | None = None,
    ) -> None:
        self.evidence, self.splits, self.labels = evidence, dict(splits), labels
        self.rule, self.search, self.screening = rule, search, screening

    @property
    def task(self) -> Task:
        """What is correct."""
        return self.evidence.task

    def troupe(self, seed: int, pool: bool = True) -> Troupe:
        """The originals with mutants of a seed, on the test set and, unless it does not matter, on the pool."""
        splits = {name: data for name, data in self.splits.items() if pool or name != POOL}
        known = self.evidence
        return Troupe(
            known.models, known.task, splits, known.forward, known.pace, seed, self.rule, self.search, self.screening
        )  # fmt: skip

    def renews(self, operator: Operator) -> bool:
        """Whether another seed makes other mutants: not where there are only a few, such as layers to remove."""
        return any(operator.choices(view) is None for view in self._views)

    @cached_property
    def _views(self) -> tuple[ModelView, ...]:
        return self.troupe(0, pool=False).runner.views

    @cached_property
    def targets(self) -> npt.NDArray[Any]:
        """Of the test set."""
        return self.task.check_targets(self.splits[TEST].targets, TEST)

    @cached_property
    def originals(self) -> Said:
        """What the originals answer."""
        known, test, pool = self.evidence, list[Answers](), list[Answers]()
        for number, model in enumerate(known.models):
            test.append(answered(partial(known.forward, model), model, self.splits[TEST], self.task, known.pace))
            if POOL in self.splits:
                pool.append(answers_of(self.task, known.outputs("pool", number)))
        return Said(np.array(test), np.array(pool))

    @cached_property
    def belief(self) -> Belief:
        """What the originals believe in the mean about the labels of the pool."""
        total: Any = 0.0
        for number in range(len(self.evidence.models)):
            if isinstance(self.task, Classification):
                said = self.evidence.probabilities("pool", number)
            else:
                said = self.evidence.outputs("pool", number).reshape(self.evidence.size, -1)
            total = total + said.double().numpy()
        found: Belief = (total / len(self.evidence.models)).astype(np.float32)
        return found
