"""The grammar of gates, read by recursive descent.

::

gate       = all {"or" all}
all        = term {"and" term}
term       = "not" term | "(" gate ")" | comparison
comparison = metric (">=" | ">" | "<=" | "<") number ["%" | "pt"]
metric     = "drop" | ("drop" | "rise") "(" named ")" | named
named      = NAME ["(" [option {"," option}] ")"]
option     = "macro" | "micro" | "weighted" | "class" "=" NUMBER | "k" "=" NUMBER | "bins" "=" NUMBER
"""

from __future__ import annotations

import math
from dataclasses import replace
from difflib import get_close_matches

from mutiny.core.errors import BadInput
from mutiny.verbs.assess.gates.bounds import OPERATORS, UNITS, bound_of, shown_bound
from mutiny.verbs.assess.gates.conditions import GateComparison, GateCondition, GateNegation, joined
from mutiny.verbs.assess.gates.expression import GateExpression
from mutiny.verbs.assess.gates.metric_options import MetricOptions
from mutiny.verbs.assess.gates.metric_table import CHANGES, METRICS, NAMES
from mutiny.verbs.assess.gates.metric_use import MetricUse
from mutiny.verbs.assess.gates.tokens import Token, quoted_gate, seen_at, tokens_of, unexpected

DEEPEST = 20
"""Most levels of parentheses and ``not``."""
EXAMPLE = "such as accuracy or f1(macro)"
SIMILAR, SOMEWHAT_SIMILAR = 0.75, 0.5
"""Least similarity of names that may be meant, and of those named if none is as similar."""
CHECKED_NAME = 40
"""Most characters of a name for which similar names are looked up."""


def parse_gate(text: str, argument: str = "judge") -> GateExpression:
    """The gate that a text describes.

    Args:
        text: Comparisons such as ``accuracy >= 0.97``, joined by ``and``, ``or`` and ``not``.
        argument: Name of the argument, for messages.

    Raises:
        BadInput: The text is not a gate; the message names the column.

    >>> str(parse_gate("Recall( class = 3 )>=95% and drop<=0.5pt"))
    'recall(class=3) >= 0.95 and drop <= 0.5pt'
    >>> parse_gate("acuracy >= 0.97")
    Traceback (most recent call last):
    mutiny.core.errors.BadInput: judge="acuracy >= 0.97": expected a metric at column 1, such as accuracy or f1(macro),
    not 'acuracy'. Did you mean accuracy?
    """
    return GateExpression.of(_Reader(text, argument).gate(), argument)


class _Reader:
    """Takes the tokens of a gate one after the other."""

    def __init__(self, text: str, argument: str) -> None:
        self.text, self.argument = text, argument
        self.tokens, self.place, self.depth = tokens_of(text, argument), 0, 0

    def gate(self) -> GateCondition:
        condition = self._any()
        if self.next.kind != "end":
            raise self._unexpected("and, or, or the end")
        return condition

    @property
    def next(self) -> Token:
        return self.tokens[self.place]

    def _take(self, *texts: str) -> str:
        """Takes the next token if it is one of these, and says which; empty if it is none of them."""
        if self.next.text not in texts or self.next.kind == "end":
            return ""
        self.place += 1
        return self.tokens[self.place - 1].text

    def _require(self, text: str) -> None:
        if not self._take(text):
            raise self._unexpected(repr(text))

    def _unexpected(self, expected: str, fix: str = "") -> BadInput:
        return unexpected(self.text, self.argument, expected, self.next.column, fix)

    def _any(self) -> GateCondition:
        parts = [self._all()]
        while self._take("or"):
            parts.append(self._all())
        return joined("or", parts)

    def _all(self) -> GateCondition:
        parts = [self._term()]
        while self._take("and"):
            parts.append(self._term())
        return joined("and", parts)

    def _term(self) -> GateCondition:
        opening = self._take("not", "(")
        if not opening:
            return self._comparison()
        self.depth += 1
        if self.depth > DEEPEST:
            raise self._unexpected(f"at most {DEEPEST} levels of parentheses and not")
        inner = GateNegation(self._term()) if opening == "not" else self._any()
        if opening == "(":
            self._require(")")
        self.depth -= 1
        return inner

    def _comparison(self) -> GateComparison:
        use = self._metric()
        operator = self._take(*OPERATORS)
        if not operator:
            raise self._unexpected(f"one of {', '.join(OPERATORS)}")
        return GateComparison(use, operator, self._bound(use))

    def _metric(self) -> MetricUse:
        column = self.next.column
        change = self._take(*CHANGES)
        if not change:
            return self._named()
        if not self._take("("):
            if change == "rise":
                raise self._unexpected("'(' and a metric after rise", "Write rise(mse), for example.")
            return MetricUse("", change)
        use = self._named(change)
        self._require(")")
        if (change == "drop") != use.metric.higher_is_better:
            moves, other = ("drops", "rise") if change == "drop" else ("rises", "drop")
            expected = f"a metric that {moves} when a network gets worse"
            fix = f"Write {other}({replace(use, change='')})."
            raise unexpected(self.text, self.argument, expected, column, fix)
        return use

    def _named(self, change: str = "") -> MetricUse:
        given = self.next
        name = NAMES.get(given.text) if given.kind == "word" else None
        if name is None:
            raise self._unknown(given)
        self.place += 1
        return self._options(name, change, given)

    def _unknown(self, given: Token) -> BadInput:
        known = [*NAMES, *CHANGES]
        checked = given.kind == "word" and len(given.text) <= CHECKED_NAME
        near = get_close_matches(given.text, known, 3, SIMILAR) if checked else []
        if checked and not near:
            near = get_close_matches(given.text, known, 3, SOMEWHAT_SIMILAR)
        alike = list(dict.fromkeys(NAMES.get(name, name) for name in near))
        fix = f"Did you mean {' or '.join(alike)}?" if alike else f"Metrics are {', '.join(METRICS)}."
        if given.kind == "number":
            fix = "Write the metric first, then its bound."
        expected = f"a metric at column {given.column}, {EXAMPLE}, {seen_at(self.text, given.column)}"
        return BadInput(self.argument, quoted_gate(self.text), expected, fix)

    def _options(self, name: str, change: str, given: Token) -> MetricUse:
        options = MetricOptions(name, METRICS[name].options)
        if self._take("("):
            while not self._take(")"):
                first = self.next
                value = self._option_value(options)
                fault = options.add(first.text, value)
                if fault:
                    raise unexpected(self.text, self.argument, fault, first.column)
                if self.next.text not in (",", ")"):
                    raise self._unexpected("',' or ')'")
                self._take(",")
        missing = options.missing
        if missing:
            raise unexpected(self.text, self.argument, missing, given.column)
        return options.use(change)

    def _option_value(self, options: MetricOptions) -> str | None:
        """Takes a word and the value after its equals sign; ``None`` for a word alone."""
        if self.next.kind != "word":
            raise self._unexpected(options.expected)
        self.place += 1
        if not self._take("="):
            return None
        if self.next.kind not in ("word", "number"):
            raise self._unexpected("a value")
        self.place += 1
        return self.tokens[self.place - 1].text

    def _bound(self, use: MetricUse) -> float:
        number = self.next
        if number.kind != "number":
            raise self._unexpected("a number", "Bounds are numbers such as 0.97, 97% or 0.5pt.")
        self.place += 1
        unit_column = self.next.column
        unit = self._take(*(unit for unit in UNITS if unit))
        if unit and not use.metric.share:
            expected = f"a number without a unit, because {use} is not a share,"
            raise unexpected(self.text, self.argument, expected, unit_column)
        value, (low, high) = bound_of(number.text, unit), use.range
        if not math.isfinite(value):
            raise unexpected(self.text, self.argument, "a smaller number", number.column)
        if not low <= value <= high:
            fix = f"Write {number.text}{'pt' if use.change else '%'}." if use.metric.share and not unit else ""
            expected = f"a number from {shown_bound(low)} to {shown_bound(high)} for {use}"
            raise unexpected(self.text, self.argument, expected, number.column, fix)
        return value
