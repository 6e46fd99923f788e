"""Loading of a subject by a built-in name, ``path.py:name`` or ``module:name``."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any, cast

from torch import nn

from mutiny.core.checks import check_path
from mutiny.core.claims import exclusive
from mutiny.core.errors import BadInput, MutinyError, called
from mutiny.subjects.builtin import BUILTIN
from mutiny.subjects.subject import Subject

SUBJECT = "a function without arguments that returns a subject"
"""What a function is expected to be if a subject is loaded."""


def load_subject(name: str, data: str | Path | None = None) -> Subject:
    """Loads a subject by its name.

    Args:
        name: Built-in name, ``path/to/file.py:name`` or ``package.module:name``, where the last part names
            a `Subject` or a function without arguments that returns one.
        data: Folder with data sets, for built-in subjects that need files; refused with other subjects.
    """
    if not isinstance(name, str):
        raise BadInput("name", repr(name)[:60], f"text: a built-in ({', '.join(BUILTIN)}), FILE.py:NAME or MODULE:NAME")
    if name in BUILTIN:
        return BUILTIN[name](None if data is None else Path(data))
    value, where, attribute = _loaded(name, data, SUBJECT)
    return _as_subject(value, where, attribute)


def subject_in(module: ModuleType, where: str, attribute: str) -> Subject:
    """The subject of this name in a module that is imported.

    Args:
        module: The module.
        where: File or module, as the user named it.
        attribute: Name of a `Subject`, or of a function that returns one.
    """
    return _as_subject(_named(module, where, attribute, SUBJECT), where, attribute)


def _as_subject(value: object, where: str, attribute: str) -> Subject:
    """A value that should be a subject, with a name."""
    if not isinstance(value, Subject):
        fix = f"It is of type {type(value).__name__}."
        if isinstance(value, nn.Module):
            fix = f"It is a model, a {type(value).__name__}: wrap it in mutiny.Subject(model, task=..., test=...)."
        raise BadInput("name", repr(f"{where}:{attribute}"), "a mutiny.Subject, or a function that returns one", fix)
    return _with_name(value, where, attribute)


def _with_name(subject: Subject, where: str, attribute: str) -> Subject:
    """A subject, named after its place unless its author has named it; the same from every folder."""
    if subject.name == "subject":
        subject.name = f"{Path(where).name}:{attribute}" if where.endswith(".py") else f"{where}:{attribute}"
    return subject


def load_network(name: str, data: str | Path | None = None) -> object:
    """Loads a subject, a model, or a function from inputs to outputs by its name.

    Args:
        name: As for `load_subject`; the last part may also name a model, a function without arguments that returns one,
            or a function that takes inputs and returns outputs.
        data: Folder with data sets, for built-in subjects that need files.
    """
    if name in BUILTIN:
        return load_subject(name, data)
    value, where, attribute = _loaded(name, None, "a function without arguments that returns a subject or a network")
    return _with_name(value, where, attribute) if isinstance(value, Subject) else value


def _loaded(name: str, data: str | Path | None, wanted: str) -> tuple[object, str, str]:
    """What a name of a file or module stands for, the file or module, and its name there.

    Args:
        name: ``path/to/file.py:name`` or ``package.module:name``.
        data: Folder with data sets, which is refused.
        wanted: What a function is expected to be, for messages.
    """
    where, colon, attribute = name.rpartition(":")
    if not colon or not where or not attribute:
        near = get_close_matches(name, BUILTIN, 1)
        hint = f"Did you mean {near[0]}?" if near else "For your own model write FILE.py:NAME."
        if name.endswith(".py"):
            hint = f"Did you mean {name}:subject?"
        raise BadInput("name", repr(name), f"a built-in ({', '.join(BUILTIN)}), FILE.py:NAME or MODULE:NAME", hint)
    if data is not None:
        fix = f"Leave it out: {name} reads its own data."
        raise BadInput("data", data, "a built-in subject that needs files, such as mnist", fix)
    is_file = where.endswith(".py")
    with _importing_from(Path(where).resolve().parent if is_file else Path.cwd()):
        value = _named(_from_file(where) if is_file else _from_module(where), where, attribute, wanted)
    return value, where, attribute


def load_function(name: str, argument: str) -> Callable[..., Any]:
    """Loads a function by its name. The file is run, as that of a subject is.

    Args:
        name: ``path/to/file.py:name``.
        argument: Name of the user's argument, for messages.
    """
    where, _, attribute = name.rpartition(":")
    with called(argument, "name"), _importing_from(Path(where).resolve().parent):
        module = _from_file(where)
        if not hasattr(module, attribute):
            own = [key for key, value in vars(module).items() if isinstance(value, FunctionType)]
            hint = f"It defines: {', '.join(own)}." if own else ""
            raise BadInput("name", repr(name), f"a function defined in {where}", hint)
        value = getattr(module, attribute)
        if not callable(value) or isinstance(value, type):
            raise BadInput("name", repr(name), "a function", f"It is of type {type(value).__name__}.")
        return cast(Callable[..., Any], value)


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Context in which modules in ``folder`` can be imported; other threads wait to load theirs."""
    with exclusive("module search path"):
        before = list(sys.path)
        sys.path.insert(0, str(folder))
        try:
            yield
        finally:
            sys.path[:] = before


def _named(module: ModuleType, where: str, name: str, wanted: str) -> object:
    """The value of ``name`` in ``module``; a function without arguments is called."""
    if not hasattr(module, name):
        subjects = [key for key, value in vars(module).items() if isinstance(value, Subject)]
        hint = f"It defines: {', '.join(subjects)}." if subjects else ""
        raise BadInput("name", repr(f"{where}:{name}"), f"a name defined in {where}", hint)
    value: object = getattr(module, name)
    if isinstance(value, (Subject, nn.Module, type)) or not callable(value):
        return value
    if wanted != SUBJECT and _takes_inputs(value):
        return value
    with _explaining(f"{where}:{name}", wanted, module.__file__):
        return value()


def _takes_inputs(function: Callable[..., object]) -> bool:
    """Whether a function cannot be called without arguments."""
    try:
        inspect.signature(function).bind()
    except TypeError:
        return True
    except ValueError:  # a built-in without a signature
        return False
    return False


@contextmanager
def _explaining(where: str, expected: str, file: str | None) -> Iterator[None]:
    """Converts any exception of the user's code to `BadInput` with the line of ``file`` that caused it."""
    try:
        yield
    except MutinyError:
        raise
    except (Exception, SystemExit) as error:
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
        line = f"line {lines[-1]}: " if lines else ""
        raise BadInput("name", repr(where), expected, f"It fails with {line}{type(error).__name__}: {error}") from error


def _from_file(where: str) -> ModuleType:
    check_path("name", where)
    path = Path(where).resolve()
    if not path.is_file():
        raise BadInput("name", repr(where), "a Python file that exists")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadInput("name", repr(where), "a Python file")
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    try:
        with _explaining(where, "a file that runs", str(path)):
            spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[path.stem]
        raise
    finally:
        if known is not None:
            sys.modules[path.stem] = known
    return module


def _from_module(where: str) -> ModuleType:
    with _explaining(where, "a module that can be imported", None):
        return importlib.import_module(where)
