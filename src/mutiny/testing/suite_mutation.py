"""Mutation testing of a test suite: what each test says about each fault, put into the model that the tests call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing

import pytest

from mutiny.core.errors import BadInput
from mutiny.core.records import FaultRecord
from mutiny.faults.mutants import FaultyModel
from mutiny.models import ModelView
from mutiny.models.snapshot import ModelSnapshot
from mutiny.testing.suite_clean import FAILS, UNSTEADY, CleanSuite, FirstRun, clean_suite
from mutiny.testing.suite_matrix import order_of
from mutiny.testing.suite_records import JudgedFault, Reaction
from mutiny.testing.suite_run import ItemRun, RunOutcome, SuiteRunner
from mutiny.testing.suite_subject import SuiteSubject
from mutiny.verbs.assess.zeroed_weights import zeroed

REACTIONS = {
    RunOutcome.PASSED: Reaction.PASSED,
    RunOutcome.FAILED: Reaction.FAILED,
    RunOutcome.ERROR: Reaction.ERROR,
    RunOutcome.STOPPED: Reaction.BROKEN,
    RunOutcome.SKIPPED: Reaction.BROKEN,
    RunOutcome.EXPECTED: Reaction.BROKEN,
}


class SuiteMutation:
    """Runs the tests of a session on a model with faults.

    Args:
        session: Session that has collected tests, and has run them once.
        subject: Subject whose first original the tests call.
        first: What the first run has shown.
        full: Whether every test is run on every fault; otherwise the first that notices a fault ends its run.
        timeout: Seconds that a test may take; a multiple of its clean duration if ``None``.
    """

    def __init__(
        self,
        session: pytest.Session,
        subject: SuiteSubject,
        first: FirstRun,
        *,
        full: bool = False,
        timeout: float | None = None,
    ) -> None:
        self.items: Sequence[pytest.Item] = session.items
        self.subject, self.full = subject, full
        self._runner = SuiteRunner(session)
        self.clean: CleanSuite = clean_suite(self._runner, self.items, subject.model, first, timeout)
        self._check_judges()
        if not any(self.clean.tests[position].passes for position in self.clean.judges):
            self._check_use()

    def tried(self, faults: Iterable[tuple[FaultRecord, FaultyModel]]) -> Iterator[JudgedFault]:
        """Puts one fault after another into the model, runs the tests, and tells what they say."""
        done = list[JudgedFault]()
        for record, faulty in faults:
            done.append(self.try_fault(record, faulty, done))
            yield done[-1]

    def try_fault(self, record: FaultRecord, faulty: FaultyModel, before: Sequence[JudgedFault] = ()) -> JudgedFault:
        """What the tests say about one fault.

        Args:
            record: The fault.
            faulty: The model with it.
            before: Faults that were tried before; tests that noticed most of them run first unless all are run.
        """
        order = self.clean.judges if self.full else order_of(self.clean.judges, before)
        reactions, reasons = [Reaction.NOT_RUN] * len(self.items), dict[str, str]()
        for position, run in self._runs(order, faulty):
            reactions[position] = REACTIONS[run.outcome]
            if reactions[position] in (Reaction.ERROR, Reaction.BROKEN):
                reasons[run.item.nodeid] = run.reason or run.outcome.value
            if reactions[position].notices and not self.full:
                break
        return JudgedFault(record, tuple(reactions), reasons)

    def _runs(self, order: Sequence[int], faulty: FaultyModel) -> Iterator[tuple[int, ItemRun]]:
        items = [self.items[position] for position in order]
        with faulty.in_place() as model:
            snapshot = ModelSnapshot(model)
            with closing(self._runner.run(items, random=self.clean.random, limit=self.clean.limit)) as runs:
                for position, run in zip(order, runs, strict=False):
                    snapshot.restore()  # whatever the test did to the model
                    yield position, run

    def _check_judges(self) -> None:
        """Raises `BadInput` if no test is left."""
        tests = self.clean.tests
        if self.clean.judges:
            return
        if all(test.left_out.startswith((FAILS, UNSTEADY)) for test in tests):
            value = "it fails" if len(tests) == 1 else f"all {len(tests)} fail"
            raise BadInput("tests", value, "tests that pass on the clean model", "Mend them, or the model, first.")
        reasons = ", ".join(dict.fromkeys(test.left_out.split(" (")[0].split(":")[0] for test in tests))
        raise BadInput("tests", f"none of {len(tests)} is left", "tests that can judge faults", f"They: {reasons}.")

    def _check_use(self) -> None:
        """Raises `BadInput` if no test calls the model, and none notices that all its weights are zero."""
        subject = self.subject.subject
        view = ModelView.of_data(self.subject.model, subject.test, subject.forward)
        empty = FaultyModel(self.subject.model, zeroed(view), subject.forward)
        noticed = any(REACTIONS[run.outcome].notices for _, run in self._runs(self.clean.judges, empty))
        if not noticed:
            count = len(self.clean.judges)
            raise BadInput(
                "tests",
                "it does not call the model" if count == 1 else f"none of {count} calls the model",
                f"tests of the model of {subject.name}",
                "None changed its answer when all weights were zero. Do they use this model, and not only while they "
                "are imported? Import the object that the subject has, or use the fixture mutiny_model.",
            )
