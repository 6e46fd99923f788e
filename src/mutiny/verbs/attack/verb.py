"""The verb `attack`: mutants and the clean model first, then every attack at every distance."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mutiny.campaigns.verb import Job, Session, Verb, ask, code_of, together
from mutiny.core.results import ModelAndInputs
from mutiny.subjects.tasks import task_record
from mutiny.verbs.attack.base import Attack
from mutiny.verbs.attack.ensemble import Combine
from mutiny.verbs.attack.mutants import Choice
from mutiny.verbs.attack.notes import notes
from mutiny.verbs.attack.result import Level, Robustness
from mutiny.verbs.attack.setup import attacked_model
from mutiny.verbs.attack.worker import AttackRun, AttackWorker, ChosenMutants, CleanModel, Variant

Runs = dict[tuple[float | None, str], AttackRun]
PlanResult = tuple[ChosenMutants, CleanModel, Runs]


@dataclass(frozen=True)
class AttackModel(Verb[AttackWorker, Robustness]):
    """Checked arguments of `attack`."""

    attack: Attack
    eps: tuple[float | None, ...]
    choice: Choice
    combine: Combine
    variants: Mapping[str, Variant]
    count: int
    low: float
    high: float

    name = "attack"

    def settings(self) -> dict[str, Any]:
        """Number of inputs and their range."""
        return {"count": self.count, "range": [self.low, self.high]}

    def identity(self) -> Mapping[str, Any]:
        """Distances, mutants and attacks."""
        variants = {f"variant {name}": variant.attack for name, variant in self.variants.items()}
        return {"eps": self.eps, "mutants": self.choice, "combine": self.combine, **variants}

    def prepare(self, session: Session) -> AttackWorker:
        """Draws the inputs, and raises `BadInput` if some are outside of the range."""
        attacked = attacked_model(session, self.count, self.low, self.high)
        attacked.check_range()
        session.settle(count=min(self.count, len(session.given.data)))
        session.expect(bool(self.choice.count) + 1 + len(self.eps) * len(self.variants))
        return AttackWorker(attacked, self.choice, self.combine, self.variants, session.repeatable)

    async def plan(self, session: Session, state: AttackWorker) -> PlanResult:
        """Asks for the mutants and the clean model, then for each variant at each distance."""
        session.progress.stage("making mutants", 1)
        mutants, clean = await together([self._mutants(session, state), self._clean(session, state)])
        assert isinstance(mutants, ChosenMutants)
        assert isinstance(clean, CleanModel)
        session.progress.stage("attacking", len(self.eps) * len(self.variants))
        keys = [(eps, name) for eps in self.eps for name in self.variants]
        runs = await together(self._attacked(session, eps, name, mutants) for eps, name in keys)
        return mutants, clean, dict(zip(keys, runs, strict=True))

    async def _mutants(self, session: Session, state: AttackWorker) -> ChosenMutants | CleanModel:
        if not self.choice.count:
            return ChosenMutants((), np.ones((1, 1)), False)
        decides = [code_of(self.choice), code_of(state.first), self.combine]
        mutants: ChosenMutants = await ask(session.job("mutants", decides, f"{self.choice.count} mutants"))
        session.progress.step()
        return mutants

    async def _clean(self, session: Session, state: AttackWorker) -> ChosenMutants | CleanModel:
        clean: CleanModel = await ask(session.job("clean", [code_of(state.first)], "the model before"))
        return clean

    async def _attacked(self, session: Session, eps: float | None, name: str, mutants: ChosenMutants) -> AttackRun:
        variant = self.variants[name]
        members, joined = (mutants.members, mutants.joined) if variant.mutants else ((), False)
        made = [[member.code, member.ratio, member.number] for member in members]
        decides = [code_of(variant.attack), eps, made, joined, self.combine if members else None]
        place = "" if eps is None else f" at {eps:g}"
        run: AttackRun = await ask(session.job("attack", decides, f"{name}{place}", given=(name, eps, members, joined)))
        session.progress.step()
        return run

    def work(self, state: AttackWorker, job: Job) -> ChosenMutants | CleanModel | AttackRun:
        """Does a job: ``mutants`` creates and chooses them, ``clean`` runs the model, ``attack`` attacks all inputs."""
        match job.kind:
            case "mutants":
                return state.mutants()
            case "clean":
                return state.clean()
            case "attack":
                return state.attack(*job.given)
        raise ValueError(f"unknown kind of job: {job.kind}")

    def result(self, session: Session, state: AttackWorker, found: PlanResult) -> Robustness:
        """Returns the outcomes of all variants at all distances."""
        given, attacked, (mutants, clean, runs) = session.given, state.attacked, found
        outcomes = [{name: runs[eps, name].outcome for name in self.variants} for eps in self.eps]
        undefined = clean.undefined + sum(run.undefined for run in runs.values())
        originals = given.count(None)
        return Robustness(
            subject=ModelAndInputs(
                given.name, type(attacked.model).__name__, task_record(attacked.task), len(given.data), given.source
            ),
            settings={**session.settings, "combine": self.combine, "mutants": vars(self.choice)},
            attack=str(self.attack),
            mutants=tuple(map(str, mutants.members)),
            similarity=mutants.similarity,
            levels=tuple(Level(eps, ways, clean.correct) for eps, ways in zip(self.eps, outcomes, strict=True)),
            indices=attacked.indices,
            inputs=attacked.inputs(),
            labels=attacked.labels.numpy()[attacked.indices],
            notes=tuple(notes(state, originals, mutants, clean, undefined)),
            **session.stamp(),
        )
