"""The fuzzer itself: a few cases of each kind hold, a case can be repeated, and it can find something wrong."""

import shutil
import sys

import pytest
from fuzz.campaign import Campaign, Settings

from fuzz import corpus, reading, worker
from mutiny.campaigns.stores import base
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.cli.resume_plan import ResumePlan
from mutiny.core.errors import BadInput
from mutiny.core.limits import shown_size

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="it looks into /proc")
COUNTS = {"stores": 25, "results": 40, "data": 60, "commands": 8, "gates": 60}


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A folder with a small corpus."""
    folder = tmp_path_factory.mktemp("fuzz")
    (folder / "corpus").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in settings(folder).own.items():
            patch.setenv(name, value)
        corpus.make(folder / "corpus", ("assess", "select", "repair"))
        yield folder


def settings(root, patience=60.0):
    return Settings(root, seed=7, limit="64MB", most=256 << 20, patience=patience, seconds=120.0)


def test_some_cases_of_each_kind_hold(root):
    campaign = Campaign(settings(root))
    campaign.run(COUNTS)
    assert campaign.failures == {}
    assert sum(campaign.cases.values()) + sum(campaign.unmade.values()) == sum(COUNTS.values())
    assert all(campaign.refused[kind] > 0 for kind in COUNTS)
    assert all(len(campaign.messages[kind]) > 3 for kind in COUNTS)


@pytest.mark.parametrize("kind", ["stores", "results", "data", "gates"])
def test_a_case_is_repeated_by_its_number(root, tmp_path, kind):
    known = ("code", "where", "message")
    first, again = (worker.once(kind, 5, 7, root / "corpus", tmp_path) for _ in range(2))
    assert {name: first.get(name) for name in known} == {name: again.get(name) for name in known}


def test_only_a_command_with_a_proof_runs_without_trust(root, tmp_path, monkeypatch):
    for name in ("assess", "select"):
        shutil.copyfile(root / "corpus" / f"{name}.mutiny", tmp_path / f"{name}.mutiny")
    with pytest.raises(BadInput, match="a campaign that you started"):
        reading.of_resume(tmp_path / "assess.mutiny")
    reading.of_trust(tmp_path / "assess.mutiny")
    reading.of_resume(tmp_path / "select.mutiny")
    monkeypatch.setattr(ResumePlan, "check_own", lambda self: None)
    with SqliteStore(tmp_path / "assess.mutiny") as store:
        store.open(
            base.Campaign("other", "assess", "x", command={"verb": "assess", "arguments": {"subject": "os:abort"}})
        )
    outcome = worker.judged(lambda: reading.of_resume(tmp_path / "assess.mutiny"))
    assert outcome["code"] == worker.BUG
    assert "resume would run assess with" in outcome["shown"]


def test_an_error_in_mutiny_is_a_bug_and_its_place_is_told():
    outcome = worker.judged(lambda: shown_size("a"))
    assert outcome["code"] == worker.BUG
    assert outcome["where"].startswith("core/limits.py:")
    assert "TypeError" in outcome["shown"]


def test_too_much_memory_is_noticed(root, tmp_path, monkeypatch):
    monkeypatch.setitem(worker.KINDS, "stores", lambda *_: lambda: bytearray(300 << 20) and None)
    assert worker.once("stores", 0, 0, root / "corpus", tmp_path)["bytes"] > 256 << 20


def test_a_case_that_does_not_end_is_noticed(root):
    campaign = Campaign(settings(root, patience=0.0))
    campaign.run({"results": 1})
    assert [what for what, _ in campaign.failures] == ["hang"]
