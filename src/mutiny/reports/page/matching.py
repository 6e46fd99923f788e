"""Results that belong on one page: those of one network and one test set."""

from __future__ import annotations

from collections.abc import Sequence

from mutiny.reports.formatting import count
from mutiny.reports.loading import LoadedResult
from mutiny.verbs.assess.result import Assessment
from mutiny.verbs.strengthen.result import Strengthening


def matching_results(findings: Sequence[LoadedResult]) -> tuple[dict[str, LoadedResult], tuple[str, ...]]:
    """The last finding of each verb that fits the newest assessment, or the newest result if there is none.

    Args:
        findings: the oldest first, at least one.

    Returns:
        The findings by verb, and a sentence for each verb of which no finding fits.
    """
    newest = next((one for one in reversed(findings) if one.verb == "assess"), findings[-1])
    found: dict[str, LoadedResult] = {}
    misfits: dict[str, str] = {}
    for one in findings:
        reason = "" if one is newest else _misfit(one, newest)
        if reason:
            misfits[one.verb] = reason
        else:
            found.pop(one.verb, None)
            found[one.verb] = one
    return found, tuple(reason for verb, reason in misfits.items() if verb not in found)


def _misfit(one: LoadedResult, newest: LoadedResult) -> str:
    """Why a finding does not belong beside another, in a sentence; nothing if it does, or if that is not known."""
    if one.network and newest.network and one.network != newest.network:
        return f"The result of {one.verb} is left out: it is of another network than that of {newest.verb}."
    if isinstance(one.result, Strengthening) and isinstance(newest.result, Assessment):
        had, has = one.result.subject.test, newest.result.subject.splits.get("test")
        if has is not None and had != has.inputs:
            sizes = f"{count(had, 'test')}, the assessment about {has.inputs:,}"
            return f"The result of {one.verb} is left out: it is about {sizes}."
    return ""
