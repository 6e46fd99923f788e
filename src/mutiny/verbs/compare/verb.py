"""The verb `compare`: both networks answer the same inputs, and a paired test decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any

import torch

from mutiny.campaigns.verb import Job, Session, Verb, ask, code_of, together
from mutiny.core.errors import BadInput
from mutiny.core.results import TaskRecord
from mutiny.models.foreign_network import ForeignNetwork, is_plain, untouched_key
from mutiny.subjects.data.labels import unknown
from mutiny.subjects.given import only_first
from mutiny.subjects.inference.passes import UNSTEADY
from mutiny.subjects.tasks import task_record
from mutiny.verbs.compare.answers import ComparedAnswers, Texts
from mutiny.verbs.compare.judgment import judged
from mutiny.verbs.compare.margin import ComparisonMargin
from mutiny.verbs.compare.network_side import BATCH, Evaluated, NetworkSide
from mutiny.verbs.compare.other_network import OtherNetwork
from mutiny.verbs.compare.pairs import Pairs
from mutiny.verbs.compare.result import ComparedSubject, Comparison, Sameness


@dataclass(frozen=True, eq=False)
class Sides:
    """What jobs need: the networks. Recorded answers need no job.

    Attributes:
        a: A; ``None`` if its answers were recorded.
        b: B; likewise.
    """

    a: NetworkSide | None = None
    b: NetworkSide | None = None


@dataclass(frozen=True)
class Compare(Verb[Sides, Comparison]):
    """Arguments of `compare`, checked.

    Attributes:
        a: Recorded answers of A; ``None`` if A is a network.
        b: B.
        b_name: Name of B in reports.
        margin: Tolerated loss; ``None`` for the default.
        alpha: Level of the one-sided tests.
        higher_is_better: Whether higher scores are better; ``None`` if the task says it.
        slices: Properties of the inputs, to slice by, if A is a network.
        opaque: Whether the code of a network cannot be read, so that its answers are never taken from a store.
    """

    a: ComparedAnswers | None
    b: OtherNetwork | ComparedAnswers
    b_name: str
    margin: ComparisonMargin | None
    alpha: float
    higher_is_better: bool | None
    slices: Mapping[str, Texts] = field(default_factory=dict)
    opaque: bool = False

    name = "compare"

    def identity(self) -> Mapping[str, Any]:
        """Both sides, margin, level, direction and slices."""
        names = ("a", "b_name", "margin", "alpha", "higher_is_better", "slices")
        return {**{name: getattr(self, name) for name in names}, "b": self._code_of_b}

    def is_final(self, result: Comparison) -> bool:
        """Whether the same call has the same result for certain."""
        return not self.opaque

    def prepare(self, session: Session) -> Sides:
        """Checks both networks, and that they answer the same question."""
        if self.a is not None:
            session.expect(0)
            return Sides()
        given = session.given
        task = session.settled_task()
        missing = unknown(given.data.targets, task)
        if missing:
            wrong = f"{missing} of {len(given.data)} labels unknown"
            raise BadInput("data", wrong, "labeled inputs", "Without labels, nobody knows which answers are right.")
        targets = torch.from_numpy(task.check_targets(given.data.targets, "data"))
        size = session.runtime.batch_size or BATCH
        a = NetworkSide("a", session.model, given.forward, given.data, targets, task, size)
        b = None
        if isinstance(self.b, OtherNetwork):
            b = NetworkSide("b", self.b.ready(session), self.b.forward, given.data, targets, task, size).settled()
        session.settle(batch_size=size)
        jobs = 1 if b is None else 2
        session.expect(jobs)
        session.progress.stage("comparing", jobs)
        return Sides(a, b)

    async def plan(self, session: Session, state: Sides) -> list[Evaluated]:
        """The answers of each network, a job each."""
        codes = {"a": "", "b": self._code_of_b}
        wanted = [side for side in (state.a, state.b) if side is not None]
        return await together(self._answers(session, side, codes[side.name]) for side in wanted)

    async def _answers(self, session: Session, side: NetworkSide, code: str) -> Evaluated:
        job = session.job("answers", [side.name, code], f"answers of {side.name.upper()}")
        found: Evaluated = await ask(replace(job, afresh=not is_plain(side.model)))
        session.progress.step()
        return found

    def work(self, state: Sides, job: Job) -> Evaluated:
        """The answers of one network."""
        side = state.a if job.arguments[0] == "a" else state.b
        assert side is not None
        before = untouched_key(side.model)
        found = side.evaluated()
        if untouched_key(side.model) != before:
            wrong = f"a network whose forward pass changes it ({side.name.upper()})"
            raise BadInput(side.name, wrong, "a model that its forward pass does not change")
        return found

    def result(self, session: Session, state: Sides, found: list[Evaluated]) -> Comparison:
        """The verdict, and what changed."""
        pairs, same = self._pairs(state, found), self._same(state, found)
        scored, given = pairs.a.scores is not None, session.given
        if state.a is not None:
            task, higher = task_record(state.a.task), state.a.task.higher_is_better
        else:
            kinds = ("scores", "score") if scored else ("answers", "accuracy")
            task, higher = TaskRecord(*kinds), self.higher_is_better is not False
        judgment = judged(pairs, self.margin, self.alpha, task.metric, higher, same == "network")
        return Comparison(
            subject=ComparedSubject(
                name=given.name,
                model=_model_name(state.a),
                task=task,
                inputs=len(pairs),
                source=given.source,
                other_name=self.b_name,
                other_model=_model_name(state.b),
            ),
            settings={**session.settings, "margin": self.margin and str(self.margin), "alpha": self.alpha},
            same=same or ("answers" if pairs.same_answers else ""),
            notes=tuple(self._notes(session, state)),
            **{each.name: getattr(judgment, each.name) for each in fields(judgment)},
            **session.stamp(),
        )

    @property
    def _code_of_b(self) -> str:
        return self.b.code if isinstance(self.b, OtherNetwork) else code_of(self.b)

    def _pairs(self, state: Sides, found: list[Evaluated]) -> Pairs:
        evaluated = iter(found)
        answers = [
            recorded if side is None else side.answers(next(evaluated))
            for side, recorded in ((state.a, self.a), (state.b, self.b))
        ]
        a, b = answers
        assert isinstance(a, ComparedAnswers)
        assert isinstance(b, ComparedAnswers)
        return Pairs.of(replace(a, columns={**a.columns, **self.slices}), b)

    def _same(self, state: Sides, found: list[Evaluated]) -> Sameness:
        """Whether both are the same network, or have the same outputs."""
        if state.a is None or state.b is None or found[0].digest != found[1].digest:
            return ""
        a, b = state.a, state.b
        if is_plain(a.model) and is_plain(b.model) and code_of([a.model, a.forward]) == code_of([b.model, b.forward]):
            return "network"
        return "outputs"

    def _notes(self, session: Session, state: Sides) -> Iterator[str]:
        for side, given in ((state.a, session.given.subject), (state.b, getattr(self.b, "subject", None))):
            if side is None:
                continue
            for note in only_first(0 if given is None else len(given.models), "was compared"):
                yield f"{side.name.upper()}: {note}"
            if not (session.repeatable if side is state.a else side.repeatable):
                yield f"{side.name.upper()}: {UNSTEADY}, so the same call may count other flips."


def _model_name(side: NetworkSide | None) -> str:
    """Name of the class of a network, or of what was wrapped."""
    if side is None:
        return "recorded answers"
    held = side.model.function if isinstance(side.model, ForeignNetwork) else side.model
    if isinstance(held, torch.jit.ScriptModule):
        return f"TorchScript of {held.original_name}"
    return getattr(held, "__name__", type(held).__name__)
