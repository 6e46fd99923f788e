"""All benchmarks: ``python -m benchmarks [--quick] [--json FILE] [--data DIR]``."""

from __future__ import annotations

import json

from benchmarks import attack, comparison, engines, evaluation, localization, memory, notice, selection, suite, training
from benchmarks.command import options, show

ALL = {
    "evaluation": evaluation.measure,
    "notice": notice.measure,
    "selection": selection.measure,
    "localization": localization.measure,
    "attack": attack.measure,
    "comparison": comparison.measure,
    "training": training.measure,
    "engines": engines.measure,
    "memory": memory.measure,
    "suite": suite.measure,
}

given = options()
everything: dict[str, object] = {}
for name, measure in ALL.items():
    results = measure(given.quick, given.data)
    show(name, results)
    everything.update(results)
if given.json:
    given.json.write_text(json.dumps(everything, indent=2) + "\n")
