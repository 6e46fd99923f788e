"""Errors on the command line: expressed in its options, and attributed to mutiny or to the user's code."""

from __future__ import annotations

import errno
import inspect
import re
import sysconfig
import traceback
from collections.abc import Mapping
from pathlib import Path

import mutiny
from mutiny.core.errors import BadInput

OURS = Path(mutiny.__file__).parent
LIBRARIES = tuple({Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib")})
MENTION = re.compile(r"\([^()]*\)|\b([a-z][a-z_]*)=(True\b|(?=[^\s,;:.]|\.\.\.|\.\d))?")
"""A Python argument in a sentence, such as ``low=``, ``upper=3`` or ``exact=True``; text in brackets is skipped.

The second group is empty if a value follows, and not matched at all if none does.
"""
QUOTED = re.compile(r"(--[a-z-]+) ([\"'])([\w.-]+)\2")
"""An option with a word in the quotes that Python needs and a shell does not."""
PAIR = re.compile(r"\bsuch as \((\d+), (\d+)\)")
"""An example of a pair of numbers in the brackets that Python needs and a shell does not."""
REFUSALS = frozenset(
    getattr(errno, name)
    for name in "EACCES EPERM EROFS EIO ENOSPC EDQUOT EMFILE ENFILE ESTALE ETIMEDOUT EHOSTDOWN ENOTCONN ENODEV".split()
    if hasattr(errno, name)
)
"""Errors of the system that depend on the machine, not on what a program does."""


def in_options(error: BadInput, verb: str, flags: Mapping[str, str], aliases: Mapping[str, str]) -> BadInput:
    """The same error with command-line names of options: ``--low`` instead of ``low=``.

    An error that the user's Python code raised is returned unchanged.

    Args:
        error: Error with names of Python arguments.
        verb: Name of the running command.
        flags: Command-line names of the options, by Python name.
        aliases: Options by the name of the Python argument that they fill, where the names differ.

    >>> error = BadInput("lower", 5, "less than upper=3")
    >>> str(in_options(error, "assess", {"lower": "--lower", "upper": "--upper"}, {}))
    '--lower=5: expected less than --upper 3.'
    """
    if any(_given(frame) for frame in traceback.extract_tb(error.__traceback__)):
        return error

    def flag(argument: str) -> str | None:
        name = argument.strip().replace(" ", "_")
        return flags.get(aliases.get(name, name))

    def replaced(match: re.Match[str]) -> str:
        known = flag(match[1]) if match[1] else None
        if known is None:
            return match[0]
        return f"{known} " if match[2] == "" else known

    def translated_text(sentence: str) -> str:
        return QUOTED.sub(r"\1 \3", PAIR.sub(r"such as \1,\2", MENTION.sub(replaced, sentence)))

    names = error.argument.split(",")
    argument = ", ".join(flag(name) or aliases.get(name.strip(), name.strip()) for name in names)
    if error.value is None and argument in inspect.signature(mutiny.Subject).parameters:
        argument = "SUBJECT"
    expected, fix = translated_text(error.expected), translated_text(error.fix)
    if _python_only(verb, flags, aliases) & {match[1] for match in MENTION.finditer(fix)}:
        fix = f"In Python, {fix[0].lower()}{fix[1:]}"
    value = ", ".join(map(str, error.value)) if isinstance(error.value, tuple) else error.value
    translated = type(error)(argument, value, expected, fix)
    is_flag = value is True and argument.startswith("--")
    if is_flag or (value is None and argument != error.argument):
        translated.args = (str(translated).replace(f"={value}:", ":", 1),)
    return translated


def _python_only(verb: str, flags: Mapping[str, str], aliases: Mapping[str, str]) -> set[str]:
    """Arguments of a verb that are neither options of its command nor part of a subject's definition."""
    arguments = set(inspect.signature(getattr(mutiny, verb)).parameters)
    return arguments - set(flags) - set(aliases) - set(inspect.signature(mutiny.Subject).parameters)


def check_current_folder() -> None:
    """Raise `BadInput` if the current folder was deleted, in which paths mean nothing."""
    try:
        Path.cwd()
    except OSError:
        raise BadInput("folder", ".", "a current folder that exists", "Change to another one, and try again.") from None


def machine_sentence(error: OSError) -> str:
    """A sentence about something that the machine refuses, as permissions do; empty if it may be a bug in mutiny."""
    try:
        check_current_folder()
    except BadInput as gone:
        return str(gone)
    if error.errno not in REFUSALS:
        return ""
    place = error.filename or "<a file>"
    fix = f"The system says: {error.strerror}."
    return str(BadInput("file", place, "a file or folder that can be used here", fix))


def given_code(error: BaseException) -> list[traceback.FrameSummary]:
    """The frames of an error, from the first in the user's code on; empty if the error is a bug in mutiny.

    It is a bug in mutiny if the innermost frame outside of libraries is mutiny's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    owned = [frame for frame in frames if not _library(frame)]
    if not owned or _ours(owned[-1]):
        return []
    first = next(frame for frame in owned if not _ours(frame))
    return list(frames)[frames.index(first) :]


def given_code_sentence(error: BaseException, frames: list[traceback.FrameSummary]) -> str:
    """A sentence about an error in the user's code."""
    place = [frame for frame in frames if not _library(frame)][-1]
    message = f": {error}" if str(error) else ""
    return f"{Path(place.filename).name}, line {place.lineno}, raised {type(error).__name__}{message}"


def _given(frame: traceback.FrameSummary) -> bool:
    return not _ours(frame) and not _library(frame)


def _ours(frame: traceback.FrameSummary) -> bool:
    return Path(frame.filename).is_relative_to(OURS)


def _library(frame: traceback.FrameSummary) -> bool:
    path = Path(frame.filename)
    if frame.filename.startswith("<"):  # frozen modules, and methods that dataclasses generate
        return True
    return not _ours(frame) and any(path.is_relative_to(library) for library in LIBRARIES)
