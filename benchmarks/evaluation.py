"""What evaluating mutants costs: against the bare forward pass, against the peers' way, screened against exact.

python -m benchmarks.evaluation [--quick] [--json FILE] [--data DIR]

With --data the originals and inputs are MNIST's, otherwise digits drawn from scikit-learn's. The full form takes an
hour or two, nearly all of it for the exact searches that the screened ones are compared with.
"""

from __future__ import annotations

import copy
import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from rich.table import Table
from torch import nn

import mutiny
from benchmarks.command import run
from benchmarks.subjects import NETWORKS, Bench, bench
from benchmarks.timing import entry, ratio
from mutiny.core.records import Verdict
from mutiny.faults import Operator, WeightInhibitor
from mutiny.faults.evaluation import Runner, Screening
from mutiny.faults.parsing import as_operators
from mutiny.models import default_forward
from mutiny.models.layout import laid_out
from mutiny.subjects.tasks import Classification
from mutiny.verbs.assess.muff.judge import MutantJudge
from mutiny.verbs.assess.muff.kill_rule import KillRule
from mutiny.verbs.assess.muff.search import Search, Trace, binary_search

INSTANCES = 20
SMALL_ORIGINALS = 3
MEGABYTE = 2**20


@dataclass(frozen=True)
class Sizes:
    """How much to measure for one network."""

    originals: int
    inputs: int
    operators: str
    search: Search
    passes: int
    epochs: int | None = None


FULL = {
    "lenet5": Sizes(20, 60_000, "WI,NI,GF,NEB,NAI", Search(), 60_000),
    "cnn": Sizes(5, 20_000, "WI", Search(), 6_000),
}
QUICK = {
    "lenet5": Sizes(5, 8_000, "WI,NI,GF", Search(precision=8e-3), 4_000, epochs=2),
    "cnn": Sizes(1, 1_000, "", Search(), 500, epochs=1),
}
GOALS = {"WI": (30.0, 20.0), "NI": (30.0, 20.0), "GF": (30.0, 20.0)}
"""Times fewer inputs and times less time that a screened search of 60,000 inputs should need."""


def measure(quick: bool, data: Path | None) -> dict[str, dict[str, object]]:
    torch.set_num_threads(1)
    results: dict[str, dict[str, object]] = {}
    for network, sizes in (QUICK if quick else FULL).items():
        subject = bench(network, sizes.originals, sizes.inputs, sizes.epochs, data)
        runner = Runner(subject.models, Classification(10, "logits"), {"train": subject.train}, default_forward, 0)
        results |= passes(subject, runner, sizes, rounds=3)
        results |= searches(subject, runner, sizes, full=not quick)
        results |= memory(network, sizes, data)
    return results | small_network(rounds=3)


def passes(subject: Bench, runner: Runner, sizes: Sizes, rounds: int) -> dict[str, dict[str, object]]:
    """(a) the raw pass, (b) exact evaluation of mutant instances, (c) the peers' way."""
    some = subject.train.subset(np.arange(min(sizes.passes, len(subject.train))))
    runner.add_split("some", some)
    model, pace, operator = runner.models[0], runner.pace, WeightInhibitor(factor=0.5)
    images = some.read(slice(0, len(some)))
    instances = INSTANCES if len(some) * INSTANCES <= 40_000 else max(2, 40_000 // len(some))
    patches = [runner.patch(operator, 0, repetition) for repetition in range(instances)]

    def raw() -> None:
        for _ in range(instances):
            with torch.inference_mode(), laid_out(model, pace.layout):
                for batch in images.split(pace.batch_size):
                    model(batch)

    def exact() -> None:
        for patch in patches:
            runner.run(patch, 0, "some")

    start = time.perf_counter()
    raw()
    rate = instances * len(some) / (time.perf_counter() - start)
    print(f"{subject.name}: (a) raw pass {rate:,.0f} inputs/s at batch {pace.batch_size}, {pace.layout} layout")
    return {
        f"{subject.name}: (b) {instances} instances, exact, as a multiple of raw passes": entry(
            1 / ratio(raw, exact, rounds), 1.1, "lower"
        ),
        f"{subject.name}: (c) the peers' way by ours, per instance": entry(
            ratio(lambda: peers(model, images, operator, runner), lambda: runner.run(patches[0], 0, "some"), rounds),
            1.0,
        ),
    }


def peers(model: nn.Module, images: torch.Tensor, operator: Operator, runner: Runner) -> None:
    """A deep copy, mutated, saved, loaded, and asked for predictions in batches of 32."""
    twin = copy.deepcopy(model)
    with runner.patch(operator, 0, 0).applied(twin), tempfile.TemporaryDirectory() as folder:
        torch.save(twin.state_dict(), Path(folder) / "mutant.pt")
        loaded = NETWORKS[{cls: name for name, cls in NETWORKS.items()}[type(model)]]()
        loaded.load_state_dict(torch.load(Path(folder) / "mutant.pt", weights_only=True))
    with torch.no_grad():
        torch.cat([loaded.eval()(batch).softmax(dim=1) for batch in images.split(32)]).argmax(dim=1)


def searches(subject: Bench, runner: Runner, sizes: Sizes, full: bool) -> dict[str, dict[str, object]]:
    """(d) the whole search of each operator, exact and screened; in seconds of the processor, one thread."""
    results: dict[str, dict[str, object]] = {}
    runner.clean_outcomes("train")
    for operator in as_operators(sizes.operators) if sizes.operators else []:
        judges = {
            way: MutantJudge(
                runner, operator, operator.code, KillRule().resolve(sizes.originals), sizes.search, screening
            )
            for way, screening in (("screened", Screening()), ("exact", None))
        }
        traces, seconds = {}, {}
        for way, judge in judges.items():
            start = time.process_time()
            traces[way] = binary_search(
                lambda strength, judge=judge: judge(strength, "train").record.verdict, operator.bounds, sizes.search
            )
            seconds[way] = time.process_time() - start
        verdicts = compare(judges, traces)
        spent = {way: sum(j.record.evaluated for j in judge.seen("train").values()) for way, judge in judges.items()}
        show(subject.name, operator.code, judges, traces, seconds)
        few, fast = GOALS.get(operator.code, (1.0, 1.0)) if full and subject.name == "lenet5" else (1.0, 1.0)
        name = f"{subject.name}: (d) {operator.code}, {sizes.originals} x {len(subject.train):,} inputs"
        results[f"{name}: times fewer inputs"] = entry(spent["exact"] / spent["screened"], few)
        results[f"{name}: times less time"] = entry(seconds["exact"] / seconds["screened"], fast)
        results[f"{name}: archived mutants with another verdict"] = entry(verdicts, 0, "lower", "")
        results[f"{name}: difference of weakest strengths"] = entry(gap(traces), sizes.search.precision, "lower", "")
    return results


def small_network(rounds: int) -> dict[str, dict[str, object]]:
    """(f) searches on a network so small that screening it would be slower than evaluating everything."""
    digits = mutiny.load_subject("digits")
    assert digits.train is not None
    data = digits.train.subset(np.tile(np.arange(len(digits.train)), 2))
    models = digits.originals(SMALL_ORIGINALS, seed=0)
    runner = Runner(models, digits.task, {"train": data}, digits.forward, 0, 256)
    runner.clean_outcomes("train")

    def searched(screening: Screening | None) -> None:
        search, rule = Search(max_probes=3), KillRule().resolve(SMALL_ORIGINALS)
        for operator in as_operators("WI,NI"):
            judge = MutantJudge(runner, operator, operator.code, rule, search, screening)
            binary_search(lambda s, j=judge: j(s, "train").record.verdict, operator.bounds, search)

    faster = ratio(lambda: searched(None), lambda: searched(Screening()), rounds, time.process_time)
    name = f"digits: (f) WI, NI, {SMALL_ORIGINALS} x {len(data):,} inputs: evaluating everything by the default"
    return {name: entry(faster, 0.9)}


def compare(judges: dict[str, MutantJudge], traces: dict[str, Trace]) -> int:
    """Mutants archived by either search that the other way of evaluating judges otherwise."""
    archived = {strength for trace in traces.values() for strength in trace.archive}
    return sum(
        judges["exact"](strength, "train").record.verdict is not judges["screened"](strength, "train").record.verdict
        for strength in archived
    )


def gap(traces: dict[str, Trace]) -> float:
    """Distance of the weakest killed strengths; 0 if neither search killed any, 1 if only one did."""
    weakest = [trace.archive[-1] if trace.archive else None for trace in traces.values()]
    if None in weakest:
        return float(weakest[0] is not weakest[1])
    return abs(float(weakest[0] or 0) - float(weakest[1] or 0))


def show(
    subject: str, code: str, judges: dict[str, MutantJudge], traces: dict[str, Trace], seconds: dict[str, float]
) -> None:
    """Every probe of both searches, side by side."""
    table = Table(
        title=f"{subject}, {code}: {seconds['exact']:.1f} s exact, {seconds['screened']:.1f} s screened",
        show_edge=False,
    )
    for column in ("strength", "exact", "screened", "metric", "screened", "instances", "inputs", "basis"):
        table.add_column(column, justify="right")
    strengths = [s for s, _ in traces["screened"].probes]
    strengths += [s for s, _ in traces["exact"].probes if s not in strengths]
    seen = {way: judge.seen("train") for way, judge in judges.items()}
    for strength in strengths:
        exact, screened = (seen[way].get(strength) for way in ("exact", "screened"))
        full = screened.record.instances * screened.sample.inputs if screened else 1
        table.add_row(
            f"{strength:.5g}",
            str(exact.record.verdict) if exact else "-",
            _marked(exact.record.verdict if exact else None, screened.record.verdict if screened else None),
            f"{exact.record.metric_mean:.6f}" if exact else "-",
            f"{screened.record.metric_mean:.6f}" if screened else "-",
            str(screened.record.instances) if screened else "-",
            f"{screened.record.evaluated / full:.2%}" if screened else "-",
            str(screened.record.basis) if screened else "-",
        )
    Console(width=110).print(table)


def _marked(exact: Verdict | None, screened: Verdict | None) -> str:
    return "-" if screened is None else str(screened) if screened is exact or exact is None else f"{screened} (!)"


def memory(network: str, sizes: Sizes, data: Path | None) -> dict[str, dict[str, object]]:
    """(e) the largest resident memory of a process that only evaluates mutants, with originals that are trained."""
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        peak, allowed = pool.submit(peak_memory, network, sizes, data).result()
    return {f"{network}: (e) peak memory": entry(peak / MEGABYTE, round(allowed / MEGABYTE + 500), "lower", " MB")}


def peak_memory(network: str, sizes: Sizes, data: Path | None) -> tuple[int, int]:
    """Peak, and data with three models, of one screened probe, in bytes."""
    torch.set_num_threads(1)
    subject = bench(network, sizes.originals, sizes.inputs, sizes.epochs, data)
    runner = Runner(subject.models, Classification(10, "logits"), {"train": subject.train}, default_forward, 0)
    operator, rule = WeightInhibitor(), KillRule().resolve(max(2, sizes.originals))
    if sizes.originals > 1:
        MutantJudge(runner, operator, "WI", rule, sizes.search, Screening())(0.5, "train")
    runner.outcome(operator, 0, 0, "train")
    one = sum(p.nbytes for p in subject.models[0].parameters())
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, subject.bytes + 3 * one


if __name__ == "__main__":
    run("evaluation", measure)
