"""State of an assessment, which jobs need: originals with their clean passes, a judge per operator, a trainer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from mutiny.campaigns.session import Session
from mutiny.faults.evaluation import Runner
from mutiny.faults.parsing import Fault
from mutiny.faults.training.base import Program, TrainingOperator
from mutiny.subjects import Subject
from mutiny.verbs.assess.clean_passes import run_clean_passes, settled_runner
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.operator_run import OperatorRun
from mutiny.verbs.assess.muff.options import MuffOptions
from mutiny.verbs.assess.muff.preflight import preflight
from mutiny.verbs.assess.muff.trained_judge import TrainedJudge
from mutiny.verbs.assess.muff.trainer import Trainer
from mutiny.verbs.assess.muff.training_run import TrainingRun

PREFLIGHT = 2000
"""Inputs per split that the pre-flight evaluates first, unless every input is to be evaluated."""

Run = OperatorRun | TrainingRun
"""The search of one operator on all sets of inputs."""


@dataclass(frozen=True)
class MuffState:
    """State of an assessment; it is sent to workers.

    Attributes:
        runner: Originals and their data.
        judges: Judges of operators on trained models, by label.
        trainer: Trainer of faulty programs; ``None`` if there is no recipe.
    """

    runner: Runner
    judges: Mapping[str, MutantJudge]
    trainer: Trainer | None

    @classmethod
    def of(cls, session: Session, operators: Mapping[str, Fault], options: MuffOptions) -> MuffState:
        """Runs the clean passes and the pre-flight of a session's originals."""
        subject = session.given.subject
        assert subject is not None
        runner = _prepared(session, subject, options)
        judges = {
            label: MutantJudge(runner, operator, label, options.rule, options.search, options.screening)
            for label, operator in operators.items()
            if not isinstance(operator, TrainingOperator)
        }
        trainer = None
        if subject.recipe is not None:
            program = Program(subject.recipe, subject.training.data, subject.task, subject.forward)
            folder = session.runtime.originals_folder
            trainer = Trainer(program, runner, None if folder is None else folder / "mutants", options.savings)
        return cls(runner, judges, trainer)

    def runs(self, operators: Mapping[str, Fault], options: MuffOptions, basis: str) -> list[Run]:
        """The search of each operator; ``basis`` identifies everything else that decides its jobs."""
        runs: list[Run] = []
        for label, operator in operators.items():
            if isinstance(operator, TrainingOperator):
                rule, search = options.rule, options.search
                judge = TrainedJudge(self.runner, self.trainer, label, rule, search, basis)
                runs.append(TrainingRun(judge, operator))
            else:
                runs.append(OperatorRun(self.judges[label], basis))
        return runs


def _prepared(session: Session, subject: Subject, options: MuffOptions) -> Runner:
    """The originals after their clean passes, with a weak set, once the pre-flight has passed."""
    count = len(session.models)
    splits = {name: data for name, data in subject.splits().items() if name != "validation"}
    runner = settled_runner(session, splits, session.pace)
    session.progress.stage("clean passes and pre-flight", count * len(runner.splits) + 1)
    run_clean_passes(session, runner, [(original, split) for split in runner.splits for original in range(count)])
    if "weak" not in runner.splits and len(subject.test) >= 2:
        chosen = options.weak.choose([runner.clean(original, "test") for original in range(count)])
        runner.add_split("weak", subject.test.subset(chosen))
    preflight(runner, options.rule, ("train", "test"), None if options.screening is None else PREFLIGHT)
    session.progress.step("pre-flight")
    return runner
