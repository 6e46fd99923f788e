"""Weights of originals that a store has are never written to the folder of trained networks as this user's."""

import numpy as np
import pytest
import torch
from torch import nn

from mutiny.campaigns.campaign_run import CampaignRun
from mutiny.campaigns.engines.base import Engine, attempt
from mutiny.campaigns.jobs import Job, JobResult, WithScratch
from mutiny.campaigns.originals import train_at_once
from mutiny.campaigns.stores.base import Campaign
from mutiny.campaigns.stores.memory import MemoryStore
from mutiny.core.errors import MutinyWarning
from mutiny.core.progress import Silent
from mutiny.subjects import Subject
from mutiny.subjects.tasks import Classification
from mutiny.subjects.training import Recipe

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)).astype(np.float32)
Y = (X[:, 0] > 0).astype(np.int64)


def build():
    return nn.Sequential(nn.Linear(4, 2))


class OneByOne(Engine):
    """An engine that trains originals as jobs."""

    def run(self, work, jobs):
        for job in jobs:
            if job is None:
                return
            yield attempt(work, job)


@pytest.fixture
def subject():
    return Subject(recipe=Recipe(build, epochs=1), task=Classification(2), train=(X, Y), test=(X, Y), name="s")


def train(subject, store, folder):
    running = CampaignRun(Campaign("c1", "assess", "s"), OneByOne(), store)
    train_at_once(running, subject, 1, 0, None, folder, Silent())


def test_planted_weights_in_a_store_are_not_used(subject, tmp_path):
    (true,) = subject.originals(1, folder=tmp_path / "true")
    planted = {name: torch.zeros_like(value) for name, value in true.state_dict().items()}
    (tmp_path / "originals").mkdir()
    store = MemoryStore()
    store.open(Campaign("c1", "assess", "s"))
    job = Job("original", (subject.fingerprints(1)[0], 0), name="original 1")
    store.save("c1", JobResult(job, WithScratch(True, planted)))
    train(subject, store, tmp_path / "originals")
    (found,) = subject.originals(1, folder=tmp_path / "originals")
    assert all(torch.equal(a, b) for a, b in zip(true.parameters(), found.parameters(), strict=True))


def test_a_planted_file_is_trained_again_by_workers_and_told(subject, tmp_path, monkeypatch):
    (true,) = subject.originals(1, folder=tmp_path)
    monkeypatch.setenv("MUTINY_KEY", str(tmp_path / "user" / "key"))
    with pytest.warns(MutinyWarning, match="was trained again"):
        train(subject, MemoryStore(), tmp_path)
    (found,) = subject.originals(1, folder=tmp_path)
    assert all(torch.equal(a, b) for a, b in zip(true.parameters(), found.parameters(), strict=True))
