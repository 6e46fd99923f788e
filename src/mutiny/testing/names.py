"""Contract of every class that users name: it has a code, a title and a source."""

from __future__ import annotations


def check_names(instance: object) -> None:
    """Raises `AssertionError` unless code, title and source are texts that are not empty."""
    for name in ("code", "title", "source"):
        value = getattr(instance, name, None)
        kind = type(instance).__name__
        assert value is not None, f"{kind}: the {name} is missing"
        assert isinstance(value, str), f"{kind}: the {name} is {value!r}, not text"
        assert value, f"{kind}: the {name} is empty"
