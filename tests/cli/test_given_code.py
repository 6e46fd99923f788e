"""Crashes of code that mutiny was given: its lines and a sentence, not a bug of mutiny."""

import pytest

QUICK = ("--operators", "WI", "--precision", "0.3", "--no-store")
OWN = {
    "build": (
        "def build():\n    raise KeyError('encoder')\n\n\n"
        "subject = mutiny.Subject(recipe=mutiny.Recipe(build), task=mutiny.Classification(3), train=blobs(), "
        "test=blobs())",
        "raised KeyError: 'encoder'",
        "build",
    ),
    "build that calls a library": (
        "def build():\n    return nn.Linear(3, int(np.ones(3) @ np.ones(2)))\n\n\n"
        "subject = mutiny.Subject(recipe=mutiny.Recipe(build), task=mutiny.Classification(3), train=blobs(), "
        "test=blobs())",
        "raised ValueError: matmul",
        "build",
    ),
}


@pytest.mark.parametrize("name", OWN)
def test_crashes_of_given_code_are_told_as_such(name, run, write):
    body, sentence, function = OWN[name]
    ran = run("assess", "--method", "muff", write(body), *QUICK)
    assert ran.code == 2, ran.err
    *lines, last = ran.err.splitlines()
    assert last.startswith("mutiny: mine.py, line ")
    assert sentence in last
    assert f"in {function}" in lines[0]
    assert not any("src/mutiny" in line for line in lines[:1])


def test_a_bug_is_a_bug(run, write, monkeypatch):
    """An error that comes from mutiny's own code is not blamed on the user."""
    import mutiny.verbs.assess.assess as ours

    monkeypatch.delattr(ours, "Runtime")
    ran = run("assess", "--method", "muff", write("subject = blob_subject()"), *QUICK)
    assert ran.code == 70
    assert "bug in mutiny" in ran.err
