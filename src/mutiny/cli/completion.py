"""Completion of values in the shell, without importing PyTorch and without running the user's code."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Callable, Iterable, MutableMapping
from pathlib import Path

from mutiny.core.errors import BadInput
from mutiny.core.printable import printable

BUILTIN_SUBJECTS = (
    "digits mnist mnist/lenet5 mnist/lenet1 mnist/cnn fashion-mnist fashion-mnist/lenet5 fashion-mnist/lenet1 "
    "fashion-mnist/cnn cifar10 cifar10/resnet20 cifar10/vgg16"
)
OPERATORS = "WI NI GF WS NEB NAI NS LR LA LD AFR"
TRAINING_OPERATORS = (
    "TCL TRD TUD TAN TCO HNE HLR RCP HBS HDB LCH OCH OCG VRM ACH AAL ARM RAW RCW RRW RCD WCI WAB WRB DR LE DM DF NP "
    "LRs LAs AFRs"
)
METHODS = (
    "deepgini softmax margin entropy mc-dropout disagreement ats kill-rate prima-kill prima nss internal-gini dsa lsa "
    "mdsa mlsa mmdsa nac kmnc nbc snac tknc npc ces random"
)
MEASURES = "ochiai tarantula dstar jaccard op2 kulczynski2 ample wong3 zoltar ochiai2 barinel"
ATTACKS = "pgd fgsm carlini autoattack"
REPAIRS = "search scale tune"
TESTS = "auto glm welch mann-whitney wilcoxon paired-t fisher mcnemar"
EFFECTS = "auto cohen-d a12 cohen-g"
ENGINES = "serial processes ray"
ASSESS_METHODS = "notice muff"
ACTIVITIES = "above quantile scaled"
"""Built-in names. A test compares them with the registries, whose modules import PyTorch."""

SPLIT = "_MUTINY_SPLIT"
"""Environment variable with the part of the current word that bash keeps, because it splits words at colons."""


def words(names: str) -> Callable[[str], list[str]]:
    """A completion function for one of some names."""
    return lambda incomplete: _matching(names.split(), incomplete)


engines, tests, effects, repairs = map(words, (ENGINES, TESTS, EFFECTS, REPAIRS))
assess_methods, activities = map(words, (ASSESS_METHODS, ACTIVITIES))


def operators(incomplete: str) -> list[str]:
    """Operators, several with commas: ``WI,NI``."""
    return _listed([*OPERATORS.split(), *TRAINING_OPERATORS.split(), *_installed("operators")], incomplete, ",")


def operators_on_trained_models(incomplete: str) -> list[str]:
    """Operators without mutiny's own before training; only importing them would tell those of other packages apart."""
    return _listed([*OPERATORS.split(), *_installed("operators")], incomplete, ",")


def methods(incomplete: str) -> list[str]:
    """Selection methods, combined by a plus sign or several with commas."""
    return _listed([*METHODS.split(), *_installed("selectors")], incomplete, ",+")


def measures(incomplete: str) -> list[str]:
    """Suspiciousness measures."""
    return _matching([*MEASURES.split(), *_installed("measures")], incomplete)


def attacks(incomplete: str) -> list[str]:
    """Attacks, several with commas."""
    return _listed([*ATTACKS.split(), *_installed("attacks")], incomplete, ",")


def subjects(incomplete: str) -> list[str]:
    """Built-in subjects, and names in Python files: ``FILE.py:NAME``."""
    split = os.environ.get(SPLIT, "")
    path, colon, _ = f"{split}{incomplete}".rpartition(":")
    if colon:
        candidates = [f"{path}:{name}" for name in public_names(Path(path))]
    else:
        folder, slash, _ = incomplete.rpartition("/")
        files = sorted(Path(folder or ".").glob("*.py"))
        candidates = BUILTIN_SUBJECTS.split()
        candidates += [f"{folder}{slash}{file.name}:{name}" for file in files for name in subject_names(file)]
    return _matching([candidate.removeprefix(split) for candidate in candidates], incomplete)


def public_names(file: Path) -> list[str]:
    """Variables and functions that a Python file defines, without those that begin with an underscore."""
    return [name for name, _ in _definitions(file) if not name.startswith("_")]


def subject_names(file: Path) -> list[str]:
    """Variables and functions of a Python file that look like a subject: a call or an annotation names ``Subject``."""
    return [name for name, node in _definitions(file) if _mentions_subject(node)]


def join_split_words(environment: MutableMapping[str, str]) -> None:
    """Join the words that bash splits at colons and equals signs, as in ``FILE.py:NAME`` and ``--test=glm``.

    Bash replaces only the text after the last colon, so only that text is left as the current word.

    >>> environment = {"_MUTINY_COMPLETE": "complete_bash", "COMP_CWORD": "4",
    ...     "COMP_WORDS": chr(10).join(["mutiny", "assess", "mine.py", ":", "su"])}
    >>> join_split_words(environment)
    >>> environment["COMP_WORDS"].split(), environment["COMP_CWORD"], environment["_MUTINY_SPLIT"]
    (['mutiny', 'assess', 'su'], '2', 'mine.py:')
    """
    if environment.get("_MUTINY_COMPLETE") != "complete_bash":
        return
    number = environment.get("COMP_CWORD", "")
    if not re.fullmatch("[0-9]{1,9}", number) or "COMP_WORDS" not in environment:
        fix = "Bash sets them when it completes a word: unset _MUTINY_COMPLETE to run a command."
        raise BadInput("COMP_CWORD", repr(number[:60]), "the number of a word in COMP_WORDS", fix)
    typed = environment["COMP_WORDS"].split("\n")[: int(number) + 1]
    joined: list[str] = []
    glue = False
    for word in typed:
        separator = bool(joined) and word in (":", "=")
        if separator or (glue and joined):
            joined[-1] += word
        else:
            joined.append(word)
        glue = separator
    if joined and ":" in typed[-2:]:
        before, colon, joined[-1] = joined[-1].rpartition(":")
        environment[SPLIT] = before + colon
    environment["COMP_WORDS"], environment["COMP_CWORD"] = "\n".join(joined), str(len(joined) - 1)


def _matching(names: Iterable[str], incomplete: str) -> list[str]:
    return [name for name in names if name.startswith(incomplete) and printable(name, breaks=False) == name]


def _listed(names: Iterable[str], incomplete: str, separators: str) -> list[str]:
    """Completions of the last of several names, without the names before it."""
    before = re.match(rf".*[{separators}]", incomplete)
    prefix = before[0] if before else ""
    used = re.split(rf"[{separators}]", prefix)
    return [f"{prefix}{name}" for name in _matching(names, incomplete[len(prefix) :]) if name not in used]


def _installed(group: str) -> list[str]:
    """Names that other packages add by entry points."""
    from importlib.metadata import entry_points  # takes 20 ms, which every command would pay

    return [entry.name for entry in entry_points(group=f"mutiny.{group}")]


def _definitions(file: Path) -> list[tuple[str, ast.AST]]:
    """Names that a Python file defines at its top level, by their definitions; none if it cannot be read."""
    try:
        body = ast.parse(file.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    return [(name, node) for node in body for name in _defined(node)]


def _defined(node: ast.AST) -> list[str]:
    match node:
        case ast.FunctionDef(name=name):
            return [name]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
    return []


def _mentions_subject(node: ast.AST) -> bool:
    return any(
        (isinstance(part, ast.Name) and part.id == "Subject")
        or (isinstance(part, ast.Attribute) and part.attr == "Subject")
        for part in ast.walk(node)
    )
