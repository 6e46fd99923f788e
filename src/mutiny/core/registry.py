"""Classes by the name that users type: built-in ones, and those that installed packages add by entry points.

A package adds an operator with three lines in its ``pyproject.toml``::

    [project.entry-points."mutiny.operators"]
    SF = "acme_faults:SignFlip"

The name on the left is the class's ``code``. Packages are imported when a name is not built in, or when all classes are
listed; importing mutiny imports none of them.
"""

from __future__ import annotations

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
        base: Base class; subclasses must have ``code``, ``title`` and ``source``.
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
        return self.builtin[code] if code in self.builtin else self.added[code]

    def __iter__(self) -> Iterator[str]:
        yield from self.builtin
        yield from self.added

    def __len__(self) -> int:
        return len(self.builtin) + len(self.added)

    def __repr__(self) -> str:
        return f"Registry({self.group!r}, {list(self.builtin)})"

    @property
    def added(self) -> dict[str, type[T]]:
        """Classes that installed packages add; imports these packages.

        Raises `PluginError`, with the name of the package, if one of them cannot be used.
        """
        kinds, refused = self._installed
        if refused:
            raise refused[0]
        return kinds

    def usable(self) -> list[type[T]]:
        """Built-in classes, and those of installed packages that can be used."""
        return [*self.builtin.values(), *self._installed[0].values()]

    @property
    def refused(self) -> tuple[PluginError, ...]:
        """An error for each class of an installed package that cannot be used."""
        return self._installed[1]

    @cached_property
    def _installed(self) -> tuple[dict[str, type[T]], tuple[PluginError, ...]]:
        """Classes of installed packages, and errors for those that cannot be used."""
        registries = [self, *([] if self._sibling is None else [self._sibling()])]
        bases = tuple(registry.base for registry in registries)
        owners = {code.casefold(): "mutiny" for registry in registries for code in registry.builtin}
        kinds: dict[str, type[T]] = {}
        refused: list[PluginError] = []
        for entry in sorted(entry_points(group=self.group), key=lambda entry: (_package(entry), entry.name)):
            try:
                kind = _loaded(entry, bases)
                owner = owners.setdefault(entry.name.casefold(), _package(entry))
                if owner != _package(entry):
                    fix = f"Remove {'it' if owner == 'mutiny' else 'one of them'}, or change the name."
                    raise _refused(entry, f"a name that {owner} does not use", fix)
            except PluginError as error:
                refused.append(error)
                continue
            if issubclass(kind, self.base):
                kinds[entry.name] = kind
        return kinds, tuple(refused)


class JoinedRegistry(Mapping[str, type[Any]]):
    """Several registries as one mapping: the built-in classes of all, then those that packages add."""

    def __init__(self, *registries: Registry[Any]) -> None:
        self.registries = registries

    def __getitem__(self, code: str) -> type[Any]:
        for kinds in self._parts():
            if code in kinds:
                return kinds[code]
        raise KeyError(code)

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
    return kind
