"""A verb outside of the package: the code of its author, and the services of the runner."""

import json
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import pytest
import torch
from torch import nn

from campaigns.interrupting import interrupted, plain
from mutiny.campaigns.run import Runtime, run
from mutiny.campaigns.schedule import ask, together
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.campaigns.verb import Verb
from mutiny.core.results import Result
from mutiny.reports.files import write_json
from mutiny.subjects.given import as_given


@dataclass(frozen=True, repr=False)
class Counted(Result):
    verb: ClassVar[str] = "count"
    subject: dict
    settings: dict
    versions: dict
    shares: tuple
    notes: tuple
    seconds: float
    created: str

    def details(self):
        return {"shares": list(self.shares)}

    def tables(self):
        return {"shares": [{"class": label, "share": share} for label, share in enumerate(self.shares)]}

    def metrics(self):
        return {"largest": max(self.shares)}


@dataclass(frozen=True)
class Count(Verb):
    """How often does a model predict each class?"""

    classes: int
    name = "count"

    def prepare(self, session):
        session.expect(self.classes)
        return session.model, session.given.data.first(len(session.given.data))

    async def plan(self, session, state):
        return await together(ask(session.job("class", [label])) for label in range(self.classes))

    def work(self, state, job):
        model, inputs = state
        with torch.no_grad():
            return float((model(inputs).argmax(1) == job.arguments[0]).float().mean())

    def stored(self, result):
        return vars(result)

    def recalled(self, session, result):
        return Counted(**result)

    def result(self, session, state, found):
        subject = {"name": session.given.name}
        return Counted(subject, session.settings, shares=tuple(found), notes=(), **session.stamp())


@dataclass(frozen=True)
class Fatal(Count):
    """Kills its worker once."""

    file: Path

    def work(self, state, job):
        if self.file.exists():
            self.file.unlink()
            os._exit(9)
        return super().work(state, job)


def asked(verb=Count(3), **how):  # noqa: B008, it is frozen
    torch.manual_seed(0)
    net, inputs = nn.Linear(4, 3).eval(), torch.randn(50, 4, generator=torch.Generator().manual_seed(1))
    return run(verb, as_given(net, inputs, None, None, None, "data", pool=False), Runtime(**how))


def test_an_author_writes_less_than_sixty_lines():
    source = Path(__file__).read_text(encoding="utf-8")
    body = source[source.index("@dataclass") : source.index("@dataclass(frozen=True)\nclass Fatal")]
    assert len(body.splitlines()) <= 60


@pytest.mark.slow  # the next test has processes, too
@pytest.mark.parametrize("engine", ["processes", "ray"])
def test_every_engine_gives_the_same(engine):
    assert plain(replace(asked(engine=engine), settings={})) == plain(replace(asked(), settings={}))


@pytest.mark.slow
def test_a_killed_worker_is_replaced(tmp_path):
    fatal = tmp_path / "fatal"
    fatal.touch()
    result = asked(Fatal(3, fatal), engine="processes", workers=1)
    assert plain(replace(result, settings={})) == plain(replace(asked(), settings={}))
    assert not fatal.exists()


def test_it_goes_on_after_interrupts_and_is_remembered(tmp_path):
    file = tmp_path / "toy.mutiny"
    done, result = interrupted(lambda engine: asked(engine=engine, store=file), 1)
    assert len(done) == 3
    assert plain(result) == plain(asked())
    assert interrupted(lambda engine: asked(engine=engine, store=file), 1)[0] == []
    with SqliteStore(file, write=False) as store:
        (campaign,) = store.campaigns()
        assert (campaign.verb, store.tally(campaign.id).most) == ("count", 3)


def test_a_model_that_was_changed_is_an_error():
    class Careless(Count):
        def work(self, state, job):
            with torch.no_grad():
                state[0].weight[0, 0] += 1
            return 0.0

    net = nn.Linear(4, 3).eval()
    with pytest.raises(RuntimeError, match="was changed"):
        run(Careless(3), as_given(net, torch.randn(5, 4), None, None, None, "data", pool=False), Runtime())


def test_its_result_is_reported(tmp_path):
    result = asked()
    write_json(tmp_path / "result.json", result.to_json())
    told = json.loads((tmp_path / "result.json").read_text())
    assert (told["verb"], sum(told["shares"])) == ("count", pytest.approx(1))
    assert list(result.to_frame()["share"]) == list(result.shares)
    assert "<table>" in result._repr_html_()
