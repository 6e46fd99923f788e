"""Hostile texts of gates: valid ones with changes, deep nesting, odd numbers, other alphabets, code."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from random import Random

import numpy as np

from fuzz.mutate import TEXTS
from mutiny.verbs.assess.gates.answers import GateAnswers
from mutiny.verbs.assess.gates.grammar import parse_gate
from mutiny.verbs.assess.gates.metric_table import AVERAGES, METRICS, NAMES

OPTIONS = "(macro) (micro) (weighted) (class=0) (class=1) (class=99) (k=1) (k=5) (bins=10) (average=macro)".split()
BOUNDS = "0.97 97% 0.5pt 1e-3 .5 5. 0 1 -0.1pt 100% +0.5 1e-400 0.0000000001".split()
ODD_NUMBERS = (
    *"1e999 -1e999 nan inf -inf 0x10 1_000 1e 1e+ 1.2.3 .. --1 1e99999999999 0b1 1j 1,5 1e-999999".split(),
    *"\u0663 \uff11 \u00b2 \u2167 \u00bd".split(),
    "9" * 39,
    "9" * 41,
    "0." + "0" * 900 + "1",
)
CODE = (
    "__import__('os').system('id')",
    "().__class__.__bases__[0].__subclasses__()",
    "lambda: 1",
    "exec('1')",
    "eval(input())",
    "{__class__}",
    "{0.__init__.__globals__}",
    "%(accuracy)s",
    "%n%n%n",
    "$(id)",
    "`id`",
    "; rm -rf x",
    "accuracy.__class__",
    "__builtins__",
    "@np.linalg.inv",
    "{{7*7}}",
    "${jndi:ldap://x}",
    "<script>",
    "'; DROP TABLE faults; --",
    "\\x00\\u0000",
    "f'{accuracy}'",
)
ODD_CHARACTERS = (
    *("\x00", "\x07", "\x1b[31m", "\u202e", "\u200b", "\ufeff", "\u00a0", "\u2028"),
    *("\u2265", "\u2264", "\u2212", "\U0001d7d7", "\u0430", "\uff44\uff52\uff4f\uff50"),
)
"""Characters that act or cannot be seen; signs, digits and letters of other alphabets that look like those of gates."""
SIGNS = (
    ">=",
    ">",
    "<=",
    "<",
    "==",
    "!=",
    "=",
    "=>",
    "<>",
    "&&",
    "||",
    "!",
    "~",
    "(",
    ")",
    ",",
    "%",
    "[",
    "'",
    '"',
    "#",
)
PIECES = (
    *NAMES,
    *OPTIONS,
    *BOUNDS,
    *ODD_NUMBERS,
    *CODE,
    *ODD_CHARACTERS,
    *SIGNS,
    *TEXTS,
    "drop",
    "rise",
    "and",
    "or",
    "not",
)


def case(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """A text that may be a gate, and how it is read and used."""
    del corpus, folder  # a gate is no file
    text = hostile_gate(draw)
    return lambda: read(text)


def read(text: str) -> None:
    """Parses a text, and uses the gate if it is one.

    Raises:
        BadInput: The text is no gate, or it does not fit the answers.
        AssertionError: The gate's own text is another gate.
    """
    gate = parse_gate(text)
    again = parse_gate(gate.text)
    assert again.condition == gate.condition, f"{gate.text!r} is read as {again.text!r}"
    if gate.thresholds is not None:
        gate.with_bound(gate.thresholds.bound)
    gate.check(ANSWERS)
    gate.passes(ANSWERS, ANSWERS)
    gate.reason(ANSWERS, ANSWERS)


def hostile_gate(draw: Random) -> str:
    """A gate with changes, or nonsense."""
    match draw.randrange(8):
        case 0:
            return " ".join(draw.choice(PIECES) for _ in range(draw.choice([0, 1, 2, 3, 5, 9, 30])))
        case 1:
            deep = draw.choice([1, 5, 19, 20, 21, 200, 333, 5000])
            opening, closing = draw.choice([("(", ")"), ("not ", ""), ("not (", ")"), ("((", ")"), ("f1(", ")")])
            return opening * deep + comparison(draw) + closing * draw.choice([deep, deep, deep - 1, deep + 1])
        case 2:
            return draw.choice([" and ", " or ", " "]).join([comparison(draw)] * draw.choice([2, 10, 50, 10_000]))
        case 3:
            return "".join(chr(draw.choice([draw.randrange(128), draw.randrange(0x11_0000)])) for _ in range(40))
        case 4:
            return draw.choice(PIECES) * draw.choice([1, 2, 100, 1001])
        case _:
            return changed(draw, valid_gate(draw))


def valid_gate(draw: Random) -> str:
    """A gate, or nearly one."""
    parts = [comparison(draw)]
    for _ in range(draw.choice([0, 0, 0, 1, 2, 4])):
        parts += [draw.choice(["and", "or"]), draw.choice(["", "", "not "]) + comparison(draw)]
    text = " ".join(parts)
    return f"({text})" if draw.random() < 0.2 else text


def comparison(draw: Random) -> str:
    """A comparison, mostly a valid one."""
    name = draw.choice([*NAMES])
    metric = METRICS[NAMES[name]]
    fitting = [option for option in OPTIONS if set(re.findall(r"[a-z]+", option)) & {*metric.options, *AVERAGES}]
    option = draw.choice(fitting if metric.options else [""]) if draw.random() < 0.9 else draw.choice(OPTIONS)
    word = ("drop" if metric.higher_is_better else "rise") if draw.random() < 0.9 else draw.choice(["drop", "rise"])
    text = draw.choice(["drop", name + option, name + option, f"{word}({name}{option})"])
    bound = draw.choice(ODD_NUMBERS if draw.random() < 0.1 else BOUNDS)
    return f"{text} {draw.choice(SIGNS[:4])} {bound}"


def changed(draw: Random, text: str) -> str:
    """A text with up to three changes."""
    for _ in range(draw.choice([0, 0, 1, 1, 2, 3])):
        at, end = sorted(draw.randrange(len(text) + 1) for _ in range(2))
        match draw.randrange(5):
            case 0:
                text = text[:at] + draw.choice(PIECES) + text[at:]
            case 1:
                text = text[:at] + text[end:]
            case 2:
                text = text[:at] + text[at:end] * draw.choice([2, 3, 50]) + text[end:]
            case 3:
                text = text[:at] + draw.choice(PIECES) + text[end:]
            case _:
                text = draw.choice([text.upper(), text[::-1], text.replace(" ", ""), text.replace(" ", "\n\t")])
    return text


def _answers() -> GateAnswers:
    rng = np.random.default_rng(0)
    targets, probabilities = np.arange(60) % 3, rng.dirichlet(np.ones(3), 60)
    predicted = probabilities.argmax(1)
    return GateAnswers(
        targets=targets, predicted=predicted, correct=predicted == targets, classes=3, probabilities=probabilities
    )


ANSWERS = _answers()
