"""What the machine refuses, such as a folder of another user, is no bug of mutiny."""

import errno
import os

import pytest

from mutiny.cli.errors import machine_sentence


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ENOSPC, errno.EMFILE])
def test_a_refusal_of_the_system_is_a_sentence_with_the_file(number):
    sentence = machine_sentence(OSError(number, os.strerror(number), "theirs/x.mutiny"))
    assert sentence.startswith("file=theirs/x.mutiny: expected a file or folder that can be used here.")
    assert sentence.endswith(f"The system says: {os.strerror(number)}.")


def test_an_error_without_a_file_is_a_sentence_without_one():
    sentence = machine_sentence(OSError(errno.EMFILE, "Too many open files"))
    assert "None" not in sentence
    assert sentence.endswith("The system says: Too many open files.")


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EBADF, errno.EINVAL, errno.EEXIST])
def test_what_may_be_a_mistake_of_mutiny_stays_a_bug(number):
    assert machine_sentence(OSError(number, os.strerror(number), "x")) == ""


def test_a_folder_of_another_user_is_a_sentence_on_the_command_line(run, monkeypatch, tmp_path):
    theirs = tmp_path / "theirs"
    theirs.mkdir(mode=0o000)
    if os.access(theirs, os.X_OK):
        pytest.skip("this user may enter every folder")
    told = run("status", theirs / "x.mutiny")
    assert told.code == 2
    assert "Permission denied" in told.err
    assert "bug" not in told.err
