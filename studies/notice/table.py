"""Faults with the answers that they change on many inputs, and test sets asked about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from mutiny.core.stats.notice import POINTS, mcnemar_worse, notice_rate
from mutiny.reports.files import replacing
from mutiny.verbs.assess.cost_scale import CostScale, MeasuredCost, combined_cost, scale_limits

ALPHA = 0.05
TEST = "test"
Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class FaultTable:
    """Faults of some originals.

    Attributes:
        operator: code of each fault, ``(faults,)``.
        parameter: what its strength is, with what else was set.
        strength: of each fault; NaN without.
        original: number of the original.
        seed: number of the random choice.
        cost: points lost on the reference set of the search.
        trained: points lost on training inputs, if they measure costs, too; otherwise NaN.
        held_out: points lost on the reference set, if training inputs measure costs, too; otherwise NaN.
        trained_error: standard error of ``trained``.
        held_out_error: standard error of ``held_out``.
        change: by split, 1 where an answer breaks and -1 where it is repaired, ``(faults, inputs)``.
        right: by split, whether an original is right, ``(originals, inputs)``.
        numbers: numbers of these originals.
    """

    operator: npt.NDArray[np.str_]
    parameter: npt.NDArray[np.str_]
    strength: Floats
    original: Ints
    seed: Ints
    cost: Floats
    trained: Floats
    held_out: Floats
    trained_error: Floats
    held_out_error: Floats
    change: Mapping[str, npt.NDArray[np.int8]]
    right: Mapping[str, npt.NDArray[np.int8]]
    numbers: Ints

    def __len__(self) -> int:
        return len(self.cost)

    def of(self, rows: Bools | Ints) -> FaultTable:
        """Some of the faults."""
        columns = {name: getattr(self, name)[rows] for name in COLUMNS}
        return FaultTable(
            **columns,
            change={name: values[rows] for name, values in self.change.items()},
            right=self.right,
            numbers=self.numbers,
        )

    def rescaled(self) -> FaultTable:
        """The same faults, with costs from training inputs and the reference set, as `assess` combines them."""
        if not len(self) or np.isnan(self.trained).any():
            return self
        return replace(self, cost=combined(self.trained, self.trained_error, self.held_out, self.held_out_error))

    def counts(self, positions: Ints | None = None, split: str = TEST) -> tuple[Ints, Ints]:
        """Broken and repaired answers of each fault among some inputs, which may come more than once."""
        change = self.change[split] if positions is None else self.change[split][:, positions]
        return (change > 0).sum(1), (change < 0).sum(1)

    def points(self, positions: Ints | None = None, split: str = TEST) -> Floats:
        """Accuracy points that each fault loses on some inputs."""
        broken, repaired = self.counts(positions, split)
        inputs = self.change[split].shape[1] if positions is None else len(positions)
        return np.asarray(100 * (broken - repaired) / inputs, float)

    def noticed(self, positions: Ints | None = None) -> Bools:
        """Which faults a test set of these inputs notices."""
        return np.asarray(mcnemar_worse(*self.counts(positions)) < ALPHA)

    @property
    def counted(self) -> Bools:
        """Faults in the bins of cost."""
        return (self.cost >= POINTS[0]) & (self.cost < POINTS[-1])

    def save(self, path: Path) -> None:
        """Writes a file, whole or not at all."""
        arrays = {name: getattr(self, name) for name in (*COLUMNS, "numbers")}
        arrays |= {f"change {name}": values for name, values in self.change.items()}
        arrays |= {f"right {name}": values for name, values in self.right.items()}
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as part, part.open("wb") as file:
            np.savez_compressed(file, **arrays)

    @classmethod
    def load(cls, path: Path) -> FaultTable:
        """Reads what `save` wrote."""
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
        change, right = (
            {name.removeprefix(f"{kind} "): arrays[name] for name in arrays if name.startswith(f"{kind} ")}
            for kind in ("change", "right")
        )
        return cls(**{name: arrays[name] for name in (*COLUMNS, "numbers")}, change=change, right=right)


COLUMNS = tuple(field.name for field in fields(FaultTable) if field.name not in ("change", "right", "numbers"))


def combined(trained: Floats, trained_error: Floats, held_out: Floats, held_out_error: Floats) -> Floats:
    """Costs from those on training inputs and those on held-out inputs, as `assess` combines them."""
    limits = scale_limits(POINTS)
    ratio = CostScale.of(zip(trained, held_out, strict=True), limits).ratio
    pairs = zip(
        map(MeasuredCost, trained.tolist(), trained_error.tolist()),
        map(MeasuredCost, held_out.tolist(), held_out_error.tolist()),
        strict=True,
    )
    return np.array([combined_cost(ratio, limits, *pair) for pair in pairs], float)


def joined(tables: Iterable[FaultTable]) -> FaultTable:
    """The faults of several tables; of splits that differ in size by original, as many inputs as all have."""
    parts = list(tables)
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in COLUMNS}
    return FaultTable(
        **columns,
        change={name: _stacked([part.change[name] for part in parts]) for name in parts[0].change},
        right={name: _stacked([part.right[name] for part in parts]) for name in parts[0].right},
        numbers=np.concatenate([part.numbers for part in parts]),
    )


def _stacked(arrays: list[npt.NDArray[np.int8]]) -> npt.NDArray[np.int8]:
    inputs = min(array.shape[1] for array in arrays)
    return np.concatenate([array[:, :inputs] for array in arrays])


def rate_of(costs: Floats, noticed: Bools) -> float:
    """The notice rate; NaN if no fault is in the bins."""
    rate = notice_rate(costs, noticed)
    return float("nan") if rate is None else rate


def flips(table: FaultTable) -> Ints:
    """How many of the counted faults change the answer to each test input."""
    return np.asarray((table.change[TEST][table.counted] != 0).sum(0), np.int64)
