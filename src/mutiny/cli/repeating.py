"""From a campaign's command, in plain values, to the line that a user types."""

from __future__ import annotations

import inspect
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from typer.models import OptionInfo

from mutiny.cli.keeping import near
from mutiny.cli.verbs import VERBS

LEFT_OUT = frozenset(
    "json kills junit summary quiet store no_store dry_run fail_under engine workers address save grid plot indices "
    "patch anyway tests".split()
)  # fmt: skip
"""Options that decide where things are written or run, not what is found."""


def command_line(command: Mapping[str, Any]) -> str:
    """The command without what is as usual and without outputs; the seed is always told.

    >>> command_line({"verb": "assess", "arguments": {"subject": "digits", "seed": 3, "k_max": 5, "exact": True}})
    'mutiny assess digits --exact --seed 3'
    """
    verb, arguments = command["verb"], command["arguments"]
    options = _options(VERBS[verb])
    line = ["mutiny", verb, subject_typed(command)]
    for name, parameter in inspect.signature(VERBS[verb]).parameters.items():
        value = arguments.get(name, parameter.default)
        if name == "subject" or name in LEFT_OUT or (value == parameter.default and name != "seed"):
            continue
        option = options.get(name, f"--{name.replace('_', '-')}")
        line += [option] if value is True else [option, shlex.quote(_text(value))]
    return " ".join(line)


def subject_typed(command: Mapping[str, Any]) -> str:
    """The subject as a user types it in this folder."""
    path, colon, name = str(command["arguments"]["subject"]).rpartition(":")
    return shlex.quote(f"{near(Path(path))}{colon}{name}" if colon else name)


def data_typed(command: Mapping[str, Any]) -> str:
    """The data folder as an option, with a space before it; nothing if there is none."""
    data = command["arguments"].get("data")
    return "" if data is None else f" --data {shlex.quote(_text(data))}"


def _options(function: Callable[..., None]) -> dict[str, str]:
    """Names of options that are not made from their parameter's; typer keeps the first where a default would be."""
    found = {}
    for name, hint in get_type_hints(function, include_extras=True).items():
        told = [one for one in getattr(hint, "__metadata__", ()) if isinstance(one, OptionInfo)]
        flags = [flag for one in told for flag in (one.default, *(one.param_decls or ()))]
        said = [flag for flag in flags if isinstance(flag, str) and flag.startswith("--")]
        if said:
            found[name] = said[0]
    return found


def _text(value: Any) -> str:
    return near(Path(value["path"])) if isinstance(value, Mapping) else str(value)
