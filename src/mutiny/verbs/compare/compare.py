"""`compare`: did this change (export, quantization, retraining) make the network worse?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mutiny.campaigns.run import Engine, Progress, Runtime, Store, run
from mutiny.core.checks import check_flag
from mutiny.core.errors import BadInput
from mutiny.core.stats.comparison import check_alpha
from mutiny.models import Forward
from mutiny.models.foreign_network import is_plain
from mutiny.subjects.given import Given
from mutiny.subjects.tasks import Task
from mutiny.verbs.compare.forms import given_answers, models_of, name_of, network_form, other_form, recorded_form
from mutiny.verbs.compare.margin import as_margin
from mutiny.verbs.compare.other_network import OtherNetwork
from mutiny.verbs.compare.result import Comparison
from mutiny.verbs.compare.slices import Slices, slice_names, sliced
from mutiny.verbs.compare.verb import Compare


def compare(
    a: Any,
    b: Any,
    *,
    data: Any = None,
    task: Task | None = None,
    forward: Forward | None = None,
    margin: str | float | None = None,
    alpha: float = 0.05,
    higher_is_better: bool | None = None,
    slices: Slices = None,
    seed: int = 0,
    device: str | None = None,
    batch_size: int | None = None,
    threads: int = 1,
    engine: str | Engine | None = None,
    workers: int | None = None,
    store: str | Path | Store | None = None,
    folder: str | Path | None = None,
    progress: Progress | None = None,
) -> Comparison:
    """Tells whether B is worse than A, by their answers to the same inputs.

    Args:
        a: What it was before: a `Subject`; a network with ``data`` (an ``nn.Module``, ``torch.jit``, a program of
            ``torch.export``, an ONNX Runtime session, the path of an ``.onnx`` file, or any function from inputs to
            outputs); or recorded answers: the path of an ``.npz``, ``.csv`` or ``.jsonl`` file, or a mapping of
            columns, with ``id`` and either ``correct``, or ``score``, or ``answer`` and ``target``.
        b: What it is now, in any of these forms. A network gets data, task and forward function of A.
        data: Labeled inputs that both answer; the subject's test set by default.
        task: Task, if ``a`` is a network; classification by the largest output by default.
        forward: Function that calls a network, if ``a`` is a network.
        margin: Largest loss that does not matter: ``"0.5pt"`` (accuracy points, the default for classification),
            ``"1%"`` (of the mean score of A, the default for scores and regression), or a number in the unit of the
            difference.
        alpha: Level of the one-sided tests; the interval has the level ``1 - 2 alpha``.
        higher_is_better: Whether a higher score is better, if answers are scores; ``True`` by default.
        slices: Properties of the inputs by which to slice: names of columns, or a mapping from names to values.
        seed: Seed of the training of originals; nothing else is random.
        device: Torch device; the device of the networks by default.
        batch_size: Inputs per forward pass, the same for both; 256 by default.
        threads: Torch threads of each job.
        engine: Engine that runs both networks: ``"serial"``, ``"processes"``, ``"ray"``, or an instance.
        workers: Number of worker processes.
        store: File, or open store, that keeps finished jobs and results, so that the same call resumes.
        folder: Folder for trained originals.
        progress: Receiver of progress messages.

    Returns:
        A `Comparison`: ``sentence`` has the decision, ``verdict`` its word.

    >>> before = {"id": range(8), "correct": [1, 1, 1, 1, 1, 1, 1, 0]}
    >>> after = {"id": range(8), "correct": [0, 0, 0, 0, 0, 0, 1, 0]}
    >>> str(compare(before, after).verdict)
    'worse'
    """
    check_alpha(alpha)
    if higher_is_better is not None:
        check_flag("higher_is_better", higher_is_better)
    wanted, names = as_margin(margin), slice_names(slices)
    runtime = Runtime(seed, device, batch_size, threads, engine, workers, store, folder, progress)
    recorded = recorded_form(a, "a", names)
    given: Given
    if recorded is None:
        given = network_form(a, data, task, forward, higher_is_better)
    else:
        given = given_answers(recorded, name_of(a, "A"), data=data, task=task, forward=forward)
    other = recorded_form(b, "b", names) or other_form(b, given, data)
    if recorded is not None and isinstance(other, OtherNetwork):
        fix = "Record the answers of B as well, or give the network of A with its data."
        raise BadInput("b", type(b).__name__, "recorded answers, as A is", fix)
    columns = sliced(slices, recorded, other, len(given.data))
    opaque = not all(map(is_plain, [*given.models, *models_of(other)]))
    verb = Compare(recorded, other, name_of(b, "B"), wanted, float(alpha), higher_is_better, columns, opaque)
    return run(verb, given, runtime)
