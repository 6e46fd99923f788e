"""The sentences of a strengthening, for both the page and the terminal."""

from __future__ import annotations

from mutiny.reports.formatting import count, percent
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.strengthen.held_out import OWN, RANDOM, RateChange
from mutiny.verbs.strengthen.result import Strengthening
from mutiny.verbs.strengthen.subset import allowed_loss


def headline(result: Strengthening) -> str:
    """The decision in one sentence: which inputs to label, and what that is worth."""
    if not result.budgets:
        return smaller(result) if result.subject.pool is None else _nothing(result)
    budget = result.budgets[-1]
    own, inputs = result.gain(OWN, budget), f"these {count(budget, 'input')}"
    if result.notice.rate is None:
        return f"Label {inputs}: they were chosen for faults above the bins of cost that your tests miss."
    if own is None or result.before is None:
        before, which = result.notice.rate, "the faults of the assessment"
        if result.before is not None:
            before, which = result.before.rate, f"{count(result.before.faults, 'fault')} of other seeds"
        return (
            f"Label {inputs}: on {which}, your tests are then predicted to notice "
            f"{percent(result.predicted.get(budget))} instead of {percent(before)}. This is not measured."
        )
    then = f"notice {percent(own.rate)} instead of {percent(result.before.rate)}{_ends(own.gain)}"
    random = result.gain(RANDOM, budget)
    others = "" if random is None else f"; {count(budget, 'random one')}: {percent(random.rate)}"
    if unclear(own.gain):
        return f"Labeling {inputs} is not known to help: on held-out faults your tests then {then}{others}."
    return f"Label {inputs}: on held-out faults your tests then {then}{others}."


def smaller(result: Strengthening) -> str:
    """Whether a part of the test set is enough; empty if none was asked for."""
    subset, held_out = result.subset, result.smaller
    if subset is None:
        asked = result.settings.get("minimize", False)
        return (
            "Keep all tests: they notice no fault, so there is no notice rate that fewer could keep." if asked else ""
        )
    kept = f"{len(subset):,} of {subset.of:,} tests"
    if held_out is None:
        rates = f"{percent(subset.rate)}, all of them {percent(subset.rate_of_all)}"
        return f"{kept} may be enough: they notice {rates} of the faults for which they were chosen; not measured."
    rates = f"{percent(held_out.subset)} of held-out faults, all of them {percent(held_out.all)}"
    lost = f"{100 * held_out.loss.value:.1f} points lost{_ends(held_out.loss, '')}"
    random = f"as many random tests {percent(held_out.random)}"
    if loses(result):
        bar = f"more than the {100 * allowed_loss(held_out.all, subset.tolerance):.2g} allowed"
        return f"Keep all tests: {kept} notice only {rates} ({lost}; {bar}); {random}."
    return f"{kept} are enough: they notice {rates} ({lost}); {random}."


def loses(result: Strengthening) -> bool:
    """Whether the smaller test set loses more than the tolerance on held-out faults."""
    subset, held_out = result.subset, result.smaller
    if subset is None or held_out is None:
        return False
    return held_out.loss.value > allowed_loss(held_out.all, subset.tolerance)


def unclear(change: RateChange) -> bool:
    """Whether a gain may be none: its interval contains 0, or it is 0."""
    return change.value <= 0 if change.interval is None else change.interval.low <= 0


def points(value: float) -> str:
    """A difference of rates in points."""
    return f"{100 * value:+.0f}"


def _ends(change: RateChange, sign: str = "+") -> str:
    if change.interval is None:
        return ""
    low, high = (f"{100 * end:{sign}.{0 if sign else 1}f}" for end in (change.interval.low, change.interval.high))
    ends = f"95%: {low} to {high}"
    return f" ({ends} points)" if sign else f", {ends}"


def _nothing(result: Strengthening) -> str:
    bins = result.notice.bins
    if result.notice.rate is None or not bins:
        return "Cannot tell which inputs to label: none of the faults has a cost in the range that counts."
    said = CostPhrases(result.unit)
    costs = said.cost(said.between(bins[0].low, bins[-1].high), one=True)
    return f"Nothing to add: your tests notice every fault that {costs}."
