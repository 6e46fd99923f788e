"""Small campaigns into which faults are injected: calls from Python, and command lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mutiny
from torture.steps import networks


@dataclass(frozen=True)
class PythonCall:
    """A call of a verb.

    Attributes:
        make: Function of the file of the store, the folder of originals and further arguments.
        network: Function that returns the subject.
    """

    make: Callable[..., Any]
    network: Callable[[], mutiny.Subject] = networks.ready

    def run(self, store: Path, originals: Path, **more: Any) -> dict[str, Any]:
        """The result without its times."""
        told = self.make(self.network(), store=store, folder=originals, batch_size=200, **more).to_json()
        return {name: value for name, value in told.items() if name != "timing"}


PYTHON = {
    "notice": PythonCall(lambda subject, **more: mutiny.assess(subject, operators="WI", **more)),
    "muff": PythonCall(
        lambda subject, **more: mutiny.assess(
            subject, method="muff", operators="WI", search=mutiny.Search(max_probes=2), **more
        )
    ),
    "select": PythonCall(lambda subject, **more: mutiny.select(subject, "deepgini,random,kill-rate", **more)),
    "trained": PythonCall(lambda subject, **more: mutiny.select(subject, "deepgini,random", **more), networks.trained),
}
"""Calls from Python by name; ``notice`` has the most jobs, and so the most calls of the store."""

COMMANDS = {
    "command-select": ("select", "trained", "--compare", "deepgini,random"),
    "command-assess": ("assess", "ready", "--operators", "WI"),
}
"""Verb, subject and options of command lines."""


def command_line(name: str, folder: Path) -> list[str]:
    """The arguments of a command, with its store and its output in a folder."""
    verb, subject, *options = COMMANDS[name]
    files = ["--store", str(folder / "a.mutiny"), "--json", str(folder / "a.json")]
    return [verb, f"{networks.__file__}:{subject}", *options, "--batch-size", "200", "--quiet", *files]


def resume_line(folder: Path) -> list[str]:
    """The arguments of ``mutiny resume`` for the same files."""
    return ["resume", str(folder / "a.mutiny"), "--quiet", "--json", str(folder / "a.json")]
