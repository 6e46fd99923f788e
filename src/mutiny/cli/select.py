"""``mutiny select``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import JUDGE, RUN, TEST, WRITE, Indices, option

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.subjects.data import Data
    from mutiny.verbs.select.result import Selection


@verb(aliases={"methods": "method"})
def select(
    invocation: Invocation,
    method: Annotated[
        str | None,
        option(
            'Ranking method: "deepgini", "dsa(by=coverage)", "deepgini+dsa"; `mutiny methods` lists all.',
            complete=completion.methods,
        ),
    ] = None,
    budget: Annotated[str, option("Number or share of inputs to label: 500, 0.05 or 5%.")] = "5%",
    pool: Annotated[
        str | None,
        option(
            'Inputs to choose from: a file, a folder, "test", or "mutated" (benign mutations of the test set); by '
            "default the subject's pool, or its test set if it has none.",
            complete=completion.words("test mutated"),
        ),
    ] = None,
    compare: Annotated[
        str | None,
        option('Methods to compare: "nss,deepgini,dsa,random", or "all".', complete=completion.methods),
    ] = None,
    indices: Indices = None,
    originals: Annotated[
        int | None, option("Number of originals to use; the first is the model under test.", TEST)
    ] = None,
    layers: Annotated[
        str | None,
        option('Layers to read features from: names or patterns joined by "+", or encoder, hidden, all.', JUDGE),
    ] = None,
    diverse: Annotated[bool, option("Avoid inputs that look alike to the model.", JUDGE, "--diverse")] = False,
    repeats: Annotated[int, option("Number of repetitions with other seeds, for intervals.", RUN)] = 1,
    plot: Annotated[Path | None, option("Plot of faults against labels: .png, .svg or .pdf.", WRITE)] = None,
) -> Selection:
    """Rank unlabeled inputs by how likely the network is to get them wrong."""
    from mutiny.cli.invocation import split_names
    from mutiny.core.errors import BadInput
    from mutiny.reports.fault_curves import draw_curves
    from mutiny.reports.result_files import write_indices
    from mutiny.reports.select_text import select_text
    from mutiny.subjects.data.labels import unknown
    from mutiny.subjects.given import as_given
    from mutiny.verbs.select.budget import check_budget
    from mutiny.verbs.select.parsing import as_methods
    from mutiny.verbs.select.select import select

    invocation.check({"--indices": indices, "--plot": plot})
    if method is not None and compare is not None:
        raise BadInput("--method", method, "either --method or --compare", "Name it first in --compare.")
    check_budget(budget)  # before anything is loaded or trained
    named = method if compare is None else compare
    methods = None if named is None else as_methods(named, "--method" if compare is None else "--compare")
    subject = invocation.subject()
    data = _pool(pool, subject.test, invocation.options["seed"])
    labels = as_given(subject, data, None, None, None, "pool", pool=True).data.targets
    if plot is not None and unknown(labels, subject.task):
        raise BadInput("--plot", plot, "a pool with known labels", "Without labels, faults cannot be counted.")
    with invocation.running() as runtime:
        result = select(
            subject,
            methods,
            budget,
            pool=data,
            layers=split_names(layers),
            diverse=diverse,
            originals=originals,
            repeats=repeats,
            **runtime,
        )
    invocation.write_and_show(result, select_text(result, invocation.console.width))
    if indices is not None:
        write_indices(indices, result.chosen.tolist(), result.names)
    if plot is not None:
        draw_curves(result, plot)
    return result


def _pool(text: str | None, test: Data, seed: int) -> Data | None:
    """The pool that ``--pool`` names; ``None`` for the default."""
    from mutiny.subjects.data import as_pool, mutate

    if text is None:
        return None
    if text == "test":
        return test
    if text == "mutated":
        return mutate(test, seed)
    return as_pool(text)
