"""Every result in a notebook and in pandas."""

import math
import sys
from dataclasses import replace
from html.parser import HTMLParser

import pandas as pd
import pytest

from mutiny.core.errors import BadInput, MissingExtra
from mutiny.core.results import SHOWN
from mutiny.reports.notice_sentences import headline
from reports.page.handmade import rated
from reports.page.test_verbs import COMMON, REPEATED, SELECTION, location, robustness
from verbs.repair.spoilt import data, faulty

EVIL = "<script>alert(1)</script>"


class Reader(HTMLParser):
    """Rows of cells, and what is open at the end."""

    def __init__(self, text):
        super().__init__()
        self.open, self.rows, self.tags = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1][-1] += data


@pytest.fixture(
    scope="module", params=["assess", "muff", "compare", "strengthen", "select", "locate", "repair", "attack"]
)
def result(request):
    import mutiny
    from toys import blob_subject

    if request.param in ("select", "locate", "attack"):
        return {"select": SELECTION, "locate": location(), "attack": robustness((4, 1, 8, 8))}[request.param]
    subject = blob_subject(3, name="blobs")
    if request.param == "assess":
        return mutiny.assess(subject, "GF,LR", seeds=2)
    if request.param == "compare":
        return mutiny.compare(subject, subject.models[1], slices={"half": [0] * 60 + [1] * 60})
    if request.param == "muff":
        return mutiny.assess(subject, "WI(ratio=0.3),AFR", batch_size=256, method="muff")
    if request.param == "strengthen":
        return mutiny.strengthen(subject, pool=subject.train, budget=5, operators="NEB", seeds=1)
    return mutiny.repair(faulty()[0], "scale(population=6, generations=2)", data=data(300))


def test_results_are_equal_if_they_say_the_same_whenever_they_were_made(result):
    again = type(result).from_json(result.to_json())
    later = replace(again, seconds=result.seconds + 5, created="2001-01-01T00:00:00")
    assert result == again == later
    assert result != replace(result, notes=("another note",))
    assert result != "a text"


def test_a_value_that_is_missing_in_json_is_a_sentence_or_has_a_default(result):
    told, refused = result.to_json(), {}
    for name in told:
        try:
            type(result).from_json({key: value for key, value in told.items() if key != name})
        except BadInput as error:
            refused[name] = str(error)
    assert {"verb", "schema", "subject"} <= refused.keys()
    assert [name for name, sentence in refused.items() if name not in sentence] == []


def test_a_notebook_shows_the_first_table(result):
    shown = Reader(result._repr_html_())
    first = next(iter(result.tables().values()))
    assert shown.open == []
    assert shown.tags <= {"p", "b", "table", "thead", "tbody", "tr", "th", "td", "ul", "li"}
    assert len(shown.rows) == 1 + min(SHOWN, len(first))
    assert shown.rows[0] == [*first[0]]
    for row, told in zip(first, shown.rows[1:], strict=False):
        for value, cell in zip(row.values(), told, strict=True):
            if isinstance(value, float) and not math.isnan(value):
                assert float(cell) == pytest.approx(value, rel=1e-3)
            elif isinstance(value, str):
                assert cell == value


@pytest.mark.parametrize("interval", [(0.58, 0.91), (0.1, 0.95)], ids=["told", "cannot tell"])
def test_an_assessment_in_a_notebook_begins_with_its_sentence(interval):
    result = rated({"GF": [(0.6, True), (1.5, False), (3.0, True)]}, interval=interval)
    start = {(0.58, 0.91): "Your ", (0.1, 0.95): "Cannot tell "}[interval]
    assert headline(result).startswith(start)
    assert result._repr_html_().startswith(f"<p><b>{headline(result)}</b></p><table>")


def test_nothing_in_a_notebook_is_trusted():
    from dataclasses import replace

    text = replace(SELECTION, notes=(EVIL,), budget=1)._repr_html_()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert COMMON["notes"][0] not in text


def test_tables_become_frames(result):
    for name, rows in result.tables().items():
        frame = result.to_frame(name)
        assert isinstance(frame, pd.DataFrame)
        assert len(frame) == len(rows)
        if rows:
            assert all(set(row) == set(frame.columns) for row in rows)
    pd.testing.assert_frame_equal(result.to_frame(), result.to_frame(next(iter(result.tables()))))
    with pytest.raises(BadInput, match="one of"):
        result.to_frame("nonsense")


def test_faults_over_repeats_are_those_of_the_terminal():
    (first, _) = REPEATED.to_frame().to_dict("records")
    assert (first["fdr"], first["fdr_low"], first["fdr_high"]) == (0.25, -0.1, 0.6)
    assert first["faults"] == 2
    assert REPEATED.metrics()["fdr.gini"] == 0.25
    assert "fdr_low" not in SELECTION.to_frame().columns
    assert SELECTION.metrics()["fdr.gini"] == 0.5


def test_without_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r'the package pandas: pip install "mutiny-nn\[notebook\]"'):
        SELECTION.to_frame()


def test_json_has_the_same_frame_for_all_verbs(result):
    told = result.to_json()
    assert [*told][:5] == ["schema", "verb", "subject", "settings", "versions"]
    assert [*told][-2:] == ["notes", "timing"]
    assert told["timing"]["created"] == result.created
    assert told["verb"] == result.verb
