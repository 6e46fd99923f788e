"""Which modules another process could not import: their code must travel by value."""

from __future__ import annotations

import importlib.machinery
import os
import site
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType


def search_path() -> list[str]:
    """Where this process finds modules, as folders that mean the same in another process."""
    return [os.path.abspath(folder) for folder in sys.path if isinstance(folder, str)]  # noqa: PTH100, "" is the cwd


def installed_path() -> list[str]:
    """The part of it that holds installed packages, which a machine with the same installation has too."""
    return [folder for folder in search_path() if _is_installed(folder)]


def strangers(path: Sequence[str]) -> list[ModuleType]:
    """Modules, packages as a whole, that a process which searches ``path`` would not find, or not in the same file.

    Such are modules that were loaded from a file by its name, that lay on a path since changed, or that were made by
    hand. ``__main__`` is none: what it defines always travels by value.

    >>> [module.__name__ for module in strangers(search_path()) if module.__name__ in ("mutiny", "os", "torch")]
    []
    """
    names = {name for name in sys.modules if "." not in name} - set(sys.stdlib_module_names)
    names -= {"__main__", "__mp_main__", "mutiny"}
    return [module for name in sorted(names) if (module := sys.modules.get(name)) and not _found(name, module, path)]


def _found(name: str, module: ModuleType, path: Sequence[str]) -> bool:
    if not isinstance(module, ModuleType) or module.__name__ != name:
        return True  # an alias, or no module at all: left to pickle
    file = getattr(module, "__file__", None)
    if file is None and not hasattr(module, "__path__"):
        return "__builtins__" not in vars(module)  # code ran in it, so somebody made it by hand
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
    """Whether an installed hook finds it, as for packages installed in editable mode."""
    for finder in sys.meta_path:
        if getattr(finder, "__module__", "").startswith("__editable__"):
            found = finder.find_spec(module.__name__, None)
            if found and module.__spec__ and found.origin == module.__spec__.origin:
                return True
    return False
