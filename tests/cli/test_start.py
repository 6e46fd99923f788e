"""What a user sees before PyTorch is there."""

import io
import os
import pty
import re
import subprocess
import sys

import pytest

from mutiny.cli.loading_message import MESSAGE, loading

CODE = """
import sys

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            sys.stderr.write("<torch>")
            sys.stderr.flush()
            sys.exit()  # what follows takes seconds

sys.meta_path.insert(0, Watch())
from mutiny.cli import main
main()
"""


def on_a_terminal(tmp_path, *arguments):
    """What a command writes to a terminal on stderr."""
    control, terminal = pty.openpty()
    command = [sys.executable, "-c", CODE, *arguments]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=terminal, cwd=tmp_path)
    os.close(terminal)
    told = b""
    while True:
        try:
            part = os.read(control, 4096)
        except OSError:  # what Linux says at the end of a terminal
            break
        if not part:
            break
        told += part
    os.close(control)
    process.wait()
    return told.decode()


def test_the_terminal_says_that_torch_is_loaded_before_it_is_and_clears_the_line(tmp_path):
    told = on_a_terminal(tmp_path, "assess", "--method", "muff", "nothing")
    assert told.index(MESSAGE) < told.index("<torch>")
    assert re.search(rf"<torch>.*\r {{{len(MESSAGE)}}}\r", told, re.DOTALL)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("quiet", "told"), [(False, MESSAGE), (True, "")])
def test_a_quiet_command_says_nothing(monkeypatch, quiet, told):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    monkeypatch.setattr(sys, "stderr", Terminal())
    with loading(quiet):
        assert sys.stderr.getvalue() == told
    assert sys.stderr.getvalue() == told + ("" if quiet else f"\r{' ' * len(MESSAGE)}\r")


def test_nothing_is_said_without_a_terminal(run):
    assert run("measures").err == ""


def test_python_m_mutiny_is_the_command(tmp_path):
    said = [
        subprocess.run(
            [*command, "assess", "--method", "muff", "--help"], capture_output=True, text=True, check=True, cwd=tmp_path
        ).stdout
        for command in ([sys.executable, "-m", "mutiny"], [sys.executable, "-c", "from mutiny.cli import main; main()"])
    ]
    assert said[0] == said[1]
    assert "Usage: mutiny assess" in said[0]
