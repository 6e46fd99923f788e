"""Results from files: stores and JSON results of every verb."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput
from mutiny.core.from_plain import shown
from mutiny.core.results import SCHEMA, Result
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
"""Classes of results by verb."""
LARGEST = 1 << 30
"""Bytes of a JSON file that is read, at most."""


@dataclass(frozen=True)
class LoadedResult:
    """A result, and where it comes from.

    Attributes:
        result: of any verb.
        command: the command line that made it, as `mutiny.campaigns.stores.base.Campaign` has it.
        file: the file it was read from; ``None`` if it was just made.
        store: whether that file is a store.
        network: hash of the first original; empty if that is not known.
        campaign: name of the campaign; empty if that is not known.
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

    Nothing in the file is run. A JSON file holds no arrays, tensors or models, so they are ``None`` or empty in the
    result; text, tables and report page work all the same.

    Args:
        path: A store, such as ``digits.mutiny``, or a JSON file.
        verb: The verb whose last finished result is read; by default that of the last finished campaign.
        campaign: Name of a campaign, or the beginning of it, as ``mutiny status`` prints it; only for stores.

    Returns:
        `Assessment`, `Selection`, `Retraining`, `Strengthening`, `Location`, `Repair` or `Robustness`.

    Raises:
        BadInput: The file is missing, is something else, or holds no such result.

    >>> import json, tempfile, mutiny
    >>> result = mutiny.select(mutiny.load_subject("digits"), "deepgini", budget=5)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder, "selection.json")
    ...     _ = file.write_text(json.dumps(result.to_json()))
    ...     mutiny.load_result(file).chosen.tolist() == result.chosen.tolist()
    True
    """
    path = Path(path)
    if verb is not None and verb not in KINDS:
        raise BadInput("verb", repr(verb), f"one of {', '.join(KINDS)}")
    results = read_results([path])
    if campaign is not None:
        results = [one for one in results if one.campaign and campaign and one.campaign.startswith(campaign)]
        if not results:
            raise BadInput("campaign", repr(campaign), f"a finished campaign in {path}")
    if verb is not None:
        known = ", ".join(dict.fromkeys(one.verb for one in results))
        results = [one for one in results if one.verb == verb]
        if not results:
            raise BadInput("verb", repr(verb), f"a verb that has a result in {path}: {known}")
    return results[-1].result


def is_json(path: Path) -> bool:
    """Whether the content of a file looks like JSON rather than like a store; its name does not matter."""
    with path.open("rb") as file:
        return file.read(256).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def read_results(paths: Iterable[Path]) -> list[LoadedResult]:
    """All results, in the order of the files, the oldest of each file first.

    Raises:
        BadInput: A file is missing, is something else, or holds no result.
    """
    results: list[LoadedResult] = []
    for path in paths:
        if not path.is_file():
            raise BadInput("file", path, "a store or a JSON result")
        results += [read_json(path)] if is_json(path) else read_store(path)
    return results


def read_store(path: Path) -> list[LoadedResult]:
    """All results of a store, the oldest first; an error if there is none."""
    with SqliteStore(path, write=False) as store:
        campaigns = [(each, store.outcome(each.id)) for each in store.campaigns()]
    results = [
        LoadedResult(result, each.command, path, True, each.network, each.id)
        for each, result in campaigns
        if isinstance(result, Result)
    ]
    if not results:
        raise BadInput("file", path, "a finished campaign", f"Finish it with: mutiny resume {shlex.quote(str(path))}")
    return results


def read_json(path: Path) -> LoadedResult:
    """A result that ``--json`` wrote. Nothing in the file is trusted."""
    if path.stat().st_size > LARGEST:
        raise BadInput("file", path, f"at most {LARGEST >> 20:,} MiB of JSON")
    try:
        value = json.loads(path.read_text(encoding="utf-8-sig"), parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise BadInput("file", path, "JSON that mutiny wrote", f"It cannot be read: {error}.") from None
    verb, schema = (value.get(key) for key in ("verb", "schema"))
    kind = KINDS.get(verb) if isinstance(verb, str) else None
    if kind is None or schema != SCHEMA:
        raise BadInput(
            "file",
            path,
            f"a result of {', '.join(KINDS)} with schema {SCHEMA}",
            f"It has verb {shown(verb)} and schema {shown(schema)}.",
        )
    try:
        result = kind.from_json(value)
    except BadInput as error:
        raise BadInput("file", path, "a result that mutiny wrote", f"In it, {error}") from None
    return LoadedResult(result, file=path)


def _refuse(name: str) -> float:
    raise ValueError(f"it has {name}, which mutiny never writes")
