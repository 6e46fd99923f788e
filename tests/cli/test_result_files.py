import errno
import io
import os
import threading
from pathlib import Path

import pytest

from mutiny.cli.command import COMMANDS
from mutiny.cli.invocation import Invocation
from mutiny.core.errors import BadInput
from mutiny.reports.files import check_writable, replacing


@pytest.mark.parametrize("old", ["old", None])
def test_a_link_stays_and_its_target_is_written(tmp_path, old):
    (tmp_path / "far").mkdir()
    target, link = tmp_path / "far" / "target", tmp_path / "link"
    if old is not None:
        target.write_text(old)
    link.symlink_to(target)
    check_writable(link, "--json")
    with replacing(link) as part:
        part.write_text("new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert not target.is_symlink()
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["far", "link", "target"]


def test_a_pipe_is_written_to_and_stays(tmp_path):
    pipe, got = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: got.append(pipe.read_text()), daemon=True)
    reader.start()
    with replacing(pipe) as part:
        assert part == pipe
        part.write_text("new")
    reader.join(10)
    assert got == ["new"]
    assert pipe.is_fifo()


def test_a_name_too_long_for_the_unfinished_part_is_refused(tmp_path):
    check_writable(tmp_path / ("x" * 240), "--json")
    with replacing(tmp_path / ("x" * 240)) as part:
        part.write_text("fits")
    for name in ("x" * 241, "é" * 121, "x" * 300):
        with pytest.raises(BadInput, match="--json="):
            check_writable(tmp_path / name, "--json")


def test_one_file_for_two_results_is_refused_before_anything_runs(run, write, tmp_path):
    file = write("raise AssertionError('must not run')")
    ran = run(
        "assess", "--method", "muff", file, "--json", tmp_path / "out.npz", "--kills", Path(f"{tmp_path}/./out.npz")
    )
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == f"mutiny: --kills={tmp_path / 'out.npz'}: expected another file than that of --json.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["mine.py"]


class Full(io.StringIO):
    def write(self, text):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_full_disk_behind_the_output_gets_a_sentence(tmp_path, monkeypatch):
    options = {name: parameter.default for name, parameter in COMMANDS["select"].parameters.items()}
    options = {**options, "subject": "digits", "store": tmp_path / "a.mutiny"}
    monkeypatch.setattr("sys.stdout", Full())
    with pytest.raises(BadInput, match=r"a place to print it \(No space left on device\). The result is kept"):
        Invocation("select", options).show("text")
