"""Pure functions over numpy arrays: tests, effects, power, intervals, corrections, stability, fronts.

Nothing here imports torch or prints, and all randomness comes from a seed. No function returns NaN: where a formula
divides by zero, the docstring says what is returned.
"""

from mutiny.core.stats.centrality import pagerank
from mutiny.core.stats.effects import a12, cohen_d, cohen_g, power_two_sample
from mutiny.core.stats.exact import fisher, hypergeometric_tails, sign_flip, sign_flip_counts
from mutiny.core.stats.intervals import (
    Interval,
    Rate,
    bootstrap,
    clopper_pearson,
    paired_difference,
    percentile_interval,
    rate_bound,
    wilson,
    wilson_bounds,
)
from mutiny.core.stats.pareto import pareto_front
from mutiny.core.stats.samples import disagreement_rate, relative_standard_error
from mutiny.core.stats.significance import benjamini_hochberg, glm, holm, mann_whitney, paired_t, welch, wilcoxon
from mutiny.core.stats.strata import stratified_fisher

__all__ = [
    "Interval",
    "Rate",
    "a12",
    "benjamini_hochberg",
    "bootstrap",
    "clopper_pearson",
    "cohen_d",
    "cohen_g",
    "disagreement_rate",
    "fisher",
    "glm",
    "holm",
    "hypergeometric_tails",
    "mann_whitney",
    "pagerank",
    "paired_difference",
    "paired_t",
    "pareto_front",
    "percentile_interval",
    "power_two_sample",
    "rate_bound",
    "relative_standard_error",
    "sign_flip",
    "sign_flip_counts",
    "stratified_fisher",
    "welch",
    "wilcoxon",
    "wilson",
    "wilson_bounds",
]
