"""Units of a study on engines: the same numbers, each once, and those that wait for others at last."""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import mutiny
from mutiny.campaigns.engines.processes import Processes
from mutiny.campaigns.engines.serial import Serial

sys.path.append(str(Path(__file__).parents[2]))

from studies.store import Rows
from studies.working import Desk, run


@pytest.fixture(scope="module")
def processes():
    with Processes(2) as engine:
        yield engine


@pytest.fixture(params=["serial", pytest.param("processes", marks=pytest.mark.slow)])
def engine(request):
    return Serial() if request.param == "serial" else request.getfixturevalue("processes")


def subject_rows(folder):
    return Rows(folder / "subjects.csv", ("subject", "what"), 1)


@dataclass(frozen=True)
class Part:
    """Squares numbers, or sums what another part found once all of it is there."""

    NAME: str
    needs: Any = None

    def rows(self, folder):
        return Rows(folder / f"{self.NAME}.csv", ("subject", "number", "value"), 2)

    def run(self, lab, folder, unit):
        value = int(unit[0]) ** 2 * lab.factor
        if self.needs is not None:
            found = self.needs.rows(folder).of(lab.name)
            if len(found) < 6:
                return False
            value = sum(int(row["value"]) for row in found)
        if value == 9:
            raise mutiny.BadInput("number", 3, "another one")
        self.rows(folder).put([{"subject": lab.name, "number": unit[0], "value": value}])
        return True


@dataclass(frozen=True)
class Lab:
    name: str
    factor: int

    def describe(self):
        return {"subject": self.name, "what": f"times {self.factor}"}


SQUARES = Part("squares")
SUMS = Part("sums", SQUARES)


def desk(folder, **makers):
    return Desk(
        {part.NAME: part for part in (SQUARES, SUMS)}, makers or {"twice": lambda _: ("twice", 2)},
        lambda made, _settings: Lab(*made), subject_rows, False, None, folder, None,
    )  # fmt: skip


def test_every_unit_once_and_what_waits_at_last(engine, tmp_path):
    units = [(SUMS, "twice", ("0",)), *((SQUARES, "twice", (str(number),)) for number in range(6))]
    assert run(desk(tmp_path), units, engine) == 0
    assert SUMS.rows(tmp_path).get("twice", "0")["value"] == str(2 * sum(number**2 for number in range(6)))
    assert sorted(int(row["value"]) for row in SQUARES.rows(tmp_path).rows) == [0, 2, 8, 18, 32, 50]
    assert [row["what"] for row in subject_rows(tmp_path).rows] == ["times 2"]
    assert run(desk(tmp_path, twice=lambda _: pytest.fail("loaded again")), units, engine) == 0


def test_failures_are_counted_and_the_rest_is_done(engine, tmp_path, capsys):
    units = [(SQUARES, "once", (str(number),)) for number in range(6)]
    assert run(desk(tmp_path, once=lambda _: ("once", 1)), units, engine) == 1
    assert "squares once 3: number=3: expected another one" in capsys.readouterr().err
    assert len(SQUARES.rows(tmp_path).rows) == 5


def test_what_can_never_be_done_ends(tmp_path):
    assert run(desk(tmp_path), [(SUMS, "twice", ("0",))], Serial()) == 0
    assert not SUMS.rows(tmp_path).rows


def test_a_reason_is_told_once(tmp_path, capsys):
    def gone(_data):
        raise mutiny.BadInput("data", None, "a folder")

    subject_rows(tmp_path).put([{"subject": "gone", "what": "described before"}])
    assert run(desk(tmp_path, gone=gone), [(SQUARES, "gone", (str(number),)) for number in range(4)], Serial()) == 4
    assert capsys.readouterr().err.count("data=None") == 1


@pytest.mark.slow
def test_rows_of_several_processes_are_all_kept(tmp_path, processes):
    """Each worker reads, changes and replaces the same file many times."""
    units = [(SQUARES, "much", (str(number),)) for number in range(60)]
    assert run(desk(tmp_path, much=lambda _: ("much", 100)), units, processes) == 0
    assert len(SQUARES.rows(tmp_path).rows) == 60
