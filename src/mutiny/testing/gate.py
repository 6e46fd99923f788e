"""`assert_notice_rate` and `assert_mutation_score`: assertions about test sets, for test suites of users."""

from __future__ import annotations

import shlex
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mutiny.subjects import Subject
    from mutiny.verbs.assess.muff.result import MuffAssessment
    from mutiny.verbs.assess.result import Assessment

FOLDER = ".mutiny"
"""Folder for stores, in the current folder; the fixture uses pytest's root folder."""
WAIT = 1800.0
"""Seconds to wait for a store that another process writes; if tests run in parallel, only one of them computes."""
MOST = 5
"""Largest number of operators or faults in the message of a failure."""


class UndecidedWarning(UserWarning):
    """Nobody can tell whether a notice rate reaches the bar: its interval contains the bar, or its bias may."""


def assert_notice_rate(
    subject: Subject | str,
    *,
    at_least: float = 0.8,
    strict: bool = False,
    operators: str | None = None,
    store: str | Path | None = None,
    **settings: Any,
) -> Assessment:
    """Raises `AssertionError` if the notice rate of a subject's test set is surely too low.

    It is surely too low if its whole interval is below the bar, and stays there if the known bias of the rate is added.
    If that is not so and the rate may be below the bar, or if there is no notice rate, there is an `UndecidedWarning`,
    or an `AssertionError` if ``strict``.

    The result is stored in ``.mutiny/NAME.mutiny``: as long as networks, data and settings are the same, the next run
    only reads it. Keep that folder between CI jobs, and out of version control.

    Args:
        subject: Subject, or its name as on the command line: ``"digits"``, ``"file.py:subject"``.
        at_least: Smallest notice rate that passes, 0 to 1.
        strict: Whether to fail also if the notice rate may be too low.
        operators: Operators, as in `mutiny.assess`.
        store: File for the result, instead of the default.
        settings: Further arguments of `mutiny.assess`.

    Returns:
        The assessment, for further assertions.

    >>> import torch
    >>> from torch import nn
    >>> from mutiny import Classification, Subject
    >>> x = torch.randn(500, 4, generator=torch.Generator().manual_seed(0)); y = (x.sum(1) > 0).long()
    >>> net = nn.Linear(4, 2).eval()
    >>> with torch.no_grad():
    ...     _ = net.weight.copy_(torch.tensor([[-1.0] * 4, [1.0] * 4])), net.bias.zero_()
    >>> subject = Subject(net, task=Classification(2), validation=(x[:250], y[:250]), test=(x[250:], y[250:]))
    >>> import tempfile; file = tempfile.mkdtemp() + "/linear.mutiny"
    >>> assert_notice_rate(subject, at_least=0.1, operators="GF", store=file).notice.rate > 0.2
    True
    """
    __tracebackhide__ = True  # the traceback that pytest shows ends in the test
    from mutiny.verbs.assess.bar import BarOutcome, compare_with_bar

    result: Assessment
    result, file = _assessed(subject, at_least, "notice", operators, store, settings)
    compared = compare_with_bar(result.headline_notice, at_least)
    if compared.fails(strict):
        raise AssertionError(notice_failure(result, compared.sentence, file))
    if compared.outcome is BarOutcome.UNDECIDED:
        warnings.warn(compared.sentence, UndecidedWarning, stacklevel=2)
    return result


def assert_mutation_score(
    subject: Subject | str,
    *,
    at_least: float,
    operators: str | None = None,
    store: str | Path | None = None,
    **settings: Any,
) -> MuffAssessment:
    """Raises `AssertionError` if the mutation score of a subject's test set, by the method muff, is too low.

    The result is stored as that of `assert_notice_rate`.

    Args:
        subject: Subject, or its name as on the command line: ``"digits"``, ``"file.py:subject"``.
        at_least: Smallest score that passes, 0 to 1.
        operators: Operators, as in `mutiny.assess`.
        store: File for the result, instead of the default.
        settings: Further arguments of `mutiny.assess` with ``method="muff"``.

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
    result: MuffAssessment
    result, file = _assessed(subject, at_least, "muff", operators, store, settings)
    if result.score.value is None or result.score.value < at_least:
        raise AssertionError(score_failure(result, at_least, file))
    return result


def _assessed(
    subject: Subject | str,
    at_least: float,
    method: str,
    operators: str | None,
    store: str | Path | None,
    settings: dict[str, Any],
) -> tuple[Any, Path]:
    """The assessment, and the file that it is stored in."""
    from mutiny.core.errors import BadInput, called
    from mutiny.subjects import load_subject
    from mutiny.verbs.assess.bar import check_bar

    check_bar(at_least)
    if "method" in settings:
        fix = "assert_notice_rate is for the method notice, assert_mutation_score for the method muff."
        raise BadInput("method", repr(settings["method"]), "no method", fix)
    default = kept(subject)
    file = default if store is None else Path(store)
    with called("subject", "name"):
        loaded = load_subject(subject) if isinstance(subject, str) else subject
    return stored_assessment(loaded, operators, file, method=method, **settings), file


def stored_assessment(subject: Subject, operators: str | None, file: Path, **settings: Any) -> Any:
    """The assessment of a subject, computed once and then read from a file, whose folder is made if need be.

    Args:
        subject: Subject to test.
        operators: Operators, as in `mutiny.assess`.
        file: File for the result; another process that writes to it is waited for.
        settings: Further arguments of `mutiny.assess`.
    """
    from mutiny.campaigns.stores.sqlite import SqliteStore
    from mutiny.core.errors import BadInput
    from mutiny.verbs.assess.assess import assess

    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput("store", str(file), f"a file in a folder that can be made ({error.strerror})") from None
    with SqliteStore(file, patience=WAIT) as open_store:
        arguments: dict[str, Any] = {**settings, "store": open_store}
        return assess(subject, operators, **arguments)


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


def notice_failure(result: Assessment, sentence: str, store: Path) -> str:
    """Message for a notice rate that is too low: why, which faults the test set misses, and what to do."""
    from mutiny.reports.notice_sentences import bias_sentence, bins_sentence, headline, named_fault, weak_spots

    lines = [sentence, headline(result), bins_sentence(result.notice), bias_sentence(result.notice)]
    lines += [f"weak spot: {spot.sentence}" for spot in weak_spots(result.notice)]
    drastic = result.missed_drastic()
    lines += [f"drastic, yet missed: {named_fault(fault, result.notice.unit)}" for fault in drastic[:MOST]]
    if len(drastic) > MOST:
        lines.append(f"drastic, yet missed: {len(drastic) - MOST} more")
    lines += [f"{label}: {rate.reason}" for label, rate in result.notice.operators.items() if rate.failed]
    return "\n  ".join([*filter(None, lines), _all_of_it(store)])


def score_failure(result: MuffAssessment, at_least: float, store: Path) -> str:
    """Message for a score that is too low: by how much, which faults the test set misses, and what to do."""
    from mutiny.verbs.assess.muff.score import apart

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
    return "\n".join([*lines, f"  {_all_of_it(store)}"])


def _all_of_it(store: Path) -> str:
    """The command that shows everything that is stored."""
    here = Path.cwd()
    file = store.resolve().relative_to(here) if store.resolve().is_relative_to(here) else store
    return f"all of it: mutiny report {shlex.quote(str(file))} --out report.html"
