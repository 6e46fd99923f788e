"""The procedure of MUFF: the weakest strength that each set of inputs kills, and the mutation score."""

from mutiny.verbs.assess.muff.assess_muff import assess_muff
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.options import Savings, WeakSet
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.muff.search import Search

__all__ = ["KillRule", "MuffAssessment", "Savings", "Search", "WeakSet", "assess_muff"]
