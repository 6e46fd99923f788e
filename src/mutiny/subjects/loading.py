"""From what a user types to a subject: a built-in name, ``path.py:name`` or ``module:name``."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from difflib import get_close_matches
from pathlib import Path
from types import ModuleType

from mutiny.errors import BadInput, MutinyError
from mutiny.subjects.builtin import BUILTIN
from mutiny.subjects.subject import Subject


def load_subject(text: str, data: Path | None = None) -> Subject:
    """The subject that ``text`` names.

    Args:
        text: a built-in name, ``path/to/file.py:name`` or ``package.module:name``; what is named is a `Subject`, or a
            function without arguments that returns one.
        data: folder with data sets, for built-in subjects that need files.
    """
    if text in BUILTIN:
        return BUILTIN[text](data)
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        near = get_close_matches(text, BUILTIN, 1)
        hint = f"Did you mean {near[0]}?" if near else "For your own model write FILE.py:NAME."
        if text.endswith(".py"):
            hint = f"Did you mean {text}:subject?"
        raise BadInput("subject", repr(text), f"a built-in ({', '.join(BUILTIN)}), FILE.py:NAME or MODULE:NAME", hint)
    module = _from_file(where) if where.endswith(".py") else _from_module(where)
    if not hasattr(module, name):
        found = [key for key, value in vars(module).items() if isinstance(value, Subject)]
        hint = f"It holds the subject{'s' * (len(found) > 1)} {', '.join(found)}." if found else ""
        raise BadInput("subject", repr(text), f"a name defined in {where}", hint)
    value = getattr(module, name)
    if not isinstance(value, Subject) and callable(value) and not isinstance(value, type):
        value = value()
    if not isinstance(value, Subject):
        raise BadInput(
            "subject", repr(text), "a mutiny.Subject, or a function that returns one", f"It is {type(value)}."
        )
    if value.name == "subject":
        value.name = text
    return value


def _from_file(where: str) -> ModuleType:
    path = Path(where)
    if not path.is_file():
        raise BadInput("subject", repr(where), "a Python file that exists")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise BadInput("subject", repr(where), "a Python file")
    module = importlib.util.module_from_spec(spec)
    known = sys.modules.get(path.stem)
    sys.modules[path.stem] = module
    sys.path.insert(0, str(path.resolve().parent))
    try:
        spec.loader.exec_module(module)
    except MutinyError:
        raise
    except Exception as error:
        raise BadInput("subject", repr(where), "a file that runs", _where(error, path)) from error
    finally:
        sys.path.remove(str(path.resolve().parent))
        if known is not None:
            sys.modules[path.stem] = known
    return module


def _from_module(where: str) -> ModuleType:
    sys.path.insert(0, str(Path.cwd()))
    try:
        return importlib.import_module(where)
    except MutinyError:
        raise
    except Exception as error:
        reason = f"{type(error).__name__}: {error}"
        raise BadInput("subject", repr(where), "a module that can be imported", reason) from error
    finally:
        sys.path.remove(str(Path.cwd()))


def _where(error: Exception, path: Path) -> str:
    line, trace = None, error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == str(path):
            line = trace.tb_lineno
        trace = trace.tb_next
    place = f"line {line}: " if line else ""
    return f"It fails at {place}{type(error).__name__}: {error}"
