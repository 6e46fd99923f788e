"""The report of ``pytest --mutiny`` as lines of text: the answer, then tests, then faults that no test notices."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence

from mutiny.core.printable import printable
from mutiny.reports.formatting import count, percent, several
from mutiny.reports.notice_sentences import bias_sentence, bins_sentence, cost_words, ends_of, named_fault, useless
from mutiny.testing.suite_matrix import CountedTest, counts, sufficient
from mutiny.testing.suite_records import FaultVerdict, JudgedFault, Reaction, SuiteResult
from mutiny.verbs.assess.cost_phrases import CostPhrases
from mutiny.verbs.assess.notice import NoticedBin

NAMED = 3
"""Missed faults of a bin that are named one by one."""
WIDEST = 46
"""Width of the column of tests."""


def headline(result: SuiteResult) -> str:
    """The answer in one sentence."""
    notice, said = result.notice, CostPhrases(result.notice.unit)
    judges = [test for test in result.tests if not test.left_out]
    which, notices = (f"{len(judges)} tests", "notice") if len(judges) != 1 else ("test", "notices")
    tried = sum(each.faults for each in notice.bins)
    if notice.rate is None or not tried:
        return f"Cannot tell what your {which} {notices}: {count(len(result.faults), 'fault')} tried, none decided."
    faults = f"{count(tried, 'fault')} that {said.cost(said.between(notice.bins[0].low, notice.bins[-1].high))}"
    share = percent(notice.rate)
    if useless(notice.interval):
        few = f"anything {ends_of(notice.interval)} is possible with so few. Use more --mutiny-faults."
        return f"Your {which} {notices} {share} of {faults}, but {few}"
    ends = notice.interval
    between = "no interval: too few" if ends is None else f"95%: {percent(ends.low)} to {percent(ends.high)}"
    return f"Your {which} {notices} {share} ({between}) of {faults}."


def suite_lines(result: SuiteResult, width: int = 80) -> Iterator[str]:
    """All lines of the report."""
    names = short_names(result)
    yield from _wrapped(headline(result), width)
    for sentence in filter(None, (bins_sentence(result.notice), bias_sentence(result.notice))):
        yield from _wrapped(sentence, width)
    yield ""
    table = counts(result.tests, result.faults)
    yield from _table(table, names, result.full)
    yield ""
    yield from _missed(result, width)
    for sentence in _sentences(result, table, names):
        yield from _wrapped(sentence, width)
    left_out = [test for test in result.tests if test.left_out]
    if left_out:
        yield f"Left out, because they cannot judge faults ({len(left_out)}):"
        for test in left_out:
            yield from _wrapped(f"{names[test.name]}: {test.left_out}", width, "  ")
    yield from _wrapped(f"Cost: {cost_words(result.notice)}.", width)
    for note in result.notes:
        yield from _wrapped(note, width)


def _table(table: Sequence[CountedTest], names: dict[str, str], full: bool) -> Iterator[str]:
    wide = min(WIDEST, max(len("test"), *(len(names[each.name]) for each in table)))
    columns = ("noticed", "alone", "by error") if full else ("noticed", "run on", "by error")
    yield f"  {'test':<{wide}}" + "".join(f"  {title:>8}" for title in columns)
    for each in table:
        name = names[each.name]
        name = name if len(name) <= wide else f"...{name[3 - wide :]}"
        cells = (each.noticed, each.alone if full else each.run, each.errors)
        yield f"  {name:<{wide}}" + "".join(f"  {cell or '-':>8}" for cell in cells)


def _missed(result: SuiteResult, width: int) -> Iterator[str]:
    """Faults that no test notices, by bin, the costliest first."""
    missed = [tried for tried in result.faults if tried.verdict is FaultVerdict.MISSED]
    if missed:
        yield "No test notices these faults, the costliest first:"
    said = CostPhrases(result.notice.unit)
    for bin_ in reversed(result.notice.bins):
        inside = [tried for tried in missed if bin_.low <= tried.fault.cost < bin_.high][::-1]
        if inside:
            yield from _wrapped(f"{_of_bin(bin_, inside)} at {said.between(bin_.low, bin_.high)}:", width, "  ")
            for tried in inside[:NAMED]:
                yield from _wrapped(named_fault(tried.fault, result.notice.unit), width, "    ")
            if len(inside) > NAMED:
                yield f"    and {len(inside) - NAMED} more"


def _of_bin(bin_: NoticedBin, missed: Sequence[JudgedFault]) -> str:
    return f"{len(missed)} of {bin_.faults}"


def _sentences(result: SuiteResult, table: Sequence[CountedTest], names: dict[str, str]) -> Iterator[str]:
    """What follows for tests, and faults that are undecided."""
    idle = [names[each.name] for each in table if not each.noticed]
    if result.full and idle:
        yield f"Never notice anything: {several(idle, 8)}."
    elif idle:
        yield f"Noticed none of the faults that they were run on: {several(idle, 8)}."
    if result.full:
        dispensable = [each for each in table if each.noticed and not each.alone]
        small = [names[result.tests[column].name] for column in sufficient(result.faults)]
        if dispensable:
            only = several([names[each.name] for each in dispensable], 8)
            yield f"Notice only what others do: {only}."
            yield f"{count(len(small), 'test')} would notice the same faults: {several(small, 8)}."
    else:
        yield "Add --mutiny-matrix to run every test on every fault: it tells which tests notice only what others do."
    undecided = [tried for tried in result.faults if tried.verdict is FaultVerdict.UNDECIDED]
    if undecided:
        reasons = [
            f"{names.get(name, name)}: {reason}"
            for tried in undecided
            for name, reason in tried.reasons.items()
            if tried.reactions[[test.name for test in result.tests].index(name)] is Reaction.BROKEN
        ]
        yield f"{count(len(undecided), 'fault')} undecided, not counted: {several([*dict.fromkeys(reasons)], 3)}."


def short_names(result: SuiteResult) -> dict[str, str]:
    """Names of tests, without the file if there is only one."""
    files = {test.name.partition("::")[0] for test in result.tests}
    return {
        test.name: printable(test.name.partition("::")[2] if len(files) == 1 else test.name, breaks=False)
        for test in result.tests
    }


def _wrapped(text: str, width: int, indent: str = "") -> list[str]:
    further = f"{indent}  " if indent else ""
    return textwrap.wrap(
        printable(text, breaks=False), width, initial_indent=indent, subsequent_indent=further, break_on_hyphens=False
    )
