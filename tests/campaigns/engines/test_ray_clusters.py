"""What makes a Ray cluster that mutiny starts private, and what is said of one that it joins; no cluster is started."""

import os
import stat
import tempfile
from pathlib import Path

import pytest

ray = pytest.importorskip("ray", reason="needs the extra ray")

from mutiny.campaigns.engines.parsing import as_engine  # noqa: E402
from mutiny.campaigns.engines.ray import Ray  # noqa: E402
from mutiny.campaigns.engines.ray_start import own_token, private_cluster, private_folder  # noqa: E402
from mutiny.campaigns.jobs import Job  # noqa: E402
from mutiny.core.errors import BadInput  # noqa: E402


@pytest.mark.parametrize("version", ["2.59.1", "2.9.0", "1.13.0"])
def test_old_versions_are_refused_before_anything_is_started_or_joined(version, monkeypatch):
    monkeypatch.setattr(ray, "__version__", version)
    for engine in (Ray(), Ray("127.0.0.1:1")):
        with pytest.raises(BadInput) as refused:
            list(engine.run(lambda job: 1, [Job("a")]))
        assert str(refused.value) == (
            "engine=ray: expected Ray 2.60 or later, because clusters of earlier versions may run without a token. "
            f'Ray {version} is installed. pip install "mutiny-nn[ray]"'
        )
    assert not ray.is_initialized()


@pytest.mark.parametrize("version", ["2.60.0rc1", "2.100.0", "3.0.0.dev0"])
def test_later_versions_are_not(version, monkeypatch):
    monkeypatch.setattr(ray, "__version__", version)
    with pytest.raises(BadInput, match="can be reached"):
        list(Ray("127.0.0.1:1").run(lambda job: 1, [Job("a")]))


def test_variables_of_the_user_count_again_after_a_cluster_of_its_own(monkeypatch):
    from ray._raylet import AuthenticationMode, get_authentication_mode

    monkeypatch.setenv("RAY_AUTH_MODE", "disabled")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "of the user")
    tokens = set()
    for _ in range(2):
        with own_token():
            assert get_authentication_mode() == AuthenticationMode.TOKEN
            tokens.add(os.environ["RAY_AUTH_TOKEN"])
        assert get_authentication_mode() == AuthenticationMode.DISABLED
        assert os.environ["RAY_AUTH_TOKEN"] == "of the user"
    assert len(tokens) == 2
    assert all(len(token) == 64 for token in tokens)


@pytest.mark.parametrize("usual", ["/tmp", "/tmp/" + "too-long-for-sockets" * 4])
def test_files_of_a_cluster_are_in_a_folder_that_only_the_user_can_enter(usual, monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", usual)
    with private_folder() as folder:
        assert folder.parent == Path("/tmp")
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        (folder / "ray").mkdir()
        (folder / "ray" / "log").touch()
    assert not folder.exists()


def test_a_folder_that_cannot_be_made_gets_a_sentence(monkeypatch):
    monkeypatch.setenv("RAY_TMPDIR", "/dev/null/x")
    with pytest.raises(BadInput, match=r"/dev/null/x: Not a directory\. Set RAY_TMPDIR to another folder"):
        private_folder().__enter__()


def test_a_folder_for_clusters_is_made_if_it_is_not_there(monkeypatch):
    with tempfile.TemporaryDirectory(dir="/tmp") as parent:
        monkeypatch.setenv("RAY_TMPDIR", f"{parent}/r")
        with private_folder() as folder:
            assert folder.parent == Path(parent) / "r"


def test_a_cluster_that_does_not_listen_on_loopback_is_refused(monkeypatch):
    """As it would be with a version of Ray that chooses the address in another way."""
    monkeypatch.setattr(ray, "init", lambda *_, **__: None)
    monkeypatch.setattr(ray.util, "get_node_ip_address", lambda: "10.0.0.7")
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        monkeypatch.setenv("RAY_TMPDIR", folder)
        with pytest.raises(
            BadInput, match=r"a cluster that other machines cannot reach\. Ray .* listens on 10\.0\.0\.7"
        ):
            private_cluster(ray, 1).__enter__()
        assert list(Path(folder).iterdir()) == []


def test_who_must_be_trusted_with_a_cluster_that_is_there(monkeypatch):
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    assert [as_engine(name).trusted for name in ("serial", "processes", "ray")] == ["", "", ""]
    assert Ray("10.0.0.7:6379").trusted == (
        "jobs run on the Ray cluster at 10.0.0.7:6379. Trust whoever controls it, and whoever can reach it if it asks "
        "for no token: they can run code on this machine as you, and see your networks and data."
    )
    monkeypatch.setenv("RAY_ADDRESS", "10.0.0.8:6379")
    assert "at 10.0.0.8:6379" in as_engine("ray").trusted
