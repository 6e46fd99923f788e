"""Classes by the name that users type: built-in ones, and those that installed packages add by entry points.

A package adds an operator with three lines in its ``pyproject.toml``::

    [project.entry-points."mutiny.operators"]
    SF = "acme_faults:SignFlip"

The name on the left is the class's ``code``. Packages are imported when a name is not built in, or when all classes are
listed; importing mutiny imports none of them. A class that cannot be used is left out, and an error if it is looked up.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from importlib.metadata import EntryPoint, entry_points
from typing import Any, Generic, TypeVar

from mutiny.core.errors import PluginError

T = TypeVar("T")


class Registry(Mapping[str, type[T]], Generic[T]):
    """Classes by code, built-in ones first; a read-only mapping.

    Args:
        group: Name of the entry-point group.
        base: Base class; subclasses must define what it declares without a value, such as ``title``.
        builtin: Classes of mutiny, in the order of listings.
        sibling: Function that returns the registry that shares the entry-point group but has another base class.
    """

    def __init__(
        self,
        group: str,
        base: type[Any],
        builtin: Iterable[type[T]],
        sibling: Callable[[], Registry[Any]] | None = None,
    ) -> None:
        self.group, self.base, self._sibling = group, base, sibling
        self.builtin: dict[str, type[T]] = {_code(kind): kind for kind in builtin}

    def __getitem__(self, code: str) -> type[T]:
        kinds = self.builtin if code in self.builtin else self.added
        if code not in kinds:
            self.check(code)
        return kinds[code]

    def __contains__(self, code: object) -> bool:
        return code in self.builtin or code in self.added

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.added

    def __len__(self) -> int:
        return len(self.builtin) + len(self.added)

    def __repr__(self) -> str:
        return f"Registry({self.group!r}, {list(self.builtin)})"

    @property
    def added(self) -> dict[str, type[T]]:
        """Classes of installed packages that can be used; imports these packages."""
        return self._installed[0]

    @property
    def refused(self) -> tuple[PluginError, ...]:
        """An error for each class of an installed package that cannot be used."""
        return tuple(error for _, error in self._installed[1])

    def check(self, code: str | None = None) -> None:
        """Raises `PluginError`, with the name of the package, if a class cannot be used.

        Args:
            code: Code of the class, in any case; any class by default.
        """
        for refused, error in self._installed[1]:
            if code is None or refused.casefold() == code.casefold():
                raise error

    @cached_property
    def _installed(self) -> tuple[dict[str, type[T]], tuple[tuple[str, PluginError], ...]]:
        """Classes of installed packages by code, and errors for those that cannot be used.

        If two packages have the same code, neither class can be used: which one is meant is not known.
        """
        registries = [self, *([] if self._sibling is None else [self._sibling()])]
        bases = tuple(registry.base for registry in registries)
        owners = {code.casefold(): "mutiny" for registry in registries for code in registry.builtin}
        kinds: dict[str, type[T]] = {}
        refused: list[tuple[str, PluginError]] = []
        for entry in sorted(entry_points(group=self.group), key=lambda entry: (_package(entry), entry.name)):
            try:
                kind = _loaded(entry, bases)
                owner = owners.setdefault(entry.name.casefold(), _package(entry))
                if owner != _package(entry):
                    fix = f"Remove {'it' if owner == 'mutiny' else 'one of them'}, or change the name."
                    raise _refused(entry, f"a name that {owner} does not use", fix)
            except PluginError as error:
                refused.append((entry.name, error))
                continue
            if issubclass(kind, self.base):
                kinds[entry.name] = kind
        unusable = {code.casefold() for code, _ in refused}
        return {code: kind for code, kind in kinds.items() if code.casefold() not in unusable}, tuple(refused)


class JoinedRegistry(Mapping[str, type[Any]]):
    """Several registries as one mapping: the built-in classes of all, then those that packages add."""

    def __init__(self, *registries: Registry[Any]) -> None:
        self.registries = registries

    def __getitem__(self, code: str) -> type[Any]:
        for kinds in self._parts():
            if code in kinds:
                return kinds[code]
        kind: type[Any] = self.registries[0][code]  # raises: the code is unknown, or its class cannot be used
        return kind

    def __contains__(self, code: object) -> bool:
        return any(code in kinds for kinds in self._parts())

    def __iter__(self) -> Iterator[str]:
        for kinds in self._parts():
            yield from kinds

    def __len__(self) -> int:
        return sum(map(len, self.registries))

    def _parts(self) -> Iterator[dict[str, type[Any]]]:
        yield from (registry.builtin for registry in self.registries)
        yield from (registry.added for registry in self.registries)


def _code(kind: Any) -> str:
    code: str = kind.code
    return code


def _package(entry: EntryPoint) -> str:
    return f"{entry.dist.name} {entry.dist.version}" if entry.dist else entry.value


def _refused(entry: EntryPoint, expected: str, fix: str) -> PluginError:
    return PluginError("package", f"{_package(entry)}, {entry.group}: {entry.name} = {entry.value}", expected, fix)


def _loaded(entry: EntryPoint, bases: tuple[type[Any], ...]) -> type[Any]:
    names = " or ".join(base.__name__ for base in bases)
    try:
        kind = entry.load()
    except Exception as error:  # a package may fail in any way while it is imported
        message = " ".join(f"{type(error).__name__}: {error}".split())
        raise _refused(
            entry, f"a class that can be imported, got {message}", "Update or uninstall the package."
        ) from error
    if not isinstance(kind, type) or not issubclass(kind, bases):
        raise _refused(entry, f"a subclass of {names}", "Correct the entry point, or uninstall the package.")
    if getattr(kind, "code", None) != entry.name:
        fix = "Use the code as the name of the entry point."
        raise _refused(entry, f"a class with the code {entry.name!r}, got {getattr(kind, 'code', None)!r}", fix)
    missing = _missing(kind, next(base for base in bases if issubclass(kind, base)))
    if missing:
        fix = "Add what is missing, or uninstall the package."
        raise _refused(entry, f"a class with {' and '.join(missing)}", fix)
    return kind


def _missing(kind: type[Any], base: type[Any]) -> list[str]:
    """What a class must define and does not: texts that its base class declares without a value, and methods."""
    declared = [name for name in inspect.get_annotations(base) if not hasattr(base, name)]
    texts = [name for name in declared if not isinstance(getattr(kind, name, None), str)]
    return [*texts, *(f"{name}()" for name in sorted(getattr(kind, "__abstractmethods__", ())))]
