"""Results as JSON files."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from mutiny.errors import BadInput


def check_writable(path: Path, option: str) -> None:
    """Raises `BadInput` now if ``path`` could not be written later."""
    folder = path.resolve().parent
    if path.is_dir() or not folder.is_dir() or not os.access(folder, os.W_OK):
        raise BadInput(option, path, "a file in an existing folder that can be written")


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes ``value``, whole or not at all. NaN is refused."""
    part = path.with_name(f".{path.name}.part")
    try:
        part.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
