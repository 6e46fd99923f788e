"""Characters that act are shown; all others stay."""

import shlex
import subprocess
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mutiny.core.errors import BadInput, JobFailed
from mutiny.core.printable import UNPRINTABLE, printable, quoted

ACTING = ["\x00", "\x07", "\x1b", "\r", "\x7f", "\x80", "\x9b", "\x9f"]
ACTING += [chr(number) for number in (*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C)]
ACTING += ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u2028", "\u2029", "\ud800", "\udcff", "\U000e0041"]


@pytest.mark.parametrize("char", ACTING, ids=lambda char: f"U+{ord(char):04X}")
def test_what_acts_is_shown_as_python_writes_it(char):
    shown = printable(f"a{char}b")
    assert shown.isascii()
    assert shown.isprintable()
    assert eval(f"'{shown}'") == f"a{char}b"


SEEN = ["", "plain", "é ß 日本語 ελ עברית عربي", "🙂 ✓ \u2013 \u2026", "a\nb\tc", "soft\xadhyphen", "a\\x1b"]


@pytest.mark.parametrize("text", SEEN)
def test_what_is_seen_stays(text):
    assert printable(text) == text


def test_breaks_stay_only_where_they_may():
    assert printable("a\n\tb", breaks=False) == "a\\n\\tb"


@given(st.text(st.characters()))
def test_nothing_that_acts_is_left_whatever_the_text(text):
    shown = printable(text)
    assert not UNPRINTABLE.search(shown)
    assert printable(shown) == shown
    assert {char for char in shown if unicodedata.category(char) in ("Cc", "Cs", "Zl", "Zp")} <= {"\n", "\t"}


@pytest.mark.parametrize("name", ["a.mutiny", "it's", "a b", "\x1b[2J", "tab\tnew\nline", "'\x1b'\\n", "\u202egpj.exe"])
def test_a_quoted_word_is_printable_and_means_the_same(name):
    word = quoted(name)
    assert printable(word, breaks=False) == word
    said = subprocess.run(["bash", "-c", f"printf %s {word}"], capture_output=True, check=True).stdout
    assert said == name.encode()
    assert word == shlex.quote(name) or not name.isprintable()


def test_messages_of_errors_are_printable():
    evil = "\x1b[2J\u202ex\ny"
    assert str(BadInput("file", evil, "a file")) == "file=\\x1b[2J\\u202ex\\ny: expected a file."
    assert str(JobFailed(evil, "no\x07")) == "\\x1b[2J\\u202ex\ny: no\\x07"
    assert BadInput("file", evil, "a file").value == evil
