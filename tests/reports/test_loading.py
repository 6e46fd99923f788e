"""Results are loaded from JSON files and from stores, or refused in a sentence."""

import json
import shutil

import pytest

import mutiny
from mutiny.core.errors import BadInput
from toys import blob_subject


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """A store with two selections, and the results."""
    store = tmp_path_factory.mktemp("loading") / "blobs.mutiny"
    subject = blob_subject(1, name="blobs")
    return store, [mutiny.select(subject, name, budget=5, store=store) for name in ("deepgini", "margin")]


def test_a_store_gives_its_latest_result(kept):
    store, (_, latest) = kept
    loaded = mutiny.load_result(store)
    assert loaded.to_json() == latest.to_json()
    assert mutiny.load_result(str(store), verb="select").chosen.tolist() == latest.chosen.tolist()


def test_a_campaign_is_found_by_the_beginning_of_its_name(kept):
    from mutiny.campaigns.stores.sqlite import SqliteStore

    store, results = kept
    with SqliteStore(store, write=False) as opened:
        names = [campaign.id for campaign in opened.campaigns()]
    for name, result in zip(names, results, strict=True):
        assert mutiny.load_result(store, campaign=name).to_json() == result.to_json()


def test_a_json_file_gives_the_same_text_as_the_result(kept, tmp_path):
    result = kept[1][0]
    (tmp_path / "a.json").write_text(json.dumps(result.to_json()))
    loaded = mutiny.load_result(tmp_path / "a.json")
    assert loaded.to_json() == result.to_json()
    assert loaded.tables() == json.loads(json.dumps(result.tables())) | {"methods": loaded.tables()["methods"]}
    assert repr(loaded) == repr(result)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"verb": "dance"}, "verb='dance': expected one of assess"),
        ({"verb": "attack"}, "expected a verb that has a result"),
        ({"campaign": "zz"}, "campaign='zz': expected a finished campaign"),
        ({"campaign": ""}, "campaign='': expected a finished campaign"),
    ],
)
def test_what_a_store_does_not_hold_is_refused(kept, arguments, told):
    with pytest.raises(BadInput, match=told):
        mutiny.load_result(kept[0], **arguments)


def test_a_file_that_is_no_result_is_refused(kept, tmp_path):
    with pytest.raises(BadInput, match="expected a campaign file or a JSON result that exists"):
        mutiny.load_result(tmp_path / "none.json")
    (tmp_path / "a.json").write_text('{"verb": ["x"], "schema": 1}')
    with pytest.raises(BadInput, match="expected a result of assess"):
        mutiny.load_result(tmp_path / "a.json")
    shutil.copy(kept[0], tmp_path / "b")
    (tmp_path / "b").write_bytes((tmp_path / "b").read_bytes()[:100])
    with pytest.raises(BadInput):
        mutiny.load_result(tmp_path / "b")
