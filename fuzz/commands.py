"""Command lines with odd values, repeated, unknown and missing options.

They run no long work and write nothing outside of their folder: the subject refuses to run for long, values never name
a path elsewhere, and neither Ray nor many processes are asked for.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from random import Random

from fuzz import subject
from mutiny.cli import main
from mutiny.cli.command import COMMANDS

WHOLE = """0 1 -1 2 3 0.5 1.5 -0.0 nan inf -inf 1e400 1e-400 5% 0% 101% abc none None true [] {} a,b , a+b fc1 WI WI(
GF(sd=2) GF,GF LA all -- - = x=y deepgini pgd ochiai cpu meta cuda cuda:99 test train linf 8/255 1/0 0,1 1,2,3 a/b a.png
a.npz a.json store.mutiny images.zip images assess.json plain.npz inputs.npy select:3 accuracy>=0.9 drop<=1pt
accuracy>=x ((( 10**9 1_000 0x10 1GB -1GB 9e9TB"""
ODD = ("", " ", "9" * 30, "9" * 5000, "\u0663", "\u202eabc", "\x1b[31m", "\udcff", "é" * 300, "a" * 5000, "a\nb", "a b")
VALUES = (*WHOLE.split(), *ODD)
FEW = ("0", "1", "-1", "1.5", "abc", "")
SAFE = {"workers": FEW, "threads": FEW, "engine": ("serial", "none", "")}
"""Values of options that could take the whole machine."""
SUBJECTS = "no digits:x fuzz.subject:no : a.py:b nosuch:subject mnist a:b:c os:name json:loads".split()
WORDS = ("status", "report", "resume", "operators", "methods", "measures", "nosuch", "--version", "--help", "-h", "")


def case(draw: Random, corpus: Path, folder: Path) -> Callable[[], None]:
    """Prepares a folder and returns how the command runs in it."""
    shutil.copyfile(corpus / "select.mutiny", folder / "store.mutiny")
    for name in ("assess.json", "plain.npz", "inputs.npy", "images.zip"):
        shutil.copyfile(corpus / name, folder / name)
    (folder / "images").mkdir()
    arguments = on_files(draw) if draw.random() < 0.25 else of_verb(draw)
    return lambda: run(arguments)


def run(arguments: list[str]) -> None:
    """Runs ``mutiny ARGUMENTS`` as its console command does, and raises `SystemExit`."""
    before, sys.argv = sys.argv, ["mutiny", *arguments]
    try:
        main()
    finally:
        sys.argv = before


def of_verb(draw: Random) -> list[str]:
    """The command of a verb, mostly with the subject of the fuzzer."""
    verb = COMMANDS[draw.choice([*COMMANDS])]
    given = f"{Path(subject.__file__).resolve()}:limited" if draw.random() < 0.8 else draw.choice(SUBJECTS)
    arguments = [verb.name, given]
    options = [name for name in verb.parameters if name not in ("subject", "address", "data")]
    for name in draw.sample(options, draw.choice([0, 1, 1, 2, 2, 3, 5])):
        right = verb.flags[name]
        flag = draw.choice([right] * 9 + [right + "x", right[:-1], right.upper()])
        value = draw.choice(SAFE.get(name, VALUES))
        if isinstance(verb.parameters[name].default, bool):
            arguments += [flag] if draw.random() < 0.8 else [f"{flag}={value}"]
        else:
            pair = [flag, value]
            arguments += draw.choice([pair, pair, [f"{flag}={value}"], pair * 2, [flag]])
    if "dry_run" in verb.parameters and draw.random() < 0.5:
        arguments.append("--dry-run")
    if draw.random() < 0.1:
        arguments.insert(draw.randrange(len(arguments) + 1), draw.choice([*VALUES, *WORDS]))
    return arguments


def on_files(draw: Random) -> list[str]:
    """A command on files, a list, or nonsense."""
    arguments = [draw.choice(WORDS)]
    for _ in range(draw.choice([0, 1, 1, 2, 3])):
        options = "--json -o --out --quiet --salvage --trust --workers=1 --help store.mutiny assess.json".split()
        arguments.append(draw.choice([*options, *VALUES]))
    return arguments
