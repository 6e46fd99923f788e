"""`assert_mutation_score`: an assertion about a mutation score, for test suites of users."""

from __future__ import annotations

import shlex
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutiny.subjects import Subject
    from mutiny.verbs.assess.result import Assessment

FOLDER = ".mutiny"
"""Folder for stores, in the current folder; the fixture uses pytest's root folder."""
WAIT = 1800.0
"""Seconds to wait for a store that another process writes; if tests run in parallel, only one of them computes."""
MOST = 5
"""Largest number of operators in the message of a failure."""


def assert_mutation_score(
    subject: Subject | str,
    *,
    at_least: float,
    operators: str | None = None,
    store: str | Path | None = None,
    **settings: Any,
) -> Assessment:
    """Raises `AssertionError` if the mutation score of a subject's test set is too low.

    The result is stored in ``.mutiny/NAME.mutiny``: as long as networks, data and settings are the same, the next run
    only reads it. Keep that folder between CI jobs, and out of version control.

    Args:
        subject: Subject, or its name as on the command line: ``"digits"``, ``"file.py:subject"``.
        at_least: Smallest score that passes, 0 to 1.
        operators: Operators, as in `mutiny.assess`.
        store: File for the result, instead of the default.
        settings: Further arguments of `mutiny.assess`.

    Returns:
        The assessment, for further assertions.

    >>> import torch
    >>> from torch import nn
    >>> from mutiny import Classification, Subject
    >>> x = torch.randn(200, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> subject = Subject(net, task=Classification(2), train=(x[:150], y[:150]), test=(x[150:], y[150:]))
    >>> import tempfile; file = tempfile.mkdtemp() + "/linear.mutiny"
    >>> assert_mutation_score(subject, at_least=0.2, operators="WI(ratio=0.3)", store=file).score.operators
    1
    """
    __tracebackhide__ = True  # the traceback that pytest shows ends in the test
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.errors import BadInput
    from mutiny.subjects import load_subject
    from mutiny.verbs.assess.assess import assess

    if isinstance(at_least, bool) or not isinstance(at_least, Real) or not 0 <= at_least <= 1:
        raise BadInput("at_least", repr(at_least), "a score between 0 and 1")
    default = kept(subject)
    file = default if store is None else Path(store)
    loaded = load_subject(subject) if isinstance(subject, str) else subject
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput("store", str(file), f"a file in a folder that can be made ({error.strerror})") from None
    with SqliteStore(file, patience=WAIT) as open_store:
        result = assess(loaded, operators, store=open_store, **settings)
    if result.score.value is None or result.score.value < at_least:
        raise AssertionError(failure(result, at_least, file))
    return result


def kept(subject: Subject | str, root: Path | None = None) -> Path:
    """Default file for a subject in a root folder, by default the current folder.

    >>> kept("models/mine.py:subject")
    PosixPath('.mutiny/mine-subject.mutiny')
    """
    from mutiny.campaigns.stores.base import file_for
    from mutiny.core.errors import BadInput
    from mutiny.subjects import Subject

    if not isinstance(subject, (str, Subject)):
        raise BadInput("subject", repr(subject)[:60], "a mutiny.Subject, or its name: digits, FILE.py:NAME")
    return (root or Path()) / FOLDER / file_for(subject if isinstance(subject, str) else subject.name)


def failure(result: Assessment, at_least: float, store: Path) -> str:
    """Message for a score that is too low: by how much, which faults the test set misses, and what to do."""
    from mutiny.verbs.assess.score import apart

    score = result.score
    if score.value is None:
        reasons = [f"  {record.label}: {record.reason}" for record in result.operators]
        return "\n".join([f"no mutation score, so it is not at least {at_least:.0%}:", *reasons])
    between = "" if score.interval is None else f" (95%: {score.interval.low:.0%} to {score.interval.high:.0%})"
    value, bar = apart(score.value, at_least, 1)
    lines = [
        f"mutation score {value}{between} is below {bar}: the test set misses faults that the training set notices"
    ]
    missed = result.weakest_first()
    for record in missed[:MOST]:
        train, test = (record.sets[name].weakest_killed for name in ("train", "test"))
        until = "no strength at all" if test is None else f"only {test:.3g} and {record.severer}"
        seen = "" if train is None else f": train notices {record.strength} {train:.3g}, test {until}"
        lines.append(f"  {record.label} ({record.title}), score {record.score:.0%}{seen}")
    if len(missed) > MOST:
        lines.append(f"  and {len(missed) - MOST} more operators")
    here = Path.cwd()
    file = store.resolve().relative_to(here) if store.resolve().is_relative_to(here) else store
    return "\n".join([*lines, f"  all of it: mutiny report {shlex.quote(str(file))} --out report.html"])
