"""What mutants do on data."""

from mutiny.evaluation.estimate import Estimate
from mutiny.evaluation.exact import CleanPass, Outcome
from mutiny.evaluation.runner import Runner
from mutiny.evaluation.screened import Screened, Screening

__all__ = ["CleanPass", "Estimate", "Outcome", "Runner", "Screened", "Screening"]
