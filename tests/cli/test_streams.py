"""Standard output and error that cannot be written: no bug, and never the exit code of a missed bar."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutiny.cli.streams import SafeStream

FULL = Path("/dev/full")
needs_full = pytest.mark.skipif(not FULL.exists(), reason="needs a device that is full")
TYPED = [["--help"], ["--version"], ["assess", "--help"], ["operators", "--help"]]
COMPLETION = {"_MUTINY_COMPLETE": "complete_bash", "COMP_WORDS": "mutiny ", "COMP_CWORD": "1"}


def mutiny(*arguments, more=None, **streams):
    command = [sys.executable, "-m", "mutiny", *arguments]
    return subprocess.Popen(command, env={**os.environ, **(more or {})}, text=True, **streams)


@pytest.mark.parametrize("typed", TYPED, ids=" ".join)
def test_a_reader_that_is_gone_changes_nothing(typed):
    reading, writing = os.pipe()
    os.close(reading)
    with mutiny(*typed, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        assert process.communicate()[1] == ""
    assert process.returncode == 0


@needs_full
@pytest.mark.parametrize("typed", TYPED, ids=" ".join)
def test_a_full_disk_is_one_sentence(typed):
    with FULL.open("w") as full, mutiny(*typed, stdout=full, stderr=subprocess.PIPE) as process:
        told = process.communicate()[1]
    assert told == "mutiny: output=<the text>: expected a place to print it (No space left on device).\n"
    assert process.returncode == 2


@needs_full
def test_completion_without_a_reader_and_on_a_full_disk():
    reading, writing = os.pipe()
    os.close(reading)
    with mutiny(more=COMPLETION, stdout=writing, stderr=subprocess.PIPE) as process:
        os.close(writing)
        assert process.communicate()[1] == ""
    assert process.returncode == 0
    with FULL.open("w") as full, mutiny(more=COMPLETION, stdout=full, stderr=subprocess.PIPE) as process:
        assert "No space left" in process.communicate()[1]
    assert process.returncode == 2


@needs_full
def test_messages_that_cannot_be_written_keep_the_exit_code():
    with FULL.open("w") as full, mutiny("status", "nosuch", stderr=full) as process:
        assert process.wait() == 2


def test_streams_that_are_closed_from_the_beginning():
    for closing, typed, code in ((">&-", "--version", 0), ("2>&-", "status nosuch", 2), ("<&- >&- 2>&-", "--help", 0)):
        line = f'"{sys.executable}" -m mutiny {typed} {closing}'
        assert subprocess.run(["bash", "-c", line], capture_output=True, check=False).returncode == code, closing


def test_an_encoding_that_lacks_a_character():
    with mutiny("methods", "nss", more={"PYTHONIOENCODING": "ascii"}, stdout=subprocess.PIPE) as process:
        assert process.communicate()[0].isascii()
    assert process.returncode == 0


def test_the_code_of_a_missed_bar_stays_that_of_a_missed_bar(run, write, monkeypatch):
    subject = write("subject = blob_subject(1)")
    missed = run("assess", subject, "--operators", "GF", "--seeds", "1", "--fail-under", "1", "--strict", "--no-store")
    assert missed.code == 1


class Broken(io.StringIO):
    """A stream whose writes fail from the second one on."""

    def __init__(self, error):
        super().__init__()
        self.error, self.file = error, os.open(os.devnull, os.O_WRONLY)

    def write(self, text):
        if self.getvalue():
            raise self.error
        return super().write(text)

    def fileno(self):
        return self.file


@pytest.mark.parametrize("required", [True, False])
def test_a_stream_that_ends_while_it_is_written(required):
    broken = Broken(BrokenPipeError(32, "Broken pipe"))
    stream = SafeStream(broken, required)
    for _ in range(3):
        assert stream.write("abc") == 3
        stream.flush()
    assert broken.getvalue() == "abc"
    assert stream.error is None
    os.close(broken.file)


def test_other_errors_are_raised_once_and_only_where_the_text_is_required():
    for required in (True, False):
        broken = Broken(OSError(28, "No space left on device"))
        stream = SafeStream(broken, required)
        stream.write("abc")
        if required:
            with pytest.raises(OSError, match="No space"):
                stream.write("def")
        stream.write("ghi")
        assert stream.error is broken.error
        os.close(broken.file)


def test_typed_arguments_drive_no_terminal(run):
    evil = "a\u202eb\u200b\x9b"
    for typed in (["status", evil, evil], [f"--{evil}"], [evil], ["status", evil], ["methods", evil], ["resume", evil]):
        ran = run(*typed)
        assert ran.code == 2
        assert "\\u202e" in ran.err
        assert not {"\u202e", "\u200b", "\x9b"} & {*ran.out, *ran.err}, typed


@pytest.mark.parametrize(
    "more",
    [{"COMP_CWORD": "abc"}, {"COMP_CWORD": "-5"}, {"COMP_CWORD": "1", "COMP_WORDS": ""}, {"COMP_CWORD": ""}],
    ids=lambda more: repr(more["COMP_CWORD"]),
)
def test_variables_of_completion_that_bash_did_not_set_are_no_bug(more):
    with mutiny(more={**COMPLETION, **more}, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        told = process.communicate()[1]
    assert "Traceback" not in told
    assert process.returncode in (0, 2)


@pytest.mark.skipif(os.name == "nt", reason="Windows does not delete a folder that is in use")
@pytest.mark.parametrize("typed", [["status", "x.mutiny"], ["assess", "digits", "--no-store"], ["resume", "x.mutiny"]])
def test_a_deleted_current_folder_is_one_sentence(typed, tmp_path):
    gone = tmp_path / "gone"
    gone.mkdir()
    deleting = f"import os, sys; os.rmdir({str(gone)!r}); sys.argv[1:] = {typed!r}; from mutiny.cli import main; main()"
    told = subprocess.run([sys.executable, "-c", deleting], cwd=gone, capture_output=True, text=True)
    assert (
        told.stderr
        == "mutiny: folder=.: expected a current folder that exists. Change to another one, and try again.\n"
    )
    assert told.returncode == 2


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="needs a file that cannot be read")
def test_a_file_that_the_system_refuses_to_read_is_one_sentence(run):
    told = run("report", "/proc/self/mem")  # as a file on a disk with errors
    assert told.code == 2
    assert told.err.endswith(": expected a file that can be read (Input/output error).\n")
