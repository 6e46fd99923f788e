"""Options generated from the dataclasses that they fill.

Name, type, default and help text of such an option are those of the dataclass's field and of its entry under ``Args``
in the class's docstring. They are read from the source text: the modules of these dataclasses import PyTorch, which
takes seconds, and help and completion must not.
"""

from __future__ import annotations

import ast
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any

import typer

TYPES: dict[str, Any] = {
    "bool": bool,
    "int": int,
    "float": float,
    "str": str,
    "int | None": int | None,
    "float | None": float | None,
    "str | None": str | None,
}
"""Types of options by annotation; an option for any other field is text."""


@dataclass(frozen=True)
class DeclaredField:
    """A field of a dataclass, as its source declares it.

    Attributes:
        name: Name of the field.
        annotation: Annotation as text.
        default: Default value.
        help: First sentence of the field's entry in the class's docstring.
    """

    name: str
    annotation: str
    default: Any
    help: str


@dataclass(frozen=True)
class Settings:
    """A dataclass whose fields, all or some, are options of a command.

    Args:
        module: Module that defines the dataclass.
        name: Name of the dataclass.
        panel: Help panel of the options.
        options: Option names by field name, in the order of the help; every field under its own name by default.
        complete: Completion functions by option name.

    >>> rule = Settings("mutiny.verbs.assess.muff.kill_rule", "KillRule", "How to judge", {"alpha": "alpha"})
    >>> [(option.name, option.default) for option in rule.parameters()]
    [('alpha', 0.05)]
    >>> rule.filled({"alpha": 0.01}).alpha
    0.01
    """

    module: str
    name: str
    panel: str
    options: Mapping[str, str] | None = None
    complete: Mapping[str, Callable[[str], list[str]]] = field(default_factory=dict)

    def parameters(self) -> Iterator[inspect.Parameter]:
        """The options as parameters of a function."""
        declared = declared_fields(self.module, self.name)
        for name, option in self._names(declared).items():
            value = declared[name].default
            default = ",".join(map(str, value)) if isinstance(value, tuple) else value
            info = typer.Option(
                f"--{option.replace('_', '-')}",
                help=declared[name].help,
                rich_help_panel=self.panel,
                autocompletion=self.complete.get(option),
            )
            hint = Annotated[TYPES.get(declared[name].annotation, str), info]  # type: ignore[valid-type]
            yield inspect.Parameter(option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)

    def filled(self, values: Mapping[str, Any]) -> Any:
        """An instance of the dataclass, filled with the values of options."""
        names = self._names(declared_fields(self.module, self.name))
        return getattr(import_module(self.module), self.name)(**{name: values[names[name]] for name in names})

    def _names(self, declared: Mapping[str, DeclaredField]) -> Mapping[str, str]:
        return {name: name for name in declared} if self.options is None else self.options


def declared_fields(module: str, name: str) -> dict[str, DeclaredField]:
    """The fields of a dataclass of this package, read from the source text.

    >>> declared_fields("mutiny.verbs.assess.muff.search", "Search")["k_max"].default
    5
    """
    package, _, path = module.partition(".")
    source = pkgutil.get_data(package, f"{path.replace('.', '/')}.py") or b""
    tree = ast.parse(source)
    constants = {
        statement.targets[0].id: statement.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
    }
    declared = next(part for part in tree.body if isinstance(part, ast.ClassDef) and part.name == name)
    texts = first_sentences(ast.get_docstring(declared) or "")
    fields = {}
    for part in declared.body:
        if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and part.value is not None:
            if ast.unparse(part.annotation).startswith("ClassVar"):
                continue  # a fact about the class, not a field
            value = constants[part.value.id] if isinstance(part.value, ast.Name) else part.value
            key = part.target.id
            fields[key] = DeclaredField(key, ast.unparse(part.annotation), ast.literal_eval(value), texts.get(key, ""))
    return fields


def first_sentences(docstring: str) -> dict[str, str]:
    r"""The first sentence about each argument under ``Args`` in a docstring, without markup.

    >>> first_sentences("A rule.\n\nArgs:\n    alpha: Significance\n        level. Usually ``0.05``.\n\n>>> 1")
    {'alpha': 'Significance level.'}
    """
    section = docstring.partition("Args:\n")[2].partition("\n\n")[0]
    entries = re.findall(r"^    (\w+): (.*(?:\n {8,}.*)*)", section, re.MULTILINE)
    return {name: re.split(r"(?<=\.)\s", " ".join(text.split()))[0].replace("``", "") for name, text in entries}
