import pytest

from mutiny.reports.files import replacing
from mutiny.reports.json import write_json


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
