"""Files in shared folders: links of others decide nothing, and nobody else reads or writes what is private."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

import mutiny
import toys
from mutiny.campaigns.stores.lock import Lock, holder
from mutiny.campaigns.stores.salvage import salvage
from mutiny.campaigns.stores.sqlite import SqliteStore
from mutiny.core.errors import BadInput, StoreError
from mutiny.core.private_files import create, followed, make_private, replaced, why_shared
from mutiny.reports.files import replacing, write_json
from mutiny.subjects.inference.calibration import remembered

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="links and permissions of POSIX")
as_root = pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() != 0, reason="only root gives files to others")
SOMEBODY = 54321


@pytest.fixture
def victim(tmp_path):
    path = tmp_path / "victim"
    path.write_text("precious\n")
    yield path
    assert path.read_text() == "precious\n"


@pytest.fixture
def usual_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def in_shared_folder(tmp_path, name, target):
    """A link of somebody else in a folder like /tmp."""
    folder = tmp_path / "shared"
    folder.mkdir()
    folder.chmod(0o1777)
    link = folder / name
    link.symlink_to(target)
    os.lchown(link, SOMEBODY, SOMEBODY)
    return link


@pytest.mark.parametrize("plant", ["symlink_to", "hardlink_to"])
def test_a_lock_file_that_is_a_link_is_refused(tmp_path, victim, plant):
    getattr(tmp_path / "x.mutiny.lock", plant)(victim)
    for call in (Lock, SqliteStore):
        with pytest.raises(StoreError, match=r"beside which mutiny can put its lock file\. .*x\.mutiny\.lock is some"):
            call(tmp_path / "x.mutiny")
    assert not (tmp_path / "x.mutiny").exists()


def test_status_of_a_store_leaves_what_a_planted_link_points_to(tmp_path, victim):
    store = tmp_path / "x.mutiny"
    SqliteStore(store).close()
    (tmp_path / "x.mutiny.lock").symlink_to(victim)
    (tmp_path / "x.mutiny-wal").touch()  # as a reader leaves it
    SqliteStore(store, write=False).close()
    assert holder(store) is None


@pytest.mark.parametrize("content", ["precious\n", "1 2 3\n", "x" * 1000])
def test_a_file_of_somebody_with_the_name_of_the_lock_is_kept(tmp_path, content):
    (tmp_path / "x.lock").write_text(content)
    with pytest.raises(StoreError, match="move it away"):
        Lock(tmp_path / "x")
    assert (tmp_path / "x.lock").read_text() == content


def test_a_lock_that_a_killed_process_left_is_taken_over(tmp_path):
    for content in ("", "1", "99 host.example\n"):
        (tmp_path / "x.lock").write_text(content)
        Lock(tmp_path / "x").release()


@pytest.mark.parametrize("kind", ["mkfifo", "mkdir"])
def test_a_pipe_or_a_folder_with_the_name_of_the_lock_is_refused_at_once(tmp_path, kind):
    getattr(os, kind)(tmp_path / "x.lock")
    with pytest.raises(StoreError, match="move it away"):
        Lock(tmp_path / "x")
    assert holder(tmp_path / "x") is None


@pytest.mark.parametrize("suffix", ["-wal", "-shm", "-journal"])
def test_files_of_sqlite_that_are_links_are_not_followed(tmp_path, victim, suffix):
    (tmp_path / f"x.mutiny{suffix}").symlink_to(victim)
    try:
        with SqliteStore(tmp_path / "x.mutiny") as store:
            store.open(mutiny.campaigns.stores.base.Campaign("c", "assess", "s"))
    except StoreError:
        pass


@pytest.mark.parametrize("umask", [0o022, 0o000, 0o277])
def test_stores_are_private_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        with SqliteStore(tmp_path / "x") as store:
            store.open(mutiny.campaigns.stores.base.Campaign("c", "assess", "s"))
            modes = {path.name: mode(path) for path in tmp_path.iterdir()}
    finally:
        os.umask(before)
    assert modes == dict.fromkeys(["x", "x-wal", "x-shm", "x.lock"], 0o600 & ~umask)


def test_results_have_the_permissions_of_the_umask(tmp_path, usual_umask):
    write_json(tmp_path / "a.json", {})
    os.umask(0o027)
    write_json(tmp_path / "b.json", {})
    assert [mode(tmp_path / name) for name in ("a.json", "b.json")] == [0o644, 0o640]


def test_temporary_files_have_names_that_nobody_can_plant(tmp_path, victim):
    for name in (".out.json.part", "calibration.json.part", f"calibration.{os.getpid()}"):
        (tmp_path / name).symlink_to(victim)
    names = []
    for _ in range(2):
        with replacing(tmp_path / "out.json") as part:
            names.append(part.name)
            assert part.exists()  # it is created exclusively, before anything is written
            part.write_text("{}")
    assert len(set(names)) == 2
    assert (tmp_path / "out.json").read_text() == "{}"


def test_what_exists_is_not_created(tmp_path, victim):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    for taken in (victim, tmp_path / "link"):
        with pytest.raises(FileExistsError):
            create(taken)
    assert not (tmp_path / "nowhere").exists()


def test_a_replacement_that_fails_leaves_nothing(tmp_path, victim):
    with pytest.raises(ZeroDivisionError), replaced(victim) as part:
        part.write_text(str(1 / 0))
    assert list(tmp_path.iterdir()) == [victim]


def test_what_a_killed_process_left_is_deleted_with_the_next_result(tmp_path):
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    with replacing(tmp_path / "a.json") as running:
        left = running.with_name(running.name.replace(str(os.getpid()), str(ended.pid)))
        left.touch()
        write_json(tmp_path / "b.json", {})
        assert {path.name for path in tmp_path.iterdir()} == {running.name, "b.json"}


def test_a_salvage_writes_into_no_planted_file(tmp_path, victim):
    with SqliteStore(tmp_path / "old") as store:
        store.open(mutiny.campaigns.stores.base.Campaign("c", "assess", "s"))
    (tmp_path / ".new.part").symlink_to(victim)
    assert salvage(tmp_path / "old", tmp_path / "new").campaigns == 1
    assert mode(tmp_path / "new") == 0o600
    assert {path.name for path in tmp_path.iterdir()} == {"old", "new", "victim", ".new.part"}


def test_own_links_are_followed(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "store")
    with SqliteStore(tmp_path / "link"):
        assert {"link", "store", "store.lock"} <= {path.name for path in tmp_path.iterdir()}
    (tmp_path / "out").symlink_to(tmp_path / "result")
    write_json(tmp_path / "out", {})
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "result").read_text() == "{}\n"


def test_repaired_weights_are_written_whole_or_not_at_all(tmp_path, usual_umask):
    from mutiny.verbs.repair.files import save_weights

    model, path = toys.classifier(), tmp_path / "weights.safetensors"
    save_weights(model, path)
    assert mode(path) == 0o644
    assert list(tmp_path.iterdir()) == [path]
    mutiny.load_weights(model, path)
    with pytest.raises(BadInput, match=r"a file in an existing folder that can be written\. No such file or directory"):
        save_weights(model, tmp_path / "nosuch" / "weights")


@as_root
def test_links_of_others_in_shared_folders_are_refused(tmp_path, victim):
    link = in_shared_folder(tmp_path, "x", victim)
    for call in (SqliteStore, lambda path: SqliteStore(path, write=False), lambda path: write_json(path, {})):
        with pytest.raises(BadInput, match=r"expected a file, or a link of your own\. .*/x is a link of another user"):
            call(link)
    inner = in_shared_folder(tmp_path / "shared", "folder", tmp_path) / "y"
    with pytest.raises(BadInput, match="folder is a link of another user"):
        followed(inner, "file")
    os.lchown(link, 0, 0)
    assert followed(link, "file") == victim


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("MUTINY_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def recipe_subject():
    recipe = mutiny.Recipe(lambda: toys.nn.Linear(2, 3), epochs=1)
    return mutiny.Subject(task=mutiny.Classification(3), recipe=recipe, train=toys.blobs(60), test=toys.blobs(30))


def test_a_cache_is_made_for_this_user_only(cache, usual_umask):
    recipe_subject().originals(1)
    assert [mode(path) for path in (cache, cache / "originals")] == [0o700, 0o700]
    assert {mode(path) for path in (cache / "originals").iterdir()} == {0o600}
    remembered("key", lambda: {"fast": True}, bool)
    assert mode(cache / "calibration.json") == 0o600


@pytest.mark.parametrize("place", ["cache", "cache/originals"])
@pytest.mark.parametrize("bits", [0o777, 0o1777, 0o707])
def test_a_cache_in_which_others_may_write_is_refused(cache, place, bits):
    make_private(cache / "originals")
    (cache.parent / place).chmod(bits)
    shared = place == "cache/originals" or not bits & 0o1000
    assert bool(why_shared(cache / "originals")) == shared
    if shared:
        with pytest.raises(BadInput, match=rf"may write\. Others may write in (it|.*{place}): run chmod"):
            recipe_subject().originals(1)
    else:  # what others put beside the folder changes nothing in it
        recipe_subject().originals(1)


def test_measurements_in_a_cache_in_which_others_may_write_are_not_read(cache):
    remembered("key", lambda: {"fast": True}, bool)
    assert remembered("key", lambda: {"fast": False}, bool) == {"fast": True}
    cache.chmod(0o777)
    assert remembered("key", lambda: {"fast": False}, bool) == {"fast": False}


@as_root
def test_a_cache_of_somebody_else_is_refused(cache):
    make_private(cache / "originals")
    os.chown(cache / "originals", SOMEBODY, SOMEBODY)
    with pytest.raises(BadInput, match=r"a folder of your own, .* It belongs to user 54321\. Or set MUTINY_CACHE"):
        recipe_subject().originals(1)


def test_the_group_of_the_user_alone_may_write(tmp_path):
    tmp_path.chmod(0o770)
    name = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout
    group = subprocess.run(["id", "-gn"], capture_output=True, text=True, check=True).stdout
    assert (why_shared(Path(tmp_path)) == "") == (name == group)
