"""Modules that another process cannot import, so that their code must be sent by value."""

from __future__ import annotations

import importlib.machinery
import os
import site
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def search_path() -> list[str]:
    """The module search path of this process as absolute folders, which mean the same in another process."""
    return [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]  # noqa: PTH100, "" is the cwd


def installed_path() -> list[str]:
    """The part of `search_path` with installed packages, which a machine with the same installation has too."""
    return [folder for folder in search_path() if _is_installed(folder)]


def unimportable(path: Sequence[str]) -> list[ModuleType]:
    """Top-level modules that a process with this search path would not find, or would find in another file.

    Examples are modules that were loaded by file name, from a folder that is no longer on the path, or created at run
    time. ``__main__`` is not listed, because cloudpickle always sends what it defines by value.

    >>> [module.__name__ for module in unimportable(search_path()) if module.__name__ in ("mutiny", "os", "torch")]
    []
    """
    names = {name for name in sys.modules if "." not in name} - set(sys.stdlib_module_names)
    names -= {"__main__", "__mp_main__", "mutiny"}
    return [module for name in sorted(names) if (module := sys.modules.get(name)) and not _is_found(name, module, path)]


def _is_found(name: str, module: ModuleType, path: Sequence[str]) -> bool:
    if not isinstance(module, ModuleType) or module.__name__ != name:
        return True  # an alias, or not a module: left to pickle
    file = getattr(module, "__file__", None)
    if file is None and not hasattr(module, "__path__"):
        return "__builtins__" not in vars(module)  # code ran in it, so it was created at run time
    if file is not None and _is_installed(file):
        return True
    try:
        spec = importlib.machinery.PathFinder.find_spec(name, list(path))
    except (ImportError, ValueError):
        return False
    if spec is None:
        return _is_redirected(module)
    if file is not None:
        return spec.origin is not None and os.path.realpath(spec.origin) == os.path.realpath(file)
    return set(spec.submodule_search_locations or ()) >= set(module.__path__)


def _is_installed(place: str) -> bool:
    real = os.path.realpath(place)
    roots = (sys.prefix, sys.base_prefix, site.getusersitepackages())
    inside = any(real.startswith(os.path.realpath(root) + os.sep) for root in roots)
    return inside and not {"site-packages", "dist-packages", "lib"}.isdisjoint(Path(real.lower()).parts)


def _is_redirected(module: ModuleType) -> bool:
    """Whether an import hook finds the module, as for packages that are installed in editable mode."""
    for finder in sys.meta_path:
        if getattr(finder, "__module__", "").startswith("__editable__"):
            spec = finder.find_spec(module.__name__, None)
            if spec and module.__spec__ and spec.origin == module.__spec__.origin:
                return True
    return False
