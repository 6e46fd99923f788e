from pathlib import Path

import pytest

from mutiny.core.errors import BadInput
from mutiny.reports.files import check_distinct, replacing, write_json


def write_half(path, error):
    with replacing(path) as part:
        part.write_text("half of the n")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, error):
    path = tmp_path / "result"
    path.write_text("old")
    with pytest.raises(error):
        write_half(path, error)
    assert [p.name for p in tmp_path.iterdir()] == ["result"]
    assert path.read_text() == "old"
    with replacing(path) as part:
        part.write_text("new")
    assert [p.name for p in tmp_path.iterdir()] == ["result"]
    assert path.read_text() == "new"


def test_nan_is_refused_and_nothing_is_written(tmp_path):
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "result", {"value": float("nan")})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", ["/dev/full", "/proc/x.json"])
def test_what_the_system_refuses_is_a_sentence(path):
    with pytest.raises(BadInput, match=f"file={path}: expected a place that can be written to. The system says: No"):
        write_json(Path(path), {"value": 1})


def test_a_full_disk_leaves_nothing(tmp_path):
    with pytest.raises(BadInput, match="No space left"):
        write_half(tmp_path / "result", OSError(28, "No space left on device"))
    assert list(tmp_path.iterdir()) == []


def test_two_results_in_one_file(tmp_path):
    check_distinct({"--json": tmp_path / "a", "--save": tmp_path / "b", "--grid": None})
    with pytest.raises(BadInput, match="another file than that of --json"):
        check_distinct({"--json": tmp_path / "a", "--save": tmp_path / "c" / ".." / "a"})
