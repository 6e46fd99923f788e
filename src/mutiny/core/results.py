"""Base class of the results of all verbs (JSON, tables, metrics), and records that describe their subjects.

The attribute ``source`` of a subject is the key ``from`` in JSON, which Python reserves.
"""

from __future__ import annotations

import html
import math
import platform
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, field, fields
from functools import cache
from importlib.metadata import version
from typing import Any, ClassVar, Self, get_type_hints

from mutiny import __version__
from mutiny.core.errors import BadInput, MissingExtra
from mutiny.core.json_values import JsonObject, expect, expect_least, json_key, omitted_if_none, to_plain
from mutiny.core.printable import printable

SCHEMA = 1
SHOWN = 25
"""Rows of a table that a notebook shows."""
COMMON = ("subject", "settings", "versions", "notes", "seconds", "created")
"""Attributes that every result has."""
Rows = Sequence[Mapping[str, Any]]


class Result(ABC):
    """Base class of the results of verbs.

    Subclasses are frozen dataclasses with these attributes. They define `details`, `tables` and `metrics`, and
    `read_details` where the form of `details` differs from the attributes.

    Attributes:
        verb: Name of the verb.
        subject: Description of the subject.
        settings: Everything that determines the result, as plain values.
        versions: Versions of mutiny and of the packages that affect the numbers.
        notes: Caveats, one sentence each.
        seconds: Duration of the call.
        created: Time at which the campaign was started.
    """

    verb: ClassVar[str]
    subject: SubjectRecord
    settings: Mapping[str, Any]
    versions: Mapping[str, str]
    notes: tuple[str, ...]
    seconds: float
    created: str

    @abstractmethod
    def details(self) -> dict[str, Any]:
        """The verb's own part of `to_json`."""

    @abstractmethod
    def tables(self) -> dict[str, Rows]:
        """Rows by the name of a table, the most important table first."""

    @abstractmethod
    def metrics(self) -> dict[str, float]:
        """Numbers to track from run to run."""

    @classmethod
    def read_details(cls, given: JsonObject) -> dict[str, Any]:
        """Inverse of `details`: attributes of this class by name, from a JSON object.

        Reads every attribute that is a key of the object, or that has no default. Others keep their defaults.
        """
        hints = get_type_hints(cls)
        own = [field for field in fields(cls) if field.name not in COMMON]  # type: ignore[arg-type]
        return {f.name: given.get(f.name, hints[f.name]) for f in own if f.name in given.values or _is_required(f)}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Inverse of `to_json`. Every type is checked; no code in the value is run.

        Attributes that JSON does not hold (arrays, tensors, models) are ``None`` or empty.

        Args:
            value: Plain values, as ``json.load`` gives them.

        Raises:
            BadInput: A value is missing or is not what was expected; the message names its place.
        """
        given = JsonObject(value)
        verb, schema = given.get("verb", Any, None), given.get("schema", Any, None)
        expect(verb == cls.verb, "verb", verb, repr(cls.verb))
        expect(schema == SCHEMA and not isinstance(schema, bool), "schema", schema, str(SCHEMA))
        subject = given.get("subject", get_type_hints(cls)["subject"])
        timing = given.object("timing")
        settings = given.get("settings", Mapping[str, Any])
        try:
            to_plain(settings)
        except RecursionError:
            raise BadInput("settings", "an object", "fewer levels of nesting") from None
        seed = settings.get("seed", 0)
        expect(isinstance(seed, int) and not isinstance(seed, bool) and seed >= 0, "settings.seed", seed, "at least 0")
        values = {
            "subject": subject,
            "settings": settings,
            "versions": given.get("versions", Mapping[str, str]),
            "notes": given.get("notes", tuple[str, ...]),
            "seconds": timing.get("seconds", float | None, None) or 0.0,
            "created": timing.get("created", str, ""),
            **cls.read_details(given),
        }
        return cls(**values)

    def timing(self) -> dict[str, Any]:
        """Values that depend on the clock, or on previously stored work."""
        return {"created": self.created, "seconds": round(self.seconds, 3)}

    def to_json(self) -> dict[str, Any]:
        """Plain values with a schema version; whatever depends on the clock is under ``timing``."""
        return {
            "schema": SCHEMA,
            "verb": self.verb,
            "subject": to_plain(self.subject),
            "settings": to_plain(self.settings),
            "versions": dict(self.versions),
            **self.details(),
            "notes": list(self.notes),
            "timing": self.timing(),
        }

    def __eq__(self, other: object) -> bool:
        """Whether two results say the same in JSON, whenever and however fast they were computed."""
        if not isinstance(other, Result):
            return NotImplemented
        mine, theirs = self.to_json(), other.to_json()
        return {**mine, "timing": None} == {**theirs, "timing": None}

    __hash__ = None  # type: ignore[assignment]  # settings are mappings

    def to_frame(self, table: str | None = None) -> Any:
        """A table as a pandas ``DataFrame``.

        Args:
            table: Name of one of `tables`; the first by default.
        """
        tables = self.tables()
        if table is not None and table not in tables:
            raise BadInput("table", repr(table), f"one of {', '.join(tables)}")
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtra("pandas", "notebook") from None
        return pd.DataFrame([*tables[table or next(iter(tables))]])

    def _headline(self) -> str:
        """What a notebook shows first."""
        return repr(self)

    def _repr_html_(self) -> str:
        """The headline, the first table and the notes, for a notebook."""
        rows = next(iter(self.tables().values()))
        notes = "".join(f"<li>{_shown(note)}</li>" for note in self.notes)
        return f"<p><b>{_shown(self._headline())}</b></p>{_table(rows)}{f'<ul>{notes}</ul>' if notes else ''}"


def _is_required(field: Field[Any]) -> bool:
    return field.default is MISSING and field.default_factory is MISSING


def finite(values: Mapping[str, float | None]) -> dict[str, float]:
    """Drops missing and non-finite values.

    >>> finite({"a": 1.0, "b": None, "c": float("nan")})
    {'a': 1.0}
    """
    return {name: float(value) for name, value in values.items() if value is not None and math.isfinite(value)}


def _table(rows: Rows) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{_shown(name)}</th>" for name in rows[0])
    body = "".join(
        f"<tr>{''.join(f'<td>{_shown(_cell(value))}</td>' for value in row.values())}</tr>" for row in rows[:SHOWN]
    )
    more = f"<p>and {len(rows) - SHOWN:,} more</p>" if len(rows) > SHOWN else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _shown(text: str) -> str:
    return html.escape(printable(text))


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def now() -> str:
    """The current time, in the format of results and stores."""
    return time.strftime("%Y-%m-%dT%H:%M:%S%z")


def versions() -> dict[str, str]:
    """Versions of mutiny and of the packages that affect the numbers."""
    return {"python": platform.python_version(), "mutiny": __version__, **_package_versions()}


@cache
def _package_versions() -> dict[str, str]:
    return {name: version(name) for name in ("torch", "numpy", "scipy")}


@dataclass(frozen=True)
class TaskRecord:
    """Task of a model.

    Attributes:
        kind: ``"classification"`` or ``"regression"``.
        metric: Name of the metric, such as ``"accuracy"``.
        classes: Number of classes; classification only.
        outputs: ``"logits"`` or ``"probabilities"``; classification only.
        tolerance: Largest absolute error that counts as correct; regression only.
    """

    kind: str
    metric: str
    classes: int | None = omitted_if_none()
    outputs: str | None = omitted_if_none()
    tolerance: float | None = omitted_if_none()


@dataclass(frozen=True)
class SplitRecord:
    """One set of inputs, and the metric of the originals on it.

    Attributes:
        inputs: Number of inputs.
        metric_mean: Mean over originals.
        metric_sd: Standard deviation over originals; ``None`` for one original.
        metrics: One value per original.
    """

    inputs: int
    metric_mean: float
    metric_sd: float | None = None
    metrics: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.splits: inputs")


@dataclass(frozen=True)
class PoolRecord:
    """The inputs to choose from.

    Attributes:
        inputs: Number of inputs.
        source: Origin of the inputs.
        labeled: Whether their labels are known.
    """

    inputs: int
    source: str = json_key("from")
    labeled: bool = False

    def __post_init__(self) -> None:
        expect_least(self.inputs, "subject.pool.inputs")


@dataclass(frozen=True)
class SubjectRecord:
    """The tested subject: its name, and the class name of the model."""

    name: str
    model: str


@dataclass(frozen=True)
class ModelAndInputs(SubjectRecord):
    """A model and the inputs on which it was examined, as in `attack` and `repair`.

    Attributes:
        task: Task of the model.
        inputs: Number of inputs.
        source: Origin of the inputs.
    """

    task: TaskRecord
    inputs: int
    source: str = json_key("from")


@dataclass(frozen=True)
class AssessedSubject(SubjectRecord):
    """The subject of `assess`.

    Attributes:
        originals: Number of originals.
        task: Task of the model.
        splits: Sets of inputs by name: ``train``, ``test``, and ``weak`` if there is one.
        layers: Names of the layers that operators can change.
        pool: Number of inputs in the subject's pool; ``None`` without a pool.
        more_originals: Whether the subject's recipe can train more originals.
    """

    originals: int
    task: TaskRecord
    splits: Mapping[str, SplitRecord]
    layers: tuple[str, ...] = ()
    pool: int | None = None
    more_originals: bool = False

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.pool, "subject.pool")


@dataclass(frozen=True)
class RankedPool(PoolRecord):
    """The pool of `select`; ``wrong`` is the number of wrong answers, ``None`` if labels are not known."""

    wrong: int | None = None


@dataclass(frozen=True)
class RankedSubject(SubjectRecord):
    """The subject of `select`: originals, task and pool."""

    originals: int
    task: TaskRecord
    pool: RankedPool


@dataclass(frozen=True)
class StrengthenedSubject(SubjectRecord):
    """The subject of `strengthen`.

    Attributes:
        originals: Number of originals.
        task: Task of the model.
        test: Number of test inputs.
        pool: Inputs to choose from; ``None`` if only a smaller test set was searched.
    """

    originals: int
    task: TaskRecord
    test: int
    pool: PoolRecord | None = None

    def __post_init__(self) -> None:
        expect_least(self.originals, "subject.originals")
        expect_least(self.test, "subject.test")


@dataclass(frozen=True)
class LocatedSubject(ModelAndInputs):
    """The subject of `locate`: also the number of hidden neurons, in all and by layer."""

    neurons: int = 0
    layers: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        sizes = self.layers.values()
        expect(all(0 < size < 2**31 for size in sizes), "subject.layers", [*sizes], "sizes of at least 1")
