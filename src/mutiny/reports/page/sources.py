"""From files to findings: campaign files and JSON results of every verb."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput
from mutiny.core.records import OperatorRecord, to_plain
from mutiny.core.results import SCHEMA
from mutiny.core.subject_records import AssessedSubject
from mutiny.reports.page.documents import KINDS, Attacked, Document, Located
from mutiny.reports.page.facts import check_score, evaluation_of, settings_of, subject_of
from mutiny.reports.page.facts import told as settings_told
from mutiny.reports.page.gallery import gallery_of
from mutiny.reports.page.plain import Wrong, expect_share, read_plain
from mutiny.verbs.assess.result import Assessment, Score
from mutiny.verbs.attack.result import Robustness
from mutiny.verbs.locate.measures import as_measure
from mutiny.verbs.locate.result import Location

VERBS = ("assess", *KINDS)


@dataclass(frozen=True)
class Plain:
    """An assessment without what only a store has."""

    subject: AssessedSubject
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    evaluation: Mapping[str, Any]
    score: Score
    operators: tuple[OperatorRecord, ...]
    notes: tuple[str, ...]
    seconds: float
    created: str
    trainings: int = 0


@dataclass(frozen=True)
class Finding:
    """The result of one campaign, as far as the page needs it.

    Attributes:
        verb: such as ``assess``.
        result: an assessment, or what the page needs of the other verbs.
        command: how the command line can repeat it, as `mutiny.campaigns.stores.base.Campaign` has it.
        file: where it comes from; ``None`` if it was just made.
        store: whether that is a campaign file.
        network: what identifies the first original; nothing if that is not known.
    """

    verb: str
    result: Assessment | Document
    command: Mapping[str, Any] | None = None
    file: Path | None = None
    store: bool = False
    network: str = ""


def is_json(path: Path) -> bool:
    """Whether a file looks like JSON rather than like a campaign; its name says nothing."""
    with path.open("rb") as file:
        return file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read_sources(paths: Iterable[Path]) -> list[Finding]:
    """All findings, in the order of the files, the oldest of each first.

    Raises:
        BadInput: for a file that is not there, is something else, or has no result.
    """
    found: list[Finding] = []
    for path in paths:
        if not path.is_file():
            raise BadInput("file", path, "the file of a campaign, or a JSON result")
        found += [read_json(path)] if is_json(path) else read_store(path)
    return found


def read_store(path: Path) -> list[Finding]:
    """All results of a campaign file, the oldest first; an error if there is none."""
    with SqliteStore(path, write=False) as store:
        results = [(each, found) for each in store.campaigns() if (found := store.outcome(each.id)) is not None]
    findings = [
        replace(finding_of(result), command=each.command, file=path, store=True, network=each.network)
        for each, result in results
        if each.verb in VERBS
    ]
    if not findings:
        raise BadInput("file", path, "a finished campaign", f"Finish it with: mutiny resume {shlex.quote(str(path))}")
    return findings


def finding_of(result: Any) -> Finding:
    """A result that a verb returned, with what only the record has."""
    if isinstance(result, Assessment):
        return Finding("assess", result)
    told = to_plain(result.to_json())
    document = read_plain(KINDS[told["verb"]], told)
    if isinstance(result, Location) and isinstance(document, Located):
        document = replace(document, scores=_scores(result))
    if isinstance(result, Robustness) and isinstance(document, Attacked):
        document = replace(document, gallery=gallery_of(result))
    return Finding(told["verb"], document)


def _scores(result: Location) -> tuple[Any, ...]:
    """The measure of every neuron, one array per layer; nothing for a measure that only its author has."""
    spectrum, label = result.spectrum, result.settings["label"]
    try:
        measure = as_measure(result.measure)
    except BadInput:
        return ()
    if not spectrum.failing(label):
        return ()
    scores = measure(spectrum.counts(label, bool(result.settings["silent"])))
    return tuple(scores[spectrum.depth == depth] for depth in range(len(spectrum.layers)))


def read_json(path: Path) -> Finding:
    """A result that ``--json`` wrote. Nothing in the file is trusted."""
    try:
        told = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadInput("file", path, "JSON that mutiny wrote", f"It cannot be read: {error}.") from None
    verb, schema = (told.get(key) for key in ("verb", "schema"))
    if verb not in VERBS or schema != SCHEMA:
        raise BadInput(
            "file", path, f"a result of {', '.join(VERBS)} with schema {SCHEMA}",
            f"It says verb {_shown(verb)} and schema {_shown(schema)}.",
        )  # fmt: skip
    try:
        result = _assessment(told) if verb == "assess" else read_plain(KINDS[verb], told)
        settings_told(result.settings)
    except Wrong as wrong:
        raise BadInput("file", path, "a result that mutiny wrote", f"In it, {wrong}.") from None
    except RecursionError:
        raise BadInput("file", path, "a result that mutiny wrote", "Its settings are nested too deeply.") from None
    return Finding(verb, result, file=path)


def _refuse(name: str) -> float:
    raise ValueError(f"it has {name}, which mutiny never writes")


def _assessment(told: dict[str, Any]) -> Assessment:
    timing = told.get("timing")
    flat = {name: value for name, value in told.items() if name not in ("kills", "labels")}
    flat |= {"created": "", "seconds": 0.0, **(timing if isinstance(timing, dict) else {})}
    result = read_plain(Plain, flat)
    found = Assessment(**vars(result))
    for check in (subject_of, settings_of, evaluation_of):
        check(found)
    check_score(found.score)
    for at, record in enumerate(found.operators):
        expect_share(record.score, f"operators[{at}].score")
    return found


def _shown(value: object) -> str:
    text = json.dumps(value)
    return text if len(text) <= 40 else f"{text[:40]}..."
