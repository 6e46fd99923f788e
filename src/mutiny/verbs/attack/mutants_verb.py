"""The verb behind `mutants_of`: creates the mutants with which `attack` attacks."""

from __future__ import annotations

from dataclasses import dataclass

from mutiny.campaigns.verb import Job, Session, Verb, ask
from mutiny.verbs.attack.attacked_model import AttackedModel
from mutiny.verbs.attack.mutants import Choice, Mutant
from mutiny.verbs.attack.setup import attacked_model
from mutiny.verbs.attack.worker import create_mutants

Mutants = tuple[Mutant, ...]


@dataclass(frozen=True)
class CreateMutants(Verb[AttackedModel, Mutants]):
    """Checked arguments of `mutants_of`."""

    choice: Choice
    count: int

    name = "mutants_of"

    def prepare(self, session: Session) -> AttackedModel:
        """Draws the inputs by which mutants are compared."""
        return attacked_model(session, self.count)

    async def plan(self, session: Session, state: AttackedModel) -> Mutants:
        """Asks for all mutants at once, because each choice depends on the earlier ones."""
        del state
        mutants: Mutants = await ask(session.job("mutants", [], f"{self.choice.count} mutants"))
        return mutants

    def work(self, state: AttackedModel, job: Job) -> Mutants:
        """Creates mutants and chooses among them."""
        del job
        return create_mutants(state, self.choice)

    def result(self, session: Session, state: AttackedModel, found: Mutants) -> Mutants:
        """The mutants."""
        del session, state
        return found
