"""Which engines are measured."""

import importlib.util

import pytest

from benchmarks import engines


def test_without_ray_it_is_left_out(monkeypatch):
    monkeypatch.setattr(engines.importlib.util, "find_spec", lambda name: None)
    assert [name for name, _ in engines.engines()] == ["processes"]


@pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="needs mutiny-nn[ray]")
def test_with_ray_it_takes_part():
    assert [(name, engine.workers) for name, engine in engines.engines()] == [("processes", 2), ("ray", 2)]
