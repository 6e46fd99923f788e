"""A calibration in words: what the gate lets through, its false alarms, and what another bound would do."""

from __future__ import annotations

from collections.abc import Sequence

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.gates.calibration import GateAdvice, GateAlarms, GateBin, GateCalibration
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.gates.harmless_trials import AlarmSource

TELLING = 0.5
"""Share of missed faults from which on a bin is worth naming."""
FALSE_ALARMS = "false alarms in "
SAME_NETWORK = (
    "This is about the same network, exported or rounded; for a retrained one, it takes at least 5 originals."
)
"""What the advice for a comparison of two networks is about if too few originals tell of retraining."""
TRIALS = {
    AlarmSource.OTHER_TEST_SETS: "test set{} drawn like this one",
    AlarmSource.RETRAINED_ORIGINALS: "original{} trained alike",
    AlarmSource.HARMLESS_VARIANTS: "harmless variant{} on this test set",
}
"""What trials are called; the braces take the ending of the plural."""


def calibration_sentence(calibration: GateCalibration) -> str:
    """Everything in two or three sentences.

    >>> from mutiny.verbs.assess.gates.calibrate import calibrate_gate
    >>> from mutiny.verbs.assess.gates.grammar import parse_gate
    >>> found = calibrate_gate(parse_gate("drop <= 2pt"), [1.5, 1.5, 3.0], [True, False, False], [0.01, 0.03, 0.04])
    >>> calibration_sentence(found)
    'At `drop <= 2pt` you let 50% of the faults that cost 1 to 2 accuracy points pass.'
    """
    sentences = [let_through(calibration)]
    if calibration.alarms:
        sentences.append(f"It raises {_all_alarms(calibration.alarms)}.")
    if calibration.advice is not None:
        sentences.append(advice_sentence(calibration.advice, calibration))
        if calibration.advice.alarms.source is not AlarmSource.RETRAINED_ORIGINALS and _compares(calibration.gate):
            sentences.append(SAME_NETWORK)
    return " ".join(sentences)


def _compares(gate: str) -> bool:
    """Whether a gate compares two networks, as far as its text can still be read."""
    try:
        return parse_gate(gate).is_paired
    except BadInput:
        return False


def let_through(calibration: GateCalibration) -> str:
    """Which faults pass: of the costliest bin that the gate mostly misses, or else of the one that it misses most."""
    place = telling_bin(calibration.bins)
    if place is None:
        return f"There is no fault to try `{calibration.gate}` on."
    chosen = calibration.bins[place]
    return f"At `{calibration.gate}` you let {_percent(chosen.rate)} of {_faults(chosen, calibration.unit)} pass."


def telling_bin(bins: Sequence[GateBin]) -> int | None:
    """Place of the bin to speak of; ``None`` if no bin has faults."""
    filled = [(place, each.rate) for place, each in enumerate(bins) if each.rate is not None]
    mostly = [place for place, rate in filled if rate >= TELLING]
    if mostly:
        return mostly[-1]
    return max(filled, key=lambda pair: (pair[1], pair[0]))[0] if filled else None


def false_alarms(alarms: GateAlarms) -> str:
    """The false alarms of one source, with their interval and what they are over."""
    if alarms.trivial:
        return "no false alarms on other test sets, where a network is only compared with itself"
    if alarms.rate is None:
        return f"an unknown rate of false alarms over {TRIALS[alarms.source].format('s')}, because none was tried"
    low, high = (_percent(end) for end in (alarms.interval.low, alarms.interval.high))
    interval = f"{alarms.interval.level:.0%} interval {low} to {high}"
    return f"{FALSE_ALARMS}{_percent(alarms.rate)} of {_trials(alarms)} ({interval})"


def _all_alarms(alarms: Sequence[GateAlarms]) -> str:
    """The false alarms of all sources."""
    rated = [each for each in alarms if each.rate is not None and not each.trivial]
    shares = [false_alarms(each).removeprefix(FALSE_ALARMS) for each in rated]
    last = f" and {shares.pop()}" if len(shares) > 1 else ""
    parts = [f"{FALSE_ALARMS}{', '.join(shares)}{last}"] if rated else []
    return "; ".join([*parts, *(false_alarms(each) for each in alarms if each not in rated)])


def _trials(alarms: GateAlarms) -> str:
    """What the alarms are over."""
    if alarms.trials > alarms.independent:
        return f"{alarms.trials:,} comparisons of originals trained alike"
    return f"{alarms.trials:,} {TRIALS[alarms.source].format('' if alarms.trials == 1 else 's')}"


def advice_sentence(advice: GateAdvice, calibration: GateCalibration) -> str:
    """What the advised bound would do with the faults that `let_through` speaks of, and with harmless changes."""
    place = telling_bin(calibration.bins)
    rate = None if place is None else advice.bins[place].rate
    passing = "" if rate is None else f"would let {_percent(rate)} of them pass, with "
    return f"`{advice.gate}` {passing or 'would have '}{false_alarms(advice.alarms)}."


def _faults(of: GateBin, unit: str) -> str:
    phrases = CostPhrases(unit)
    return f"the faults that {phrases.cost(phrases.between(of.low, of.high))}"


def _percent(rate: float | None) -> str:
    """A share in percent, with a digit more where it is close to none or all, and never rounded to these.

    >>> _percent(0.713), _percent(0.004), _percent(0.0), _percent(0.0001), _percent(0.9999)
    ('71%', '0.4%', '0%', 'less than 0.1%', 'more than 99.9%')
    """
    assert rate is not None
    if 0 < rate < 0.001:
        return "less than 0.1%"
    if 0.999 < rate < 1:
        return "more than 99.9%"
    near = 0 < rate < 0.01 or 0.99 < rate < 1
    return f"{rate:.1%}" if near else f"{rate:.0%}"
