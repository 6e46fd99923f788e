"""``mutiny strengthen``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import JUDGE, TEST, WRITE, Indices, option
from mutiny.cli.paths import quoted_path
from mutiny.cli.streams import say

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.verbs.strengthen.result import Strengthening


@verb(aliases={"methods": "compare"})
def strengthen(
    invocation: Invocation,
    budget: Annotated[str, option("Number or share of inputs to label: 50, 0.01, 1%, or several: 1%,2%,5%.")] = "5%",
    pool: Annotated[
        str | None,
        option("File or folder of inputs to choose from, labeled or not; the subject's pool by default."),
    ] = None,
    operators: Annotated[
        str | None,
        option(
            "Operators on trained models; by default those of the stored assessment, or all.",
            complete=completion.operators_on_trained_models,
        ),
    ] = None,
    minimize: Annotated[
        bool, option("Also find a small part of the test set that notices as many faults.", None, "--minimize")
    ] = False,
    indices: Indices = None,
    originals: Annotated[
        int | None, option("Number of originals; that of the stored assessment by default.", TEST)
    ] = None,
    synthesize: Annotated[
        int,
        option(
            "Maximum number of inputs to synthesize for faults that no input of the pool reveals; 0 for none.", TEST
        ),
    ] = 20,
    compare: Annotated[
        str | None,
        option(
            'Selection methods to compare with: "random,deepgini"; `mutiny methods` lists all.',
            JUDGE,
            complete=completion.methods,
        ),
    ] = None,
    tie_break: Annotated[
        str | None,
        option(
            "Selection method that breaks ties and fills the budget; by default the one that `mutiny select` uses.",
            JUDGE,
            complete=completion.methods,
        ),
    ] = None,
    seeds: Annotated[
        int | None,
        option("Random choices per operator and original for held-out faults; as many as assessed by default.", JUDGE),
    ] = None,
    tolerance: Annotated[
        float, option("Largest loss of the notice rate that --minimize may cause, such as 0.02 for two points.", JUDGE)
    ] = 0.02,
    tests: Annotated[
        Path | None, option("File for the indices of the sufficient tests (--minimize), one per line.", WRITE)
    ] = None,
    save: Annotated[Path | None, option("NPZ file for synthesized inputs.", WRITE)] = None,
) -> Strengthening:
    """Find the inputs that would make your tests notice the faults they miss."""
    from mutiny.core.errors import BadInput
    from mutiny.faults.parsing import as_operators
    from mutiny.reports.result_files import write_candidates, write_indices
    from mutiny.reports.strengthen_text import strengthen_text
    from mutiny.verbs.select.parsing import as_methods
    from mutiny.verbs.strengthen.options import check_budgets
    from mutiny.verbs.strengthen.strengthen import strengthen

    invocation.check({"--indices": indices, "--tests": tests, "--save": save}, {"--save": ".npz"})
    if tests is not None and not minimize:
        raise BadInput("--tests", tests, "a smaller test set to write", "Add --minimize.")
    if save is not None and not synthesize:
        raise BadInput("--save", save, "--synthesize above 0", "Leave out --synthesize 0.")
    check_budgets(budget)  # before anything is loaded or trained
    chosen = None if operators is None else as_operators(operators)
    for argument, methods in {"methods": compare, "tie_break": tie_break}.items():
        if methods is not None:
            as_methods(methods, argument)
    subject = invocation.subject()
    if pool is None and subject.pool is None and not minimize:
        fix = "Give --pool FILE, or --minimize to look for redundant tests."
        raise BadInput("pool", None, "a pool, because the subject has none", fix)
    with invocation.running() as runtime:
        result = strengthen(
            subject,
            pool,
            budget,
            operators=chosen,
            originals=originals,
            methods=compare,
            tie_break=tie_break,
            seeds=seeds,
            minimize=minimize,
            tolerance=tolerance,
            synthesize=synthesize,
            **runtime,
        )
    invocation.write_and_show(result, strengthen_text(result))
    if indices is not None:
        write_indices(indices, result.order.tolist(), result.names)
    if tests is not None and result.subset is not None:
        write_indices(tests, result.subset.indices.tolist(), subject.test.names)
    elif tests is not None:
        say(f"the tests notice no fault, so {quoted_path(tests)} was not written")
    if save is not None and result.candidates is not None:
        write_candidates(save, result.candidates)
    elif save is not None:
        say(f"no inputs were synthesized, so {quoted_path(save)} was not written")
    return result
