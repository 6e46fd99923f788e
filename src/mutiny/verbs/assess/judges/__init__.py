"""Judges, which decide whether a fault is noticed: one file each; `JUDGES` has them by the name that users type."""

from mutiny.verbs.assess.judges.answers import NetworkAnswers
from mutiny.verbs.assess.judges.base import Judge, Judgement
from mutiny.verbs.assess.judges.function import FunctionJudge
from mutiny.verbs.assess.judges.gate import Gate
from mutiny.verbs.assess.judges.kill_rule import SingleKillRule
from mutiny.verbs.assess.judges.paired_test import PairedTest
from mutiny.verbs.assess.judges.parsing import JUDGES, as_judges

__all__ = [
    "JUDGES",
    "FunctionJudge",
    "Gate",
    "Judge",
    "Judgement",
    "NetworkAnswers",
    "PairedTest",
    "SingleKillRule",
    "as_judges",
]
