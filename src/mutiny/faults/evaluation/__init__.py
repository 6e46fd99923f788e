"""Evaluation of mutants on data, in full or on as few inputs as a verdict needs."""

from mutiny.faults.evaluation.estimate import Estimate
from mutiny.faults.evaluation.runner import Runner
from mutiny.faults.evaluation.screened import ScreenedMutant, Screening
from mutiny.subjects.inference.passes import CleanPass, Outcome

__all__ = ["CleanPass", "Estimate", "Outcome", "Runner", "ScreenedMutant", "Screening"]
