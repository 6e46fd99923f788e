"""Words of commands that users copy into a shell."""

from __future__ import annotations

import shlex


def quoted(word: object) -> str:
    r"""A word that a shell takes as it is, whatever is in it; characters that cannot be seen become escapes.

    >>> quoted("digits"), quoted("x; rm -rf ~"), quoted("two\nlines")
    ('digits', "'x; rm -rf ~'", "'two\\nlines'")
    """
    seen = (letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in str(word))
    return shlex.quote("".join(seen))
