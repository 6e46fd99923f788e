"""Results of every verb from stores and JSON files, and which of them belong on one page."""

from __future__ import annotations

import json
import shlex
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput, MutinyWarning, StoreError, called
from mutiny.core.json_text import memory_of, parsed
from mutiny.core.json_values import shown
from mutiny.core.limits import Allowance
from mutiny.core.results import SCHEMA, Result
from mutiny.reports.formatting import count
from mutiny.verbs.assess.muff.result import MuffAssessment
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.attack.result import Robustness
from mutiny.verbs.locate.result import Location
from mutiny.verbs.repair.result import Repair
from mutiny.verbs.select.result import Selection
from mutiny.verbs.select.retraining.result import Retraining
from mutiny.verbs.strengthen.result import Strengthening

KINDS: Mapping[str, type[Result]] = {
    kind.verb: kind for kind in (Assessment, Strengthening, Selection, Retraining, Location, Repair, Robustness)
}
"""Classes of results by verb; an assessment by the method muff is a `MuffAssessment`."""
SYNTHESIS = ("indices", "settings", "success_rate")
"""Names of values in the JSON of a `Synthesis`, which no result has."""


@dataclass(frozen=True)
class LoadedResult:
    """A result, and where it was read from.

    Attributes:
        result: Result of any verb.
        command: Command that computed it, as in `mutiny.campaigns.stores.base.Campaign`.
        file: File that it was read from; ``None`` if it was just computed.
        store: Whether that file is a store.
        network: Hash of the first original; empty if unknown.
        campaign: Id of the campaign; empty if unknown.
    """

    result: Result
    command: Mapping[str, Any] | None = None
    file: Path | None = None
    store: bool = False
    network: str = ""
    campaign: str = ""

    @property
    def verb(self) -> str:
        """The verb that made the result."""
        return self.result.verb


def load_result(path: str | Path, *, verb: str | None = None, campaign: str | None = None) -> Result:
    """Read a result from a store or from a JSON file that ``--json`` wrote.

    No code in the file is run. A JSON file has no arrays, tensors or models, so they are ``None`` or empty in the
    result; text, tables and the HTML report do not need them.

    Args:
        path: Store, such as ``digits.mutiny``, or JSON file.
        verb: Verb whose latest result is read; that of the latest finished campaign by default.
        campaign: Id of a campaign, or its beginning, as ``mutiny status`` prints it; only for stores.

    Returns:
        `Assessment`, `MuffAssessment`, `Selection`, `Retraining`, `Strengthening`, `Location`, `Repair` or
        `Robustness`.

    Raises:
        BadInput: The file is missing, is neither a store nor a result, or has no such result.

    >>> import json, tempfile, mutiny
    >>> result = mutiny.select(mutiny.load_subject("digits"), "deepgini", budget=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "selection.json")
    ...     _ = file.write_text(json.dumps(result.to_json()))
    ...     mutiny.load_result(file).chosen.tolist() == result.chosen.tolist()
    True
    """
    if not isinstance(path, (str, Path)):
        raise BadInput("path", repr(path)[:60], "the path of a campaign file or of a JSON result")
    path = Path(path)
    if verb is not None and verb not in KINDS:
        raise BadInput("verb", repr(verb), f"one of {', '.join(KINDS)}")
    with called("path", "file", "store"):
        results = read_results([path])
    if campaign is not None:
        results = [each for each in results if each.campaign and campaign and each.campaign.startswith(campaign)]
        if not results:
            raise BadInput("campaign", repr(campaign), f"a finished campaign in {path}")
    if verb is not None:
        known = ", ".join(dict.fromkeys(each.verb for each in results))
        results = [each for each in results if each.verb == verb]
        if not results:
            raise BadInput("verb", repr(verb), f"a verb that has a result in {path}: {known}")
    return results[-1].result


def is_json(path: Path) -> bool:
    """Whether the content of a file, whatever its name, looks like JSON rather than like a store."""
    try:
        with path.open("rb") as file:
            start = file.read(256)
    except OSError as error:
        raise BadInput("file", path, f"a file that can be read ({error.strerror})") from error
    return start.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read_results(paths: Iterable[Path]) -> list[LoadedResult]:
    """All results, in the order of the files, the oldest of each file first.

    Raises:
        BadInput: A file is missing, is neither a store nor a result, or has no result.
    """
    results: list[LoadedResult] = []
    for path in paths:
        check_path("file", path)
        if not path.is_file():
            raise BadInput("file", path, "a campaign file or a JSON result that exists")
        results += [read_json(path)] if is_json(path) else read_store(path)
    return results


def read_store(path: Path) -> list[LoadedResult]:
    """All results of a store, the oldest first; `BadInput` if there is none."""
    allowance = Allowance("store", path, path.stat().st_size, StoreError)  # for all of them, as they are kept together
    with SqliteStore(path, write=False) as store:
        outcomes = [(campaign, store.outcome(campaign.id, allowance)) for campaign in store.campaigns()]
    if store.incomplete:
        warnings.warn(store.incomplete, MutinyWarning, stacklevel=4)
    results = [
        LoadedResult(checked(result, path), campaign.command, path, True, campaign.network, campaign.id)
        for campaign, result in outcomes
        if isinstance(result, Result)
    ]
    if not results:
        raise BadInput("file", path, "a finished campaign", f"Finish it with: mutiny resume {shlex.quote(str(path))}")
    return results


def checked(result: Result, path: Path) -> Result:
    """The result of a store, if its JSON is that of a result: a valid checksum does not say who wrote it.

    Types of values were checked when the store was read; this checks that they agree with one another.
    """
    try:
        type(result).from_json(json.loads(json.dumps(result.to_json())))
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        wrong = f"In it, {error}" if isinstance(error, BadInput) else f"One of {result.verb} cannot be read: {error}."
        raise StoreError("store", path, "results that mutiny wrote", wrong) from error
    return result


def read_json(path: Path) -> LoadedResult:
    """A result that ``--json`` wrote; every value in the file is checked."""
    size = path.stat().st_size
    allowance = Allowance("file", path, size)
    allowance.take(size)
    try:
        text = path.read_bytes()
        allowance.take(memory_of(text))
        value = parsed(text, _refuse)
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput("file", path, "JSON that mutiny wrote", f"It cannot be read: {error}.") from None
    verb, schema = (value.get(key) for key in ("verb", "schema"))
    kind = result_class(value)
    if kind is None or schema != SCHEMA:
        has = f"It has verb {shown(verb)} and schema {shown(schema)}."
        if set(SYNTHESIS) <= set(value):
            has = "It is a synthesis, which mutiny.Synthesis.from_json reads: give it what json.load returns."
        raise BadInput("file", path, f"a result of {', '.join(KINDS)} with schema {SCHEMA}", has)
    try:
        result = kind.from_json(value)
    except BadInput as error:
        wrong = f"It has no {error.argument}." if error.value == "nothing" else f"In it, {error}"
        raise BadInput("file", path, "a result that mutiny wrote", wrong) from None
    return LoadedResult(result, file=path)


def result_class(value: Mapping[str, Any]) -> type[Result] | None:
    """The class of a result in JSON, by its verb and, for `assess`, its method; ``None`` if the verb is unknown."""
    verb = value.get("verb")
    kind = KINDS.get(verb) if isinstance(verb, str) else None
    return MuffAssessment if kind is Assessment and "notice" not in value else kind


def matching_results(results: Sequence[LoadedResult]) -> tuple[dict[str, LoadedResult], tuple[str, ...]]:
    """The results for one page: of each verb the latest that fits the newest assessment.

    If there is no assessment, the newest result takes its place. A result fits if it is of the same network and, for
    `strengthen`, of a test set of the same size.

    Args:
        results: Results, the oldest first, at least one.

    Returns:
        Results by verb, and a sentence for each verb without a result that fits.
    """
    newest = next((result for result in reversed(results) if result.verb == "assess"), results[-1])
    matching: dict[str, LoadedResult] = {}
    reasons: dict[str, str] = {}
    for result in results:
        reason = "" if result is newest else _mismatch(result, newest)
        if reason:
            reasons[result.verb] = reason
        else:
            matching.pop(result.verb, None)  # so that verbs are in the order of their latest results
            matching[result.verb] = result
    return matching, tuple(reason for verb, reason in reasons.items() if verb not in matching)


def _mismatch(loaded: LoadedResult, newest: LoadedResult) -> str:
    """Why a result does not belong on the page of another, in a sentence; empty if it does, or if that is unknown."""
    if loaded.network and newest.network and loaded.network != newest.network:
        return f"The result of {loaded.verb} is left out: it is of another network than that of {newest.verb}."
    if isinstance(loaded.result, Strengthening) and isinstance(newest.result, Assessment | MuffAssessment):
        tests, test_set = loaded.result.subject.test, newest.result.subject.splits.get("test")
        if test_set is not None and tests != test_set.inputs:
            sizes = f"{count(tests, 'test')}, the assessment about {test_set.inputs:,}"
            return f"The result of {loaded.verb} is left out: it is about {sizes}."
    return ""


def _refuse(name: str) -> float:
    raise ValueError(f"it has {name}, which mutiny never writes")
