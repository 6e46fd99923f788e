"""Runs cases.

``python -m fuzz [--files 10000] [--commands 500] [--gates 2000] [--seconds 600] [--seed 0] [--case KIND:NUMBER]``
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path

from fuzz import corpus
from fuzz.campaign import Campaign, Settings

SHARES = {"stores": 0.3, "results": 0.3, "data": 0.4}
"""Shares of the mutated files by kind."""


def main(arguments: list[str] | None = None) -> int:
    """Runs all cases; returns 1 if one of them is a bug, a hang, or takes too much memory."""
    parser = argparse.ArgumentParser(prog="python -m fuzz")
    parser.add_argument("--files", type=int, default=10_000, help="Number of mutated files.")
    parser.add_argument("--commands", type=int, default=500, help="Number of command lines.")
    parser.add_argument("--gates", type=int, default=2000, help="Number of texts of gates.")
    parser.add_argument("--seconds", type=float, default=1800.0, help="Time after which no further cases start.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="Number of the first case of each kind.")
    parser.add_argument("--only", choices=[*SHARES, "gates"], help="A single kind of mutated files, or gates.")
    parser.add_argument("--case", help="A single case to repeat, such as stores:1234.")
    parser.add_argument("--limit", default="64MB", help="Value of MUTINY_LIMIT.")
    parser.add_argument("--memory", type=int, default=256, help="Most MiB that a case may take.")
    parser.add_argument(
        "--patience",
        type=float,
        default=20.0,
        help="Seconds after which a case counts as hanging; ten times as many without work.",
    )
    options = parser.parse_args(arguments)
    counts = {kind: round(share * options.files) for kind, share in SHARES.items()}
    counts |= {"commands": options.commands, "gates": options.gates}
    if options.only:
        counts = {options.only: options.gates if options.only == "gates" else options.files}
    first = options.first
    if options.case:
        kind, _, number = options.case.partition(":")
        if kind not in counts or not number.isdecimal():
            parser.error(f"--case {options.case}: expected KIND:NUMBER with a kind of {', '.join(counts)}")
        counts, first = {kind: 1}, int(number)
    with tempfile.TemporaryDirectory(prefix="fuzz-") as root:
        settings = Settings(
            Path(root), options.seed, options.limit, options.memory << 20, options.patience, options.seconds
        )
        os.environ |= settings.own
        (Path(root) / "corpus").mkdir()
        corpus.make(Path(root) / "corpus")
        campaign = Campaign(settings)
        campaign.run(counts, first)
    campaign.show(bool(options.case))
    return int(bool(campaign.failures))


if __name__ == "__main__":
    sys.exit(main())
