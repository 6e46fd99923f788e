"""``mutiny compare`` as a user sees it."""

import json
from html import unescape
from pathlib import Path
from xml.etree import ElementTree

import pytest

from reports.page.handmade import without_spans

BODY = """
subject = blob_subject(1, test=blobs(600, seed=1), name="blobs")
same = classifier()
spoilt = classifier()
with torch.no_grad():
    spoilt[0].weight[0:4] *= -1


def remote(x):
    return same(x).detach().numpy()


def made():
    return classifier()
"""


@pytest.fixture
def sides(write):
    """``FILE.py:subject``, and a function that names something else in the file."""
    subject = write(BODY)
    return subject, lambda name: subject.replace(":subject", f":{name}")


def test_a_network_that_is_worse_fails(run, sides, tmp_path):
    subject, named = sides
    out, junit, summary = (tmp_path / name for name in ("c.json", "c.xml", "c.md"))
    ran = run("compare", subject, named("spoilt"), "--json", out, "--junit", junit, "--summary", summary)
    assert ran.code == 1
    assert ran.out.lstrip().startswith("B is worse than A: it loses ")
    assert max(map(len, ran.out.splitlines())) <= 80
    told = json.loads(out.read_text())
    assert (told["schema"], told["verb"], told["verdict"]) == (1, "compare", "worse")
    assert told["difference"]["interval"]["low"] <= told["difference"]["value"] < 0
    assert {"p_value", "flips", "inputs_needed", "margin", "alpha", "unit", "groups", "changed"} <= set(told)
    suite = ElementTree.parse(junit).getroot()[0]
    assert (suite.get("tests"), suite.get("failures")) == ("1", "1")
    assert summary.read_text().startswith("**B is worse than A: it loses ")


@pytest.mark.parametrize("name", ["same", "remote", "made", "subject"])
def test_everything_that_a_file_names_is_compared(run, sides, name):
    subject, named = sides
    ran = run("compare", subject, named(name), "--margin", "2pt")
    assert ran.code == 0, ran.err
    assert "equivalent" in ran.out or "B is A" in ran.out


def test_it_passes_if_it_cannot_tell_unless_strict(run, sides, tmp_path):
    subject, named = sides
    ran = run("compare", subject, named("remote"), "--margin", "0.01pt")
    assert ran.code == 0
    assert "it cannot be told whether B is worse (this passes without --strict)" in ran.err
    out = tmp_path / "c.xml"
    assert run("compare", subject, named("remote"), "--margin", "0.01pt", "--strict", "--junit", out).code == 1
    assert ElementTree.parse(out).getroot()[0].get("failures") == "1"


def test_recorded_answers_are_kept_and_reported(run, tmp_path):
    a, b = tmp_path / "old.csv", tmp_path / "new.jsonl"
    a.write_text("id,correct,room\n" + "".join(f"{n},1,{'ab'[n % 2]}\n" for n in range(40)))
    b.write_text("\n".join(json.dumps({"id": n, "correct": n % 4 > 0}) for n in range(40)))
    ran = run("compare", a, b, "--slice", "room")
    assert ran.code == 1, ran.err
    assert "it loses 25.0 accuracy points" in " ".join(ran.out.split())
    assert "room a" in ran.out
    assert "Kept in old.mutiny" in " ".join(ran.out.split())
    report = run("report", "old.mutiny", "-o", "page.html")
    assert report.code == 0
    page = unescape(without_spans(Path("page.html")))
    assert "Did the change make the network worse?" in page
    assert f"mutiny compare {a} {b}" in page


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["none.csv", "b.csv"], "mutiny: A=none.csv: expected a file that exists"),
        (["{subject}", "none.csv"], "mutiny: B=none.csv: expected a file that exists"),
        (["{subject}", "nothing"], "mutiny: B='nothing': expected a built-in"),
        (["{subject}", "{nowhere}"], "expected a name defined in"),
        (["{subject}", "{spoilt}", "--margin", "-1pt"], "mutiny: --margin='-1pt': expected a number above 0"),
        (["{subject}", "{spoilt}", "--margin", "2%"], "mutiny: --margin=2%: expected accuracy points"),
        (["{subject}", "{spoilt}", "--alpha", "0.6"], "mutiny: --alpha=0.6: expected a probability"),
        (
            ["{subject}", "{spoilt}", "--slice", "room"],
            "mutiny: --slice='room': expected a column of the recorded answers",
        ),
        (["{subject}", "{spoilt}", "--lower-is-better"], "mutiny: --higher-is-better=False: expected no direction"),
        (["{spoilt}", "{subject}"], "It is a model, a Sequential"),
    ],
)
def test_mistakes(run, sides, arguments, message):
    subject, named = sides
    texts = {"subject": subject, "spoilt": named("spoilt"), "nowhere": named("nowhere")}
    ran = run("compare", *(argument.format(**texts) for argument in arguments))
    assert ran.code == 2, ran.out
    assert message in ran.err
