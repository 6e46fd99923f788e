"""Results as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mutiny.reports.files import write_text


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes ``value``, whole or not at all. NaN is refused."""
    write_text(path, json.dumps(value, indent=2, allow_nan=False) + "\n")
