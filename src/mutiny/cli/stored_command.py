"""The command of a campaign as plain values for the store, as options to run again, and as a command line.

What a store says is data: before it is used, `checked_command` verifies its form, and `mutiny.campaigns.ownership`
tells whether this user gave the command. Files to write, addresses and limits are never taken from a store.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any, cast, get_args, get_origin

from mutiny.cli.command import COMMANDS
from mutiny.cli.paths import quoted_path, short_path
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.core.field_types import fits
from mutiny.core.json_values import shown
from mutiny.core.printable import quoted

OUTPUTS = tuple("json kills junit summary indices plot tests save grid patch".split())
"""Options that name a file to write."""
NOT_STORED = frozenset([*OUTPUTS, *"address limit store no_store quiet dry_run".split()])
"""Options that are not stored: they are given again when the command is run again."""
OUTPUT_OPTIONS = NOT_STORED | frozenset("fail_under engine workers anyway strict against".split())
"""Options that affect where a command runs and writes, but not its result."""
FILES = ("inputs", "pool")
"""Options whose text may name a file or folder."""
WORDS = {"select": ("test", "mutated")}
"""Values of these options, by command, that never name a file."""


def to_stored(verb: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """A command in plain values, with absolute paths, so that it means the same in another folder.

    Of the options that are not stored, those that name a file to write or an address are named under ``given``.
    """
    absolute = {**options, **_absolute(options, WORDS.get(verb, ()))}
    plain = {
        name: {"path": str(value.resolve())} if isinstance(value, Path) else value
        for name, value in absolute.items()
        if name not in NOT_STORED
    }
    for argument in COMMANDS[verb].arguments:
        plain[argument] = _absolute_name(str(plain[argument]))
    if plain.get("judge"):
        plain["judge"] = [_absolute_name(text) if _in_file(text) else text for text in plain["judge"]]
    given = [name for name in (*OUTPUTS, "address") if options.get(name) is not None]
    return {"verb": verb, "arguments": plain, "folder": str(Path.cwd()), "given": given}


def checked_command(command: Any, file: Path | None) -> Mapping[str, Any] | None:
    """A command from a store, if it can be run or shown; ``None`` if there is none.

    Raises:
        BadInput: It is none that mutiny wrote, or one of a later version; the message names the wrong part.
    """
    wrong = "" if command is None else _wrong_part(command)
    if wrong:
        raise BadInput("FILE", file, "a campaign whose command this version knows", f"In it, {wrong}.")
    return cast(Mapping[str, Any] | None, command)


def _wrong_part(command: Any) -> str:
    if not isinstance(command, Mapping) or not isinstance(command.get("verb"), str):
        return "it names no verb"
    verb, arguments, folder = (command.get(key) for key in ("verb", "arguments", "folder"))
    if verb not in COMMANDS:
        return f"its verb is {shown(verb)}"
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get("subject"), str):
        return "it names no subject"
    if not isinstance(folder, str | types.NoneType) or not isinstance(command.get("given", []), list):
        return "it names no folder"
    if not all(isinstance(arguments.get(name), str) for name in COMMANDS[verb].arguments):
        return "it does not name what is compared"
    for name, parameter in COMMANDS[verb].parameters.items():
        if name in arguments and not _fits(arguments[name], parameter.annotation):
            return f"{COMMANDS[verb].flags[name]} is {shown(arguments[name])}"
    return ""


def from_stored(command: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a stored command that this version knows, without files to write and addresses."""
    known = COMMANDS[command["verb"]].parameters
    return {
        name: Path(value["path"]) if isinstance(value, Mapping) else value
        for name, value in command["arguments"].items()
        if name in known and name not in NOT_STORED
    }


def not_taken(command: Mapping[str, Any]) -> list[str]:
    """Options with which a campaign was started and that are not taken from its store; older versions stored them."""
    given = [*command.get("given", []), *(name for name, value in command["arguments"].items() if value is not None)]
    return [name for name in (*OUTPUTS, "address") if name in given and name in COMMANDS[command["verb"]].parameters]


def resume_line(file: Path, options: Mapping[str, Any]) -> str:
    """The command that continues a campaign, with the options that are not stored."""
    line = ["mutiny", "resume", quoted_path(file)]
    for name in (*OUTPUTS, "address", "limit"):
        if (value := options.get(name)) is not None:
            line += [f"--{name}", quoted(short_path(value) if isinstance(value, Path) else str(value))]
    return " ".join(line)


def command_line(command: Mapping[str, Any]) -> str:
    """The command without defaults and outputs; the seed is always included.

    >>> command_line({"verb": "assess", "arguments": {"subject": "digits", "seed": 3, "k_max": 5, "exact": True}})
    'mutiny assess digits --exact --seed 3'
    """
    verb, options = COMMANDS[command["verb"]], command["arguments"]
    line = ["mutiny", verb.name, *(_typed(str(options[name])) for name in verb.arguments)]
    for name, parameter in verb.parameters.items():
        value = options.get(name, parameter.default)
        if name in verb.arguments or name in OUTPUT_OPTIONS or (value == parameter.default and name != "seed"):
            continue
        flag = verb.flags[name]
        for each in value if isinstance(value, list) else [value]:
            line += [flag] if each is True else [flag, quoted(_named(each) if name == "judge" else _text(each))]
    return " ".join(line)


def subject_typed(command: Mapping[str, Any]) -> str:
    """The subject as a user types it in this folder."""
    return _typed(str(command["arguments"]["subject"]))


def _typed(argument: str) -> str:
    """``FILE.py:NAME``, a file or another name, as a user types it in this folder."""
    path, colon, name = argument.rpartition(":")
    typed = f"{short_path(Path(path))}{colon}{name}" if colon else short_path(Path(name))
    return quoted(f"./{typed}" if typed.startswith("-") else typed)  # otherwise it would be an option


def files_with_code(command: Mapping[str, Any]) -> list[str]:
    """The files and modules that a command imports, of subjects and networks and of functions that judge."""
    arguments = command["arguments"]
    names = [str(arguments[name]) for name in COMMANDS[command["verb"]].arguments]
    names += filter(_in_file, arguments.get("judge") or [])
    return list(dict.fromkeys(path for path, colon, _ in (name.rpartition(":") for name in names) if colon))


def data_typed(command: Mapping[str, Any]) -> str:
    """The data folder as an option, with a space before it; empty if there is none."""
    data = command["arguments"].get("data")
    return "" if data is None else f" --data {quoted(_text(data))}"


def _absolute_name(argument: str) -> str:
    """``FILE.py:NAME``, or a file, with the absolute path of the file; other names stay as they are."""
    path, colon, name = argument.rpartition(":")
    if colon:
        return f"{Path(path).resolve()}:{name}" if Path(path).is_file() else argument
    return str(Path(name).resolve()) if Path(name).suffix and Path(name).is_file() else argument


def _absolute(options: Mapping[str, Any], words: Collection[str]) -> dict[str, Any]:
    """Absolute paths of the files and folders that options name as text."""
    files = {name: text for name in FILES if isinstance(text := options.get(name), str) and text not in words}
    for name, text in files.items():
        check_path(name, text)
    return {name: str(Path(text).resolve()) for name, text in files.items() if Path(text).exists()}


def _in_file(judge: str) -> bool:
    """Whether a judge is a function in a file, and not a gate or the name of a judge."""
    path, colon, _ = judge.rpartition(":")
    return bool(colon) and path.endswith(".py")


def _named(judge: str) -> str:
    path, colon, name = judge.rpartition(":")
    return f"{short_path(Path(path))}{colon}{name}" if _in_file(judge) else judge


def _fits(value: Any, annotation: Any) -> bool:
    """Whether a stored value has the type of an option; paths are stored as objects."""
    kind = get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    kinds = get_args(kind) if get_origin(kind) is types.UnionType else (kind,)
    if isinstance(value, Mapping):
        return Path in kinds and [*value] == ["path"] and isinstance(value["path"], str)
    return fits(value, kind) and (bool in kinds or not isinstance(value, bool))


def _text(value: Any) -> str:
    return short_path(Path(value["path"])) if isinstance(value, Mapping) else str(value)
