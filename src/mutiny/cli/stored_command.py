"""The command of a campaign as plain values for the store, as options to run again, and as a command line."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, get_args

from mutiny.cli.command import COMMANDS
from mutiny.cli.paths import short_path
from mutiny.core.errors import BadInput
from mutiny.core.field_types import fits

OUTPUT_OPTIONS = frozenset(
    "json kills junit summary quiet store no_store dry_run fail_under engine workers address save grid plot indices "
    "patch anyway tests strict against".split()
)
"""Options that affect where a command runs and writes, but not its result."""
FILES = ("inputs", "pool")
"""Options whose text may name a file or folder."""
WORDS = {"select": ("test", "mutated")}
"""Values of these options, by command, that never name a file."""


def to_stored(verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A command in plain values, with absolute paths, so that it means the same in another folder."""
    absolute = {**options, **_absolute(options, WORDS.get(verb, ()))}
    plain = {
        name: {"path": str(value.resolve())} if isinstance(value, Path) else value for name, value in absolute.items()
    }
    path, colon, name = str(plain["subject"]).rpartition(":")
    if colon and Path(path).is_file():
        plain["subject"] = f"{Path(path).resolve()}:{name}"
    plain.pop("limit", None)  # a file does not decide how much memory it may take
    return {"verb": verb, "arguments": plain, "folder": str(Path.cwd())}


def from_stored(command: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a stored command that this version knows."""
    known = COMMANDS[command["verb"]].parameters
    return {
        name: Path(value["path"]) if isinstance(value, dict) else value
        for name, value in command["arguments"].items()
        if name in known
    }


def checked_command(command: Mapping[str, Any] | None, file: Path | None) -> Mapping[str, Any] | None:
    """The command of a stored campaign, if it is one that mutiny wrote; ``None`` if there is none.

    Raises:
        BadInput: It is not; the message names the wrong part.
    """
    if command is None:
        return None
    verb, arguments, folder = (command.get(name) for name in ("verb", "arguments", "folder"))
    wrong = ""
    if not isinstance(verb, str) or verb not in COMMANDS:
        wrong = "verb"
    elif not isinstance(arguments, dict) or not isinstance(arguments.get("subject"), str):
        wrong = "arguments"
    elif not isinstance(folder, str | None):
        wrong = "folder"
    else:
        parameters = COMMANDS[verb].parameters
        known = [name for name in parameters if name in arguments]
        wrong = next((name for name in known if not _fits(arguments[name], parameters[name].annotation)), "")
    if wrong:
        raise BadInput("FILE", file, "campaigns whose commands mutiny wrote", f"One has another {wrong}.")
    return command


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a stored value is one of an option; paths are stored as objects."""
    if isinstance(value, dict):
        return [*value] == ["path"] and isinstance(value["path"], str)
    return fits(value, get_args(annotation)[0])


def command_line(command: Mapping[str, Any]) -> str:
    """The command without defaults and outputs; the seed is always included.

    >>> command_line({"verb": "assess", "arguments": {"subject": "digits", "seed": 3, "k_max": 5, "exact": True}})
    'mutiny assess digits --exact --seed 3'
    """
    verb, options = COMMANDS[command["verb"]], command["arguments"]
    line = ["mutiny", verb.name, subject_typed(command)]
    for name, parameter in verb.parameters.items():
        value = options.get(name, parameter.default)
        if name == "subject" or name in OUTPUT_OPTIONS or (value == parameter.default and name != "seed"):
            continue
        flag = verb.flags[name]
        line += [flag] if value is True else [flag, shlex.quote(_text(value))]
    return " ".join(line)


def subject_typed(command: Mapping[str, Any]) -> str:
    """The subject as a user types it in this folder."""
    path, colon, name = str(command["arguments"]["subject"]).rpartition(":")
    return shlex.quote(f"{short_path(Path(path))}{colon}{name}" if colon else name)


def data_typed(command: Mapping[str, Any]) -> str:
    """The data folder as an option, with a space before it; empty if there is none."""
    data = command["arguments"].get("data")
    return "" if data is None else f" --data {shlex.quote(_text(data))}"


def _absolute(options: Mapping[str, Any], words: Collection[str]) -> dict[str, Any]:
    """Absolute paths of the files and folders that options name as text."""
    files = {name: text for name in FILES if isinstance(text := options.get(name), str) and text not in words}
    return {name: str(Path(text).resolve()) for name, text in files.items() if Path(text).exists()}


def _text(value: Any) -> str:
    return short_path(Path(value["path"])) if isinstance(value, Mapping) else str(value)
