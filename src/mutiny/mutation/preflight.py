"""Before any mutant: can this harness, with this subject, detect anything, and does it stay silent when it should?"""

from __future__ import annotations

import numpy as np
import torch

from mutiny.errors import PreflightFailed
from mutiny.evaluation import Runner
from mutiny.models import ModelView, Patch, WeightEdit
from mutiny.mutation.judge import sample_of
from mutiny.mutation.kill import KillRule

EMPTY = Patch(())


def wrecked(view: ModelView) -> Patch:
    """A patch that sets every weight and bias of every layer to zero: a network that has forgotten everything."""
    sizes = {t.parameter: t.size for layer in view.layers for t in (*layer.weights, *layer.biases)}
    dtype = next(iter(view.parameters.values())).dtype
    edits = (WeightEdit(name, np.arange(size), torch.zeros(size, dtype=dtype)) for name, size in sizes.items())
    return Patch(tuple(edits), view.layers[0].name)


def preflight(runner: Runner, rule: KillRule, splits: tuple[str, ...]) -> None:
    """Raises `PreflightFailed`, with what to do, unless all three hold on every split.

    A second clean run gives the same answers; the originals against themselves are not killed; a network with all
    weights zero is killed.
    """
    better = runner.task.higher_is_better
    count = len(runner.models)
    for split in splits:
        again = [runner.run(EMPTY, original, split) for original in range(count)]
        for original, outcome in enumerate(again):
            before = runner.clean(original, split).outcome
            changed = int((before.correct != outcome.correct).sum())
            if changed or not np.isclose(before.metric, outcome.metric, rtol=1e-6, atol=1e-9):
                raise PreflightFailed(
                    f"models[{original}] on {split}",
                    f"{runner.task.metric} {before.metric:.6g}, then {outcome.metric:.6g} ({changed} answers changed)",
                    "the same answers from two clean runs",
                    "The model is not deterministic: fix dropout, sampling or batch statistics at inference.",
                )  # fmt: skip
        if rule.judge(sample_of(runner, [again], split), better).killed:
            raise PreflightFailed(
                f"originals on {split}", "killed by their own copies", "a kill rule that tells them apart from nothing",
                "Check alpha and beta.",
            )  # fmt: skip
        wreck = [runner.run(wrecked(runner.views[original]), original, split) for original in range(count)]
        sample = sample_of(runner, [wreck], split)
        if not np.isfinite(sample.mutants).all():
            continue  # nothing is easier to notice than a loss that is no number
        evidence = rule.judge(sample, better)
        if not evidence.killed:
            metric = runner.task.metric
            clean = float(np.mean([runner.clean(o, split).outcome.metric for o in range(count)]))
            dead = float(np.mean([outcome.metric for outcome in wreck]))
            raise PreflightFailed(
                f"wrecked model on {split}",
                f"not noticed ({metric} {clean:.4g} before, {dead:.4g} with all weights zero; "
                f"p {evidence.p_value:.3g}, effect {evidence.effect_size:.3g})",
                f"the {split} set to tell a working network from one that forgot everything",
                "Use a model that beats a constant answer, more inputs, or more originals.",
            )  # fmt: skip
