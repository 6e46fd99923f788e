"""What need not be trained, because its result is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from mutiny.core.checks import check_whole


@dataclass(frozen=True)
class Savings:
    """Ways to train less, or faster, for the same verdicts. Each can be switched off; `Savings.none` is the plain way.

    Args:
        shared: one training is evaluated on every set of inputs, serves every search that asks for it and every
            configuration that is the very same program, and stays on disk. Otherwise each search trains its own.
        beginnings: mutants with fewer epochs or less patience are taken from the way of one longer training.
        first_group: so many instances are trained first, then twice as many in all, and so on, until those that are
            missing cannot change the verdict; ``None`` trains all at once.
        together: instances of a group are trained in one go, their weights stacked, where the network allows it (no
            dropout, no normalization over batches, no early stopping). Twice to seven times as fast for a small
            perceptron, slower for most convolutions, and different from one by one by rounding: not the default.

    >>> list(Savings().groups(20)), list(Savings(first_group=None).groups(20))
    ([5, 10, 20], [20])
    """

    shared: bool = True
    beginnings: bool = True
    first_group: int | None = 5
    together: bool = False

    def __post_init__(self) -> None:
        check_whole("first_group", 1 if self.first_group is None else self.first_group)

    @classmethod
    def none(cls) -> Savings:
        """Everything is trained whenever it is asked for."""
        return cls(shared=False, beginnings=False, first_group=None)

    def groups(self, total: int) -> Iterator[int]:
        """How many instances there are after each group."""
        size = total if self.first_group is None else self.first_group
        while size < total:
            yield size
            size *= 2
        yield total
