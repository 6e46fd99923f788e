"""Mutants without networks: their answers follow a known law, so every screened verdict can be checked.

``python -m references.screening 2000`` in the folder of the tests simulates so many mutants and prints a table.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import torch

from mutiny.core.random import generator_for
from mutiny.core.records import Basis
from mutiny.faults import Operator
from mutiny.faults.evaluation import CleanPass, Outcome, ScreenedMutant, Screening
from mutiny.subjects.inference.condensed_outputs import condense
from mutiny.subjects.tasks import Classification, Regression
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.search import Search, binary_search

SIZES = [(10, 4000), (10, 10_000), (15, 6000), (20, 4000), (20, 10_000)]
"""Originals and inputs."""
MSE = Regression(tolerance=0.3)


@dataclass(frozen=True)
class Originals:
    """Trained networks, as far as screening sees them."""

    task: object
    targets: torch.Tensor
    outputs: tuple
    clean: tuple

    @classmethod
    def of(cls, task, targets, outputs):
        clean = []
        for rows in outputs:
            right, shares = (part.numpy() for part in task.judge(rows, targets))
            shares = shares.astype(float)
            outcome = Outcome(np.packbits(right), len(right), float(shares.sum()) / len(right))
            clean.append(CleanPass(outcome, shares, None, condense(task, rows, targets)))
        return cls(task, targets, tuple(outputs), tuple(clean))


@lru_cache(maxsize=4)
def classifiers(seed, originals, inputs, classes=10, accuracy=0.99, sd=6e-4):
    """Logits of originals that find the same inputs hard: margins like 10 +- 4, few of them small."""
    rng = generator_for(seed, "classifiers")
    targets = rng.integers(classes, size=inputs)
    hard, outputs = rng.normal(size=inputs), []
    for _ in range(originals):
        lead = 4.3 * (0.9 * hard + 0.19**0.5 * rng.normal(size=inputs))
        wrong = round(inputs * (1 - min(accuracy + sd * rng.normal(), 1 - 2 / inputs)))
        lead -= np.sort(lead)[wrong - 1 : wrong + 1].mean()
        logits = -3 * np.abs(rng.normal(size=(inputs, classes)))
        rows = np.arange(inputs)
        logits[rows, (targets + rng.integers(1, classes, inputs)) % classes] = 0
        logits[rows, targets] = lead
        outputs.append(torch.from_numpy(logits.astype(np.float32)))
    return Originals.of(Classification(classes, "logits"), torch.from_numpy(targets), outputs)


@lru_cache(maxsize=4)
def regressors(seed, originals, inputs):
    """Outputs whose errors are 0.1, give or take 1% between originals."""
    rng = generator_for(seed, "regressors")
    targets = rng.normal(size=(inputs, 1))
    size = 0.1 * np.exp(0.3 * rng.normal(size=(inputs, 1)))  # some inputs are harder
    outputs = [targets + size * (1 + 0.01 * rng.normal()) * rng.normal(size=(inputs, 1)) for _ in range(originals)]
    return Originals.of(MSE, torch.from_numpy(targets), [torch.from_numpy(rows) for rows in outputs])


# What a mutant changes: change(originals' outputs, targets, size, what the instances share, what is an instance's own)


def gaussian(outputs, targets, size, shared, own):
    """Mixes the classes a little, and adds noise."""
    classes = outputs.shape[1]
    mixed = outputs @ torch.from_numpy(np.eye(classes) + 0.03 * size * own.normal(size=(classes, classes))).float()
    return mixed + size * torch.from_numpy(own.normal(size=outputs.shape)).float() / 2


def laplace(outputs, targets, size, shared, own):
    """Noise with an exponential tail, the larger the surer the original was."""
    scale = 0.3 + 0.1 * _lead(outputs, targets).abs()
    return outputs + size * scale[:, None] * torch.from_numpy(own.laplace(size=outputs.shape)).float()


def loudness(outputs, targets, size, shared, own):
    """Some instances are many times louder than others."""
    return gaussian(outputs, targets, size * np.exp(1.2 * own.normal()), shared, own)


def one_class(outputs, targets, size, shared, own):
    """One class breaks wholesale, the rest hardly changes."""
    broken, changed = shared.integers(outputs.shape[1]), gaussian(outputs, targets, 0.1, shared, own)
    changed[:, broken] -= size
    return changed


def adversarial(outputs, targets, size, shared, own):
    """A share of ``size`` of the surer half of the inputs gets another answer; everything else is untouched."""
    lead = _lead(outputs, targets)
    return _swapped(outputs, targets, (lead > lead.median()).numpy() & (own.random(len(outputs)) < size))


def adversarial_and_ordinary(outputs, targets, size, shared, own):
    return gaussian(adversarial(outputs, targets, size, shared, own), targets, 0.3, shared, own)


def strong(outputs, targets, size, shared, own):
    return _swapped(outputs, targets, own.random(len(outputs)) < size)


def unchanged(outputs, targets, size, shared, own):
    return outputs


def cauchy(outputs, targets, size, shared, own):
    """A few answers move very far."""
    return outputs + size * torch.from_numpy(own.standard_cauchy(size=outputs.shape)).float()


def cluster(outputs, targets, size, shared, own):
    """A share of the inputs, the same for all instances, loses much of its margin; the others hardly change."""
    changed = gaussian(outputs, targets, 0.05, shared, own)
    hit = shared.random(len(outputs)) < size
    loss = 12 * np.abs(own.normal(size=len(outputs))) * hit
    changed[torch.arange(len(targets)), targets] -= torch.from_numpy(loss).float()
    return changed


def _lead(outputs, targets):
    best = outputs.scatter(1, targets[:, None], -torch.inf).amax(dim=1)
    return outputs.gather(1, targets[:, None])[:, 0] - best


def _swapped(outputs, targets, where):
    """With the true and the best other class exchanged."""
    rows = torch.from_numpy(np.flatnonzero(where))
    changed, true = outputs.clone(), targets[rows]
    other = outputs.scatter(1, targets[:, None], -torch.inf).argmax(dim=1)[rows]
    changed[rows, true], changed[rows, other] = outputs[rows, other], outputs[rows, true]
    return changed


def noisy(outputs, targets, size, shared, own):
    return outputs + size * torch.from_numpy(own.normal(size=outputs.shape))


def lognormal(outputs, targets, size, shared, own):
    """Most errors grow a little, some a lot."""
    sign = own.choice([-1, 1], size=outputs.shape)
    return outputs + size * torch.from_numpy(sign * own.lognormal(sigma=1.0, size=outputs.shape))


def heavier(outputs, targets, size, shared, own):
    sign = own.choice([-1, 1], size=outputs.shape)
    return outputs + size * torch.from_numpy(sign * own.lognormal(sigma=1.5, size=outputs.shape))


def offset(outputs, targets, size, shared, own):
    return outputs + size


def rare(outputs, targets, size, shared, own):
    """Few inputs, everything else untouched."""
    hit = own.random(outputs.shape) < size
    return outputs + torch.from_numpy(0.5 * hit * own.normal(size=outputs.shape))


LABELS = {
    "gaussian": (gaussian, 0.05, 3.0),
    "laplace": (laplace, 0.02, 1.0),
    "loudness": (loudness, 0.02, 2.0),
    "one class": (one_class, 0.3, 20.0),
    "adversarial": (adversarial, 1e-4, 1e-1),
    "adversarial+": (adversarial_and_ordinary, 1e-4, 1e-1),
    "strong": (strong, 0.25, 0.35),
    "unchanged": (unchanged, 0.1, 1.0),
    "cauchy": (cauchy, 1e-4, 1e-1),
    "cluster": (cluster, 1e-3, 0.3),
}
NUMBERS = {
    "noise": (noisy, 0.005, 0.2),
    "lognormal": (lognormal, 0.002, 0.1),
    "heavier": (heavier, 0.001, 0.05),
    "offset": (offset, 0.002, 0.2),
    "rare": (rare, 1e-4, 1e-1),
    "same": (unchanged, 0.1, 1.0),
}
"""Kinds of mutants of classifiers and of regressors, each with the smallest and the largest size."""


@dataclass(frozen=True)
class Resized(Operator):
    """Changes answers, not weights; `Runner` is simulated."""

    code: ClassVar[str] = "SIM"
    title: ClassVar[str] = "simulated"
    source: ClassVar[str] = "here"
    tunable: ClassVar[Mapping[str, tuple[float, float]]] = {"size": (0.0, 100.0)}
    size: float = 1.0

    def edits(self, view, rng):
        raise NotImplementedError


class Watched(ScreenedMutant):
    """Keeps every look."""

    def __init__(self, *args):
        super().__init__(*args)
        self.found = []

    def look(self):
        look = super().look()
        self.found.append(look)
        return look


class SimulatedRunner:
    """A `Runner` whose instances answer by a law, with the same random numbers at every strength."""

    def __init__(self, originals, change, seed):
        self.originals, self.change, self.seed = originals, change, seed
        self.task = originals.task
        self.models = self.views = originals.clean
        self.inputs = originals.clean[0].outcome.inputs
        self.splits = {"test": range(self.inputs)}
        self.watched = {}
        self._outputs = {}

    def patch(self, operator, original, repetition):
        digest = f"{operator.size} {original} {repetition}"
        return SimpleNamespace(digest=digest, operator=operator, repetition=repetition)

    def run(self, patch, original, split):
        return self.outcome(patch.operator, original, patch.repetition, split)

    def outputs(self, operator, original, repetition):
        if operator.size not in self._outputs:
            self._outputs = {operator.size: {}}
        known = self._outputs[operator.size]
        if (original, repetition) not in known:
            shared = generator_for(self.seed, "shared")
            own = generator_for(self.seed, "own", original, repetition)
            before, targets = self.originals.outputs[original], self.originals.targets
            known[original, repetition] = self.change(before, targets, operator.size, shared, own)
        return known[original, repetition]

    def outcome(self, operator, original, repetition, split):
        rows = self.outputs(operator, original, repetition)
        right, shares = self.task.judge(rows, self.originals.targets)
        return Outcome(np.packbits(right.numpy()), len(right), float(shares.sum()) / len(right))

    def clean(self, original, split):
        return self.originals.clean[original]

    def clean_outcomes(self, split):
        return [clean.outcome for clean in self.originals.clean]

    def clean_bits(self, split):
        return np.array([outcome.bits for outcome in self.clean_outcomes(split)])

    def labels(self, split):
        return None

    def is_large(self, split, inputs, operations):
        return self.inputs >= inputs  # there is no network whose operations could be counted

    def screened(self, operator, split, screening, checks, memory):
        targets = self.originals.targets

        def answer(original, repetition, indices):
            at = torch.from_numpy(indices)
            rows = self.outputs(operator, original, repetition)[at]
            right, shares = self.task.judge(rows, targets[at])
            return right.numpy(), shares.double().numpy(), condense(self.task, rows, targets[at])

        rng = generator_for(self.seed, "screening", str(operator.size))
        screen = Watched(
            self.task, self.originals.clean, targets, answer, rng, screening, checks, memory, operator.size
        )
        self.watched[operator.size] = screen
        return screen


@dataclass(frozen=True)
class Checked:
    """A screened verdict beside the exact one.

    Attributes:
        wrong: the verdict differs, or the repetitions after which it was reached.
        outside: bounds of the estimate the verdict rests on that the truth exceeds: mean, norm, each.
        ever_outside: the same over the estimates of all looks.
        share: of the (instance, input) pairs, those evaluated.
    """

    kind: str
    seed: int
    size: float
    wrong: bool
    outside: frozenset
    ever_outside: frozenset
    share: float
    basis: Basis
    screened: object = field(repr=False)
    exact: object = field(repr=False)


def outside(estimate, truth):
    """Which bounds of an estimate do not hold."""
    error, dust = estimate.metrics - truth[: len(estimate.metrics)], 1e-9 * np.abs(truth).max()
    broken = {
        "mean": abs(error.mean()) > estimate.shift + dust,
        "norm": np.linalg.norm(error) > estimate.spread + dust,
        "each": bool((np.abs(error) > estimate.each + dust).any()),
        "exact": estimate.basis is Basis.EXACT and bool((np.abs(error) > dust / 1000).any()),
    }
    return frozenset(name for name, is_broken in broken.items() if is_broken)


def judges(runner, rule, screening, search=None):
    """A judge that screens and one that evaluates everything."""
    rule, search = rule.resolve(len(runner.models)), search or Search()
    return [MutantJudge(runner, Resized(), "SIM", rule, search, each) for each in (screening, None)]


def check(runner, kind, size, screens, exact):
    """One mutant judged twice."""
    found, truth = screens(size, "test").record, exact(size, "test").record
    screen = runner.watched[size]
    metrics = np.array(
        [
            [
                runner.outcome(Resized(size), original, repetition, "test").metric
                for original in range(len(runner.models))
            ]
            for repetition in range(screen.repetitions)
        ]
    )
    estimates = [estimate for look in screen.found for estimate in look.estimates]
    last = next(e for e in screen.found[-1].estimates if e.basis is found.basis)
    return Checked(
        kind=kind,
        seed=runner.seed,
        size=size,
        wrong=(found.verdict, found.instances) != (truth.verdict, truth.instances),
        outside=outside(last, metrics),
        ever_outside=frozenset().union(*(outside(estimate, metrics) for estimate in estimates)),
        share=found.evaluated / found.instances / runner.inputs,
        basis=found.basis,
        screened=found,
        exact=truth,
    )


def runner_for(kind, seed, sizes=SIZES):
    """The originals and the mutant that a kind and a seed name; a few subjects serve all."""
    subject = seed % 12
    count, inputs = sizes[subject % len(sizes)]
    if kind in LABELS:
        return SimulatedRunner(classifiers(subject, count, inputs), LABELS[kind][0], seed)
    return SimulatedRunner(regressors(subject, 10, inputs), NUMBERS[kind][0], seed)


def simulated(kind, seed, rule=KillRule(), screening=Screening(), sizes=SIZES):  # noqa: B008 - both are frozen
    """One mutant of a random size, judged with a fresh memory."""
    runner = runner_for(kind, seed, sizes)
    low, high = {**LABELS, **NUMBERS}[kind][1:]
    size = float(np.exp(generator_for(seed, "size").uniform(np.log(low), np.log(high))))
    return check(runner, kind, size, *judges(runner, rule, screening))


def searched(kind, seed, probes=8, rule=KillRule(), screening=Screening(), sizes=SIZES):  # noqa: B008 - as above
    """All probes of a bisection, which share one memory."""
    runner = runner_for(kind, seed, sizes)
    found, (screens, exact) = [], judges(runner, rule, screening)

    def probe(size):
        found.append(check(runner, kind, size, screens, exact))
        return found[-1].exact.verdict

    low, high = {**LABELS, **NUMBERS}[kind][1:]
    binary_search(lambda s: probe(low * (high / low) ** s), (0.0, 1.0), Search(max_probes=probes, precision=1e-9))
    return found


def table(checked):
    """One line per kind."""
    lines = [
        f"{'kind':<14}{'mutants':>8}{'wrong':>7}{'intervals':>11}{'norms':>7}{'each':>6}{'ever':>6}{'share':>8}"
        f"{'exact':>7}{'sampled':>9}{'extrapolated':>14}{'killed':>8}{'unstable':>10}"
    ]
    kinds = list(dict.fromkeys(c.kind for c in checked))
    for kind in [*kinds, "all"]:
        some = [c for c in checked if kind in (c.kind, "all")]
        basis, verdicts = Counter(c.basis for c in some), Counter(str(c.exact.verdict) for c in some)
        lines.append(
            f"{kind:<14}{len(some):>8}{sum(c.wrong for c in some):>7}{sum('mean' in c.outside for c in some):>11}"
            f"{sum('norm' in c.outside for c in some):>7}{sum('each' in c.outside for c in some):>6}"
            f"{sum(bool(c.ever_outside) for c in some):>6}{np.mean([c.share for c in some]):>8.3f}"
            f"{basis[Basis.EXACT]:>7}{basis[Basis.SAMPLED]:>9}{basis[Basis.EXTRAPOLATED]:>14}"
            f"{verdicts['killed']:>8}{verdicts['unstable']:>10}"
        )
    return "\n".join(lines)


def wrong(checked):
    """What to look into: one line per wrong verdict."""
    return "\n".join(
        f"{c.kind} seed={c.seed} size={c.size:.6g} {c.basis}: {c.screened.verdict} for {c.exact.verdict}, "
        f"mean {c.screened.metric_mean:.6f} +- {c.screened.metric_error:.6f} for {c.exact.metric_mean:.6f}, "
        f"p {c.screened.p_value:.4f} for {c.exact.p_value:.4f}, d {c.screened.effect_size:.3f} for "
        f"{c.exact.effect_size:.3f}, outside {sorted(c.outside)}"
        for c in checked
        if c.wrong
    )


def simulations(kinds, count, start=0):
    """So many mutants, spread over the kinds; those with the same originals follow each other."""
    names = list(kinds)
    jobs = sorted((start + place for place in range(count)), key=lambda seed: seed // len(names) % 12)
    return [simulated(names[seed % len(names)], seed // len(names)) for seed in jobs]


if __name__ == "__main__":
    number = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    torch.set_num_threads(1)
    for title, kinds, few in (("classification", LABELS, number), ("regression", NUMBERS, number // 4)):
        done = simulations(kinds, few)
        sys.stdout.write(f"{title}\n{table(sorted(done, key=lambda c: list(kinds).index(c.kind)))}\n{wrong(done)}\n\n")
        sys.stdout.flush()
    probes = [c for kind in LABELS for seed in range(max(1, number // 500)) for c in searched(kind, seed)]
    sys.stdout.write(f"searches\n{table(probes)}\n{wrong(probes)}\n")
