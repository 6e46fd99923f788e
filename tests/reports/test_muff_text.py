"""The text of an assessment by MUFF, from files that nobody vouches for."""

import io

import pytest
from rich.console import Console

from mutiny.reports.result_text import result_text
from mutiny.verbs.assess.muff.result import MuffAssessment
from reports.page.handmade import assessment


@pytest.mark.parametrize(
    ("key", "value", "told"),
    [
        ("alpha", None, "p < nan"),
        ("beta", None, ">= nan"),
        ("test", "a test of the future", "killed: a test of the future, p <"),
        ("effect", "[/red]", "[/red] >="),
    ],
)
def test_unknown_parts_of_the_kill_rule_are_shown_as_they_are(key, value, told):
    spoilt = assessment().to_json()
    spoilt["settings"]["rule"][key] = value
    screen = io.StringIO()
    Console(file=screen, width=100).print(result_text(MuffAssessment.from_json(spoilt), 100))
    assert told in screen.getvalue()
