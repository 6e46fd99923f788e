"""Mutated JSON results: values of another kind, and text that is no JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz import reading
from fuzz.mutate import MEBI, mutated_bytes, mutated_value, rarely

NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
TEXTS = (b"1" * 5000, b"1" * 100_001, b"1e999", b"-", b"NaN", b"-Infinity", b'"\\ud800"', b"[" * 900 + b"]" * 900)


def case(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """Writes a mutated result and returns how it is read."""
    content, path = draw.choice(sorted(corpus.glob("*.json"))).read_bytes(), folder / "a.json"
    match draw.randrange(6):
        case 0:
            content = mutated_bytes(draw, content)
        case 1:
            numbers = [*NUMBER.finditer(content)]
            chosen = draw.choice(numbers)
            content = content[: chosen.start()] + draw.choice(TEXTS) + content[chosen.end() :]
        case _:
            content = json.dumps(mutated_value(draw, json.loads(content))).encode()
    if rarely(draw):
        huge = b"[" + b"[]," * MEBI + b"0]"
        content = draw.choice(
            [content.decode("utf-8", "replace").encode("utf-16"), b'{"a":' + huge + b"}", b"{" * MEBI]
        )
    path.write_bytes(content)
    return reading.of_json(draw, path)
