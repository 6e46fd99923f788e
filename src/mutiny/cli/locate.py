"""``mutiny locate``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from mutiny.cli import completion
from mutiny.cli.command import verb
from mutiny.cli.options import JUDGE, TEST, WRITE, LabeledInputs, option
from mutiny.core.errors import BadInput

if TYPE_CHECKING:
    from mutiny.cli.invocation import Invocation
    from mutiny.models.activation_gradients import Scale
    from mutiny.verbs.locate.result import Location


@verb(aliases={"data": "inputs", "count": "synthesize"})
def locate(
    invocation: Invocation,
    measure: Annotated[
        str,
        option(
            'Suspiciousness measure: "ochiai", "tarantula", "dstar(power=2)"; `mutiny measures` lists all.',
            complete=completion.measures,
        ),
    ] = "ochiai",
    k: Annotated[int, option("Number of suspects.", None, "--k")] = 10,
    inputs: LabeledInputs = None,
    by_class: Annotated[bool, option("Also rank suspects for each class.", None, "--by-class")] = False,
    synthesize: Annotated[
        int, option("Number of passing inputs to change so that suspects become more active; 0 for none.")
    ] = 0,
    label: Annotated[int | None, option("Only inputs of this class.", TEST)] = None,
    layers: Annotated[
        str | None, option('Layer names or patterns joined by "+"; all hidden layers by default.', TEST)
    ] = None,
    active: Annotated[
        str,
        option(
            'Condition for an active neuron: a threshold, also written "above(threshold=0)", "quantile(share=0.9)" or '
            '"scaled(threshold=0.5)".',
            JUDGE,
            complete=completion.activities,
        ),
    ] = "0",
    at: Annotated[
        str,
        option(
            "Where activity is read: signal (after the activation function) or output (before it).",
            JUDGE,
            complete=completion.words("signal output"),
        ),
    ] = "signal",
    silent: Annotated[bool, option("Rank neurons that are silent on failures.", JUDGE, "--silent")] = False,
    validate: Annotated[
        int, option("Number of random sets of neurons to silence, for comparison with the suspects.", JUDGE)
    ] = 20,
    rms: Annotated[
        bool, option("Divide gradients by their root mean square first, as in DeepFault's code.", JUDGE, "--rms")
    ] = False,
    save: Annotated[Path | None, option("NPZ file for synthesized inputs.", WRITE)] = None,
    grid: Annotated[Path | None, option("Picture of some synthesized inputs: .png, .svg or .pdf.", WRITE)] = None,
) -> Location:
    """Rank the neurons that are most likely to blame for failures."""
    from mutiny.cli.invocation import split_names
    from mutiny.core.checks import check_whole
    from mutiny.reports.locate_text import locate_text, synthesis_text
    from mutiny.reports.result_files import draw_synthesis, write_synthesis
    from mutiny.verbs.locate.activity import as_activity
    from mutiny.verbs.locate.locate import locate
    from mutiny.verbs.locate.measures import as_measure
    from mutiny.verbs.locate.synthesize import synthesize as run_synthesize

    check_whole("--synthesize", synthesize, 0)
    invocation.check({"--save": save, "--grid": grid}, {"--save": ".npz"})
    _check_synthesis_options(synthesize, {"--save": save, "--grid": grid}, rms)
    suspicion, activity = as_measure(measure), as_activity(active)
    subject, data = invocation.subject_and_inputs(inputs, grid)
    with invocation.running() as runtime:
        result = locate(
            subject,
            suspicion,
            k,
            data=data,
            label=label,
            by_class=by_class,
            active=activity,
            at=at,  # type: ignore[arg-type]
            silent=silent,
            layers=split_names(layers),
            validate=validate,
            **runtime,
        )
    invocation.show(locate_text(result))
    synthesis = None
    # Without suspects `synthesize` raises an error, which is right only if its output was to be written.
    if synthesize and (result.suspects or save or grid):
        scale: Scale = "rms" if rms else "none"
        try:
            with invocation.progress() as progress:
                synthesis = run_synthesize(
                    subject,
                    result,
                    synthesize,
                    ascent=scale,
                    at=at,  # type: ignore[arg-type]
                    data=data,
                    progress=progress,
                    **invocation.settings,
                )
        except Exception:
            invocation.write(result, synthesis=None)  # keep the suspects even if synthesis fails
            raise
    invocation.write(result, synthesis=None if synthesis is None else synthesis.to_json())
    if synthesis is None:
        if synthesize and not invocation.quiet:
            invocation.console.print(" No inputs were synthesized, because no neuron is suspicious.\n")
        return result
    if not invocation.quiet:
        invocation.console.print(synthesis_text(synthesis))
    if save is not None:
        write_synthesis(save, synthesis)
    if grid is not None:
        draw_synthesis(grid, synthesis, f"{result.subject.name}: inputs that exercise the suspects ({result.measure})")
    return result


def _check_synthesis_options(count: int, outputs: Mapping[str, Path | None], rms: bool) -> None:
    """Raise `BadInput` for options that need synthesized inputs if there are none."""
    if count:
        return
    for option_name, path in outputs.items():
        if path is not None:
            raise BadInput(option_name, path, "--synthesize as well", "Add --synthesize 100.")
    if rms:
        raise BadInput("--rms", True, "--synthesize as well", "Add --synthesize 100.")
