"""The commands of verbs: a function with the verb's own options, and the options that all verbs share."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, get_type_hints

import typer
from typer.models import OptionInfo

from mutiny.cli.errors import in_options
from mutiny.cli.loading_message import loading
from mutiny.cli.options import PANELS, SHARED, SubjectName
from mutiny.cli.settings import Settings
from mutiny.core.errors import BadInput
from mutiny.core.limits import limited

if TYPE_CHECKING:
    from rich.console import Console

COMMANDS: dict[str, VerbCommand] = {}
"""Commands of verbs by name; these can be stored and resumed."""


@dataclass(frozen=True)
class VerbCommand:
    """The command of a verb.

    Args:
        function: Function that runs the verb, from an `Invocation` and the verb's own options.
        own: Names of the verb's own options.
        parameters: All options by name, in the order of the help, and the subject.
        aliases: Options by the name of the Python argument that they fill, where the names differ.
    """

    function: Callable[..., Any]
    own: frozenset[str]
    parameters: Mapping[str, inspect.Parameter]
    aliases: Mapping[str, str]

    @property
    def name(self) -> str:
        """Name of the verb."""
        return self.function.__name__

    @property
    def arguments(self) -> list[str]:
        """Names of the parameters without a flag, in their order: the subject, and what it is compared with."""
        return [name for name, parameter in self.parameters.items() if parameter.default is inspect.Parameter.empty]

    @property
    def flags(self) -> dict[str, str]:
        """Command-line names of the parameters, such as ``--k-max``."""
        return {name: _flag(parameter) for name, parameter in self.parameters.items()}

    def run(self, options: Mapping[str, Any], console: Console | None = None) -> Any:
        """Run the command.

        Args:
            options: Values of options, and the subject; missing options have their defaults.
            console: Console for the result.
        """
        defaults = {
            name: parameter.default for name, parameter in self.parameters.items() if name not in self.arguments
        }
        values = {**defaults, **options}
        with loading(values["quiet"]):
            import_module(f"mutiny.verbs.{self.name}.{self.name}")
            from mutiny.cli.invocation import STOPPED, Invocation
        invocation = Invocation(self.name, values, console)
        try:
            with limited(values["limit"]):
                result = self.function(invocation, **{name: values[name] for name in self.own})
        except BadInput as error:
            flags = self.flags
            if "inputs" in flags and values["inputs"] is None:
                flags["inputs"] = "test inputs of SUBJECT"
            if "method" in flags and values.get("compare") is not None:
                flags["method"] = flags["compare"]
            raise in_options(error, self.name, flags, invocation.aliases(self.aliases)) from error
        if invocation.stopped:
            raise typer.Exit(STOPPED)
        return result

    def callback(self) -> Callable[..., None]:
        """The function that typer turns into a command."""

        def command(**options: Any) -> None:
            self.run(options)

        command.__name__, command.__doc__ = self.name, self.function.__doc__
        command.__signature__ = inspect.Signature(list(self.parameters.values()))  # type: ignore[attr-defined]
        command.__annotations__ = {name: parameter.annotation for name, parameter in self.parameters.items()}
        return command


def verb(
    *settings: Settings,
    aliases: Mapping[str, str] | None = None,
    shared: Mapping[str, tuple[Any, Any]] | None = None,
    subject: Any = SubjectName,
) -> Callable[[Callable[..., Any]], VerbCommand]:
    """Turn a function of an `Invocation` and the verb's own options into the command of the verb.

    Args:
        settings: Dataclasses that are filled by further options.
        aliases: Options by the name of the Python argument that they fill, where the names differ.
        shared: Type and default of shared options that differ from those of other verbs.
        subject: Type of the first argument.
    """

    def decorate(function: Callable[..., Any]) -> VerbCommand:
        own = list(inspect.signature(function).parameters.values())[1:]
        # The annotation of the result is left out: it names a class whose module imports PyTorch.
        texts: Any = SimpleNamespace(__annotations__={parameter.name: parameter.annotation for parameter in own})
        hints = get_type_hints(texts, function.__globals__, include_extras=True)
        given = [parameter.replace(annotation=hints[parameter.name]) for parameter in own]
        arguments = [parameter for parameter in given if parameter.default is inspect.Parameter.empty]
        options = given[len(arguments) :]
        options += [parameter for dataclass_ in settings for parameter in dataclass_.parameters()]
        options += [_parameter(name, *hint) for name, hint in {**SHARED, **(shared or {})}.items()]
        options.sort(key=lambda parameter: PANELS.index(_option_of(parameter).rich_help_panel))
        parameters = {
            "subject": _parameter("subject", subject, inspect.Parameter.empty),
            **{each.name: each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in (*arguments, *options)},
        }
        command = VerbCommand(function, frozenset(parameter.name for parameter in own), parameters, aliases or {})
        COMMANDS[command.name] = command
        return command

    return decorate


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _option_of(parameter: inspect.Parameter) -> OptionInfo:
    return next(info for info in parameter.annotation.__metadata__ if isinstance(info, OptionInfo))


def _flag(parameter: inspect.Parameter) -> str:
    """The long name of an option, or that of an argument. Typer stores the first of several names as the default."""
    if parameter.default is inspect.Parameter.empty:
        return str(parameter.annotation.__metadata__[0].metavar)
    info = _option_of(parameter)
    flags = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
    return next(
        (flag.partition("/")[0] for flag in flags if flag.startswith("--")), f"--{parameter.name.replace('_', '-')}"
    )
