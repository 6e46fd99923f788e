"""Checks before any fault: clean runs repeat, and a network without weights is worse than the originals."""

from __future__ import annotations

import numpy as np

from mutiny.core.errors import PreflightFailed
from mutiny.models import Patch
from mutiny.verbs.assess.cost_unit import metric_of
from mutiny.verbs.assess.fault_search import TEST, FaultSearch
from mutiny.verbs.assess.reference import spread
from mutiny.verbs.assess.zeroed_weights import zeroed

MOST = 2000
"""Most inputs of a split that are checked."""


def preflight(search: FaultSearch, original: int) -> None:
    """Raises `PreflightFailed` with a remedy, unless two conditions hold for an original.

    A second clean run reproduces the answers to the test inputs; a network with all weights zero costs more than the
    highest bin, on the reference set. Then raises `BadInput` if a judge cannot be used with the original.
    """
    runner, highest = search.runner, search.unit.edges[-1]
    some = spread(len(runner.splits[TEST]), MOST)
    change = runner.change(Patch(()), original, TEST, some)
    rounding = 0.0 if not search.unit.relative else 1e-4 * runner.clean(original, TEST).outcome.metric
    if np.abs(change).max(initial=0.0) > rounding:
        raise PreflightFailed(
            f"models[{original}] on test",
            "answers changed",
            "the same answers from two clean runs",
            "The model is not deterministic: fix dropout, sampling or batch statistics at inference.",
        )
    split = search.reference.split(original)
    some = spread(len(runner.splits[split]), MOST)
    lost = runner.change(zeroed(runner.views[original]), original, split, some)
    cost = search.unit.cost(lost, float(np.mean(runner.clean(original, split).shares[some])))
    if cost < highest:
        metric = metric_of(search.unit.name)
        if metric is None:
            better = (
                f"only {cost:.3g} {search.unit.name} better" if cost >= 0 else f"{-cost:.3g} {search.unit.name} worse"
            )
            value, expected = f"{better} than a network with all weights zero", f"at least {highest:g} better"
        else:
            rises = f"rises by only {cost:.3g}%" if cost >= 0 else f"falls by {-cost:.3g}%"
            value, expected = f"its {metric} {rises} if all weights are zero", f"a rise of at least {highest:g}%"
        raise PreflightFailed(f"models[{original}]", value, expected, "Use a model that beats a constant answer.")
    search.judging.check(runner, original)
