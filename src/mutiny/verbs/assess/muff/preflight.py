"""Checks before any mutant: clean runs repeat, originals do not kill one another, and a zeroed network is killed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mutiny.core.errors import PreflightFailed
from mutiny.core.random import generator_for
from mutiny.faults.evaluation import Outcome, Runner
from mutiny.models import Patch
from mutiny.models.layers import Indices
from mutiny.verbs.assess.muff.judge import sample_of
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.zeroed_weights import zeroed

EMPTY = Patch(())
SPLITS = 10
"""Number of random halvings of the originals; most of them must raise a false alarm for the check to fail."""


def preflight(runner: Runner, rule: KillRule, splits: tuple[str, ...], most: int | None = None) -> None:
    """Raises `PreflightFailed` with a remedy, unless three conditions hold on every split.

    A second clean run reproduces each original's answers and metric; originals are not killed by other originals; a
    network with all weights zero is killed.

    Args:
        runner: Originals and their data.
        rule: Resolved kill rule.
        splits: Splits to check.
        most: Largest number of inputs per split for the first and the last condition; all by default. If these inputs
            do not kill the zeroed network, all inputs are tried.
    """
    for split in splits:
        part = SplitPart.of(runner, split, most)
        _repeats(part)
        _silent(runner, rule, split)
        try:
            _detects(part, rule)
        except PreflightFailed:
            if part.chosen is None:
                raise
            _detects(SplitPart.of(runner, split, None), rule)


@dataclass(frozen=True)
class SplitPart:
    """Inputs of a split at ``chosen``, or all of them if that is ``None``, with the originals' answers to them."""

    runner: Runner
    split: str
    clean: list[Outcome]
    chosen: Indices | None

    @classmethod
    def of(cls, runner: Runner, split: str, most: int | None) -> SplitPart:
        """Evenly spaced inputs, at most ``most``; all by default."""
        size = len(runner.splits[split])
        if most is None or size <= most:
            return cls(runner, split, runner.clean_outcomes(split), None)
        chosen = np.unique(np.linspace(0, size - 1, most).astype(np.int64))
        passes = [runner.clean(original, split) for original in range(len(runner.models))]
        clean = [Outcome.of(p.outcome.correct[chosen], p.shares[chosen]) for p in passes]
        return cls(runner, split, clean, chosen)

    def run(self, patch: Patch, original: int) -> Outcome:
        """Outcome of an original with a patch on these inputs."""
        if self.chosen is None:
            return self.runner.run(patch, original, self.split)
        right, shares, _ = self.runner.answers(patch, original, self.split, self.chosen)
        return Outcome.of(right, shares)


def _repeats(part: SplitPart) -> None:
    split, rounding = part.split, 1e-6 if part.chosen is None else 1e-4  # other batches, other rounding
    for original, before in enumerate(part.clean):
        again = part.run(EMPTY, original)
        close = np.isclose(before.metric, again.metric, rtol=rounding, atol=1e-9)
        if not (np.array_equal(before.bits, again.bits) and close):
            changed = f"{before.metric:.6f}, then {again.metric:.6f}"
            raise PreflightFailed(
                f"models[{original}] on {split}",
                changed if before.metric != again.metric else "answers changed",
                "the same answers from two clean runs",
                "The model is not deterministic: fix dropout, sampling or batch statistics at inference.",
            )


def _silent(runner: Runner, rule: KillRule, split: str) -> None:
    """Half of the originals against the other half, split in several ways; with fewer than four, against themselves."""
    clean = runner.clean_outcomes(split)
    half, rng = len(clean) // 2, generator_for(runner.seed, "pre-flight", split)
    orders = [rng.permutation(len(clean)) for _ in range(SPLITS)] if half >= 2 else [np.tile(np.arange(len(clean)), 2)]
    half = half if half >= 2 else len(clean)
    pairs = [([clean[i] for i in order[:half]], [clean[i] for i in order[half : 2 * half]]) for order in orders]
    better = runner.task.higher_is_better
    killed = sum(
        rule.judge(sample_of(left, [right]), better).killed or rule.judge(sample_of(right, [left]), better).killed
        for left, right in pairs
    )
    if killed > len(pairs) / 2:
        raise PreflightFailed(
            f"originals on {split}",
            f"killed by one another in {killed} of {len(pairs)} splits",
            "a kill rule that kills nothing where there is no fault",
            "Check alpha= and beta=.",
        )


def _detects(part: SplitPart, rule: KillRule) -> None:
    runner, split, clean = part.runner, part.split, part.clean
    outcomes = [part.run(zeroed(view), original) for original, view in enumerate(runner.views)]
    if not all(np.isfinite(outcome.metric) for outcome in outcomes):
        return  # any test notices outputs that are not numbers
    evidence = rule.judge(sample_of(clean, [outcomes]), runner.task.higher_is_better)
    if not evidence.killed:
        before, after = (np.mean([outcome.metric for outcome in group]) for group in (clean, outcomes))
        raise PreflightFailed(
            f"zeroed network on {split}",
            f"not noticed ({runner.task.metric} {before:.4g} before, {after:.4g} with all weights zero; "
            f"p {evidence.p_value:.3g}, effect {evidence.effect_size:.3g})",
            f"the {split} set to tell a working network from one that forgot everything",
            "Use a model that beats a constant answer, more inputs, or more originals.",
        )
