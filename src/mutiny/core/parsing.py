"""Parsing of text such as ``WI,NI(ratio=0.1, direction=incoming)`` into the instances it names, and back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from typing import Any

from mutiny.core.errors import BadInput

ITEM = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:\(([^()]*)\))?\s*(?:,|$)")


@dataclass(frozen=True)
class Names:
    """Frozen dataclasses by the names that users type.

    Args:
        argument: Plural noun for the classes in messages, e.g. ``operators``.
        base: Base class or classes. Their instances are accepted too, even if their class is not in ``kinds``.
        kinds: Classes by name.
        example: Example of a text with parameters.
        command: Command that explains each class; empty if there is none.
        takes_several: Whether the user's argument is called by the plural too, because it takes several.
        called: Name of the user's argument; by default the plural or the singular of ``argument``.
    """

    argument: str
    base: type[Any] | tuple[type[Any], ...]
    kinds: Mapping[str, type[Any]]
    example: str
    command: str = ""
    takes_several: bool = False
    called: str = ""

    @property
    def _name(self) -> str:
        return self.called or (self.argument if self.takes_several else self.argument[:-1])

    def parse(self, wanted: str | Iterable[Any]) -> tuple[Any, ...]:
        """Instances from names, text with parameters, instances, or a mixture of them."""
        several = wanted if isinstance(wanted, str | Iterable) else [wanted]
        items = self._split(several) if isinstance(several, str) else list(several)
        instances = [instance for item in items for instance in self._instances(item)]
        if not instances:
            raise BadInput(self._name, repr(wanted), "at least one of " + ", ".join(self.kinds))
        return tuple(instances)

    def _instances(self, item: Any) -> list[Any]:
        if isinstance(item, self.base):
            return [item]
        if not isinstance(item, str):
            some = next(iter(self.kinds))
            raise BadInput(self._name, repr(item), f"codes such as {some!r}, or {self.argument[:-1]} instances")
        return [self._instance(part) for part in self._split(item)]

    def _split(self, text: str) -> list[str]:
        items, position = [], 0
        while position < len(text.rstrip()):
            match = ITEM.match(text, position)
            if match is None:
                raise BadInput(self._name, repr(text), f"codes with optional parameters, such as {self.example}")
            items.append(match.group().strip().rstrip(","))
            position = match.end()
        return items

    def _instance(self, item: str) -> Any:
        match = ITEM.match(item)
        given, text = match.groups() if match else (item, None)
        code = next((name for name in self.kinds if name.casefold() == given.casefold()), given)
        try:
            kind = self.kinds[code]
        except KeyError:
            raise self._unknown(item, given) from None
        names = {field.name: str(field.type) for field in fields(kind)}
        settings: dict[str, Any] = {}
        for pair in (part for part in (text or "").split(",") if part.strip()):
            name, equals, value = (piece.strip() for piece in pair.partition("="))
            if not equals or name not in names:
                known = f"a name among {', '.join(names)}" if names else "no parameters, because it has none"
                raise BadInput(f"{code} parameter", repr(pair.strip()), f"name=value with {known}")
            settings[name] = _value(value, names[name], f"{code} {name}")
        return kind(**settings)

    def _unknown(self, item: str, given: str) -> BadInput:
        near = get_close_matches(given.casefold(), [name.casefold() for name in self.kinds], 1)
        similar = [name for name in self.kinds if name.casefold() in near]
        hint = f"`{self.command}` explains each." if self.command else ""
        if similar:
            hint = f"Did you mean {similar[0]}?"
        return BadInput(self._name, repr(item.strip()), f"one of {', '.join(self.kinds)}", hint)


def described(instance: Any, code: str, without: str | None = None) -> str:
    """The shortest text that parses to the instance; the parameter ``without`` is left out."""
    shown = []
    for field in fields(instance):
        value = getattr(instance, field.name)
        default = field.default_factory() if field.default_factory is not MISSING else field.default
        if value != default and field.name != without:
            shown.append(f"{field.name}={'+'.join(map(str, value)) if isinstance(value, tuple) else value}")
    return code + (f"({', '.join(shown)})" if shown else "")


def parameters_of(instance: Any) -> dict[str, Any]:
    """Parameters of a dataclass by name, ready for JSON: tuples become lists."""
    values = {field.name: getattr(instance, field.name) for field in fields(instance)}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


def _value(text: str, kind: str, argument: str) -> Any:
    """The value of ``text`` for a field whose annotation is ``kind``.

    >>> _value("3", "str | None", "LR layer"), _value("none", "str", "GF clip"), _value("a+b", "tuple[str, ...]", "")
    ('3', 'none', ('a', 'b'))
    >>> _value("12", "int", ""), _value("0.5+2", "tuple[float, ...]", "")
    (12, (0.5, 2.0))
    """
    if kind.endswith("None") and text.lower() == "none":
        return None
    if kind.startswith("tuple"):
        inner = kind.partition("[")[2].partition(",")[0]
        return tuple(_value(part.strip(), inner, argument) for part in text.split("+"))
    if kind.startswith(("str", "Literal")) or kind[:1].isupper():
        return text.strip("'\"")
    if kind == "bool":
        if text.lower() not in ("true", "false"):
            raise BadInput(argument, repr(text), "true or false")
        return text.lower() == "true"
    whole = kind.startswith("int")
    try:
        return int(text) if whole else float(text)
    except ValueError:
        raise BadInput(argument, repr(text), "a whole number" if whole else "a number") from None
