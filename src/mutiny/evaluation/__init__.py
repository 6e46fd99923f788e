"""What mutants do on data."""

from mutiny.evaluation.exact import CleanPass, Outcome
from mutiny.evaluation.runner import Runner

__all__ = ["CleanPass", "Outcome", "Runner"]
