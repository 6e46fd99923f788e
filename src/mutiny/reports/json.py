"""Results as JSON files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mutiny.reports.files import replacing


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Writes ``value``, whole or not at all. NaN is refused."""
    with replacing(path) as part:
        part.write_text(json.dumps(value, indent=2, allow_nan=False) + "\n", encoding="utf-8")
