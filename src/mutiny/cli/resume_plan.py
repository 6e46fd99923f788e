"""What ``mutiny resume`` would run, where, and what it would write: shown before anything is done."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutiny.campaigns.ownership import is_own, why_not_own
from mutiny.campaigns.stores.base import Campaign
from mutiny.cli.command import COMMANDS, VerbCommand
from mutiny.cli.paths import quoted_path
from mutiny.cli.stored_command import OUTPUTS, checked_command, command_line, files_with_code, from_stored, not_taken
from mutiny.core.checks import check_path
from mutiny.core.errors import BadInput
from mutiny.core.printable import quoted

ENGINE_OPTIONS = frozenset(["engine", "workers", "address"])
"""Options that determine where jobs run."""
LONGEST = 4000
"""Maximum number of characters of a line that is shown."""


@dataclass(frozen=True)
class ResumePlan:
    """A campaign's command, with the options that are given now.

    Args:
        file: Campaign file.
        campaign: Campaign to resume.
        given: Options of ``mutiny resume`` that replace stored ones, and files to write.
    """

    file: Path
    campaign: Campaign
    given: Mapping[str, Any]

    @property
    def command(self) -> Mapping[str, Any]:
        """The stored command."""
        assert self.campaign.command is not None
        return self.campaign.command

    @property
    def verb(self) -> VerbCommand:
        """The command's verb."""
        return COMMANDS[self.command["verb"]]

    @property
    def folder(self) -> Path | None:
        """Folder in which the command was given."""
        folder = self.command.get("folder")
        return None if folder is None else Path(folder)

    @property
    def options(self) -> dict[str, Any]:
        """Options of the command: stored ones, but files to write and addresses only as given now."""
        stored = from_stored(self.command)
        if ENGINE_OPTIONS & set(self.given):  # a new engine option may not fit the stored ones
            stored = {name: value for name, value in stored.items() if name not in ENGINE_OPTIONS}
        return {**stored, **self.given, "store": self.file.resolve(), "no_store": False}

    @property
    def left_out(self) -> list[str]:
        """Flags of files that the campaign was started with, and that are not given now."""
        names = [name for name in not_taken(self.command) if name in OUTPUTS and name not in self.given]
        return [self.verb.flags[name] for name in names]

    def check(self) -> None:
        """Raise `BadInput` for a command that this version does not know, or options that do not fit it."""
        checked_command(self.campaign.command, self.file)
        if self.folder is not None:
            check_path("folder", self.folder)
        for name in self.given:
            if name not in self.verb.parameters:
                fix = f"The campaign is one of `mutiny {self.verb.name}`, which has no such option."
                raise BadInput(f"--{name}", self.given[name], "an option of the campaign's command", fix)

    def check_place(self) -> None:
        """Raise `BadInput` if the campaign was started on a cluster, and it is not said where to resume it."""
        if self._needs_address:
            fix = "Addresses are not taken from a campaign file. Give it again, or --engine to resume elsewhere."
            raise BadInput("--address", None, "the Ray cluster on which the campaign was started", fix)

    def check_own(self) -> None:
        """Raise `BadInput` unless this user started the campaign, in a folder that is still there.

        In another folder, the same name of a module, or of a file that the subject reads, can be somebody else's.
        """
        shown = "what is shown above, with your rights"
        if is_own(self.campaign):
            if self._imports and self._place != (self.folder or self._place):
                expected = f"a campaign whose folder exists; {quoted(self.folder)} does not"
                fix = f"Here, resuming runs {shown}. If you trust the files in this folder, add --trust, once."
                raise BadInput("FILE", self.file, expected, fix)
            return
        fix = (
            f"{why_not_own(self.campaign)} Resuming runs {shown}. If you trust everybody "
            "who had the file, add --trust, once. To look at it without running anything: mutiny status, mutiny report."
        )
        raise BadInput("FILE", self.file, "a campaign that you started", fix)

    def lines(self) -> list[str]:
        """The description, a line each."""
        given = [f"--{name} {quoted(str(value))}" for name, value in self.options.items() if self._is_output(name)]
        described = {
            "command": command_line(self.command),
            "imports": ", ".join(map(quoted, self._imports)) or "nothing but mutiny",
            "folder": quoted(self._place),
            "jobs run": self._where(),
            "writes": ", ".join([quoted_path(self.file), *given]),
        }
        if self.left_out:
            described["but not"] = f"{', '.join(self.left_out)}: files to write are only taken from the command line"
        return [f"  {title:<9}{_cut(text)}" for title, text in described.items()]

    @property
    def _imports(self) -> list[str]:
        """Files and modules that the command imports; empty if everything in it is built in."""
        return files_with_code(self.command)

    @property
    def _place(self) -> Path:
        """The folder in which the command would run: the current one if that of the command does not exist."""
        return self.folder if self.folder is not None and self.folder.is_dir() else Path.cwd()

    @property
    def _needs_address(self) -> bool:
        return "address" in not_taken(self.command) and not ENGINE_OPTIONS & set(self.given)

    def _is_output(self, name: str) -> bool:
        return name in OUTPUTS and self.options[name] is not None

    def _where(self) -> str:
        engine, workers, address = (self.options.get(name) for name in ("engine", "workers", "address"))
        if self._needs_address:
            return "on Ray, at the --address that you give"
        if engine == "ray" or address is not None:
            where = address or os.environ.get("RAY_ADDRESS")
            return f"on Ray at {quoted(where)}" if where else "on a Ray cluster on this machine"
        if engine == "processes" or (engine is None and workers not in (None, 1)):
            return f"in {workers or 'as many'} processes" + " as there are cores" * (workers is None)
        return "in this process" if engine in (None, "serial") else f"on {quoted(str(engine))}"


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
