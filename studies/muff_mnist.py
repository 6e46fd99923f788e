"""MUFF on real MNIST with LeNet-5: WI and NI by Algorithm 1 (cf. Tables VI, VII), disagreement rates (cf. Table IX).

    python -m studies.muff_mnist --data DIR [--out DIR] [--originals 10] [--quick]

Resumable: originals, the assessment and each disagreement rate are kept and not computed again.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import time
from pathlib import Path

import numpy as np
import torch

import mutiny
from mutiny.evaluation import Runner
from mutiny.mutation.judge import sample_of
from mutiny.mutation.kill import TESTS
from mutiny.operators.parsing import as_operators
from mutiny.reports.json import write_json
from mutiny.stats import disagreement_rate


def assessment(subject: mutiny.Subject, originals: int, out: Path, quick: bool) -> dict:
    """The result of `assess`, from the file if it is there."""
    path = out / "muff-mnist.json"
    if not path.exists():
        search = mutiny.Search(precision=0.05) if quick else mutiny.Search()
        write_json(path, mutiny.assess(subject, "WI,NI", originals=originals, search=search, ).to_json())
    return json.loads(path.read_text())


def disagreements(runner: Runner, found: dict, out: Path) -> None:
    """Disagreement on the training set among instances of one original, and of one instance each of all originals."""
    path = out / "muff-mnist-disagreement.csv"
    rows = list(csv.DictReader(path.open())) if path.exists() else []
    done = {(row["mutant"], row["scenario"]) for row in rows}
    weakest = {op["code"]: (op["sets"].get("train") or {}).get("weakest_killed") for op in found["operators"]}
    texts = ["GF", "WI(factor=0.5)", "NI(factor=0.5)"]
    texts += [f"{code}(factor={value:.4g})" for code, value in weakest.items() if value is not None]
    originals = len(runner.models)
    jobs = [(text, scenario) for text in texts for scenario in ("1-original", f"{originals}-originals")]
    for text, scenario in [("none", f"{originals}-originals"), *jobs]:
        if (text, scenario) in done:
            continue
        start = time.monotonic()
        if text == "none":
            outcomes = [runner.clean(i, "train").outcome for i in range(originals)]
        else:
            (operator,) = as_operators(text)
            pairs = (
                [(0, r) for r in range(originals)] if scenario == "1-original" else [(i, 0) for i in range(originals)]
            )
            outcomes = [runner.outcome(operator, original, repetition, "train") for original, repetition in pairs]
        rate = disagreement_rate(np.array([outcome.correct for outcome in outcomes]))
        accuracy = float(np.mean([outcome.metric for outcome in outcomes]))
        row = {
            "mutant": text,
            "scenario": scenario,
            "instances": len(outcomes),
            "disagreement": f"{rate:.6f}",
            "accuracy": f"{accuracy:.6f}",
            "seconds": f"{time.monotonic() - start:.1f}",
        }
        rows.append(row)
        print(row, flush=True)
        write_csv(path, rows)


def kill_tests(runner: Runner, out: Path) -> None:
    """What each test says about the same mutants: a few instances far worse than the rest decide."""
    path = out / "muff-mnist-tests.csv"
    if path.exists():
        return
    rows = []
    for text in ("WI(factor=0.5)", "NI(factor=0.5)", "NI(factor=1.0)"):
        (operator,) = as_operators(text)
        outcomes = [runner.outcome(operator, original, 0, "train") for original in range(len(runner.models))]
        sample = sample_of(runner, [outcomes], "train")
        for test in TESTS:
            evidence = mutiny.KillRule(test=test).resolve(len(outcomes)).judge(sample, higher_is_better=True)
            rows.append(
                {
                    "mutant": text,
                    "test": test,
                    "p_value": f"{evidence.p_value:.3g}",
                    "effect_size": f"{evidence.effect_size:.3g}",
                    "killed": evidence.killed,
                    "lowest accuracy": f"{sample.mutants.min():.4f}",
                    "median accuracy": f"{np.median(sample.mutants):.4f}",
                }
            )
            print(rows[-1], flush=True)
    write_csv(path, rows)


def write_csv(path: Path, rows: list[dict]) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("MUTINY_DATA"))
    parser.add_argument(
        "--out", type=Path, help="where the numbers are kept; docs/studies, with --quick a folder in it"
    )
    parser.add_argument("--originals", type=int, default=10)
    parser.add_argument("--quick", action="store_true", help="three originals and a coarse search")
    options = parser.parse_args()
    originals = 3 if options.quick else options.originals
    out = options.out or Path("docs/studies") / ("quick" if options.quick else "")
    out.mkdir(parents=True, exist_ok=True)
    subject = mutiny.load_subject("mnist", options.data)
    found = assessment(subject, originals, out, options.quick)
    for op in found["operators"]:
        sets = {name: s["weakest_killed"] for name, s in op["sets"].items()}
        print(op["label"], op["status"], sets, "score", op["score"], "sensitivity", op["sensitivity"], op["reason"])
    print("score", found["score"], "seconds", found["timing"]["seconds"], "threads", torch.get_num_threads())
    models = subject.originals(originals, seed=0)
    runner = Runner(models, subject.task, {"train": subject.train}, subject.forward, 0, 64)
    disagreements(runner, found, out)
    kill_tests(runner, out)


if __name__ == "__main__":
    main()
