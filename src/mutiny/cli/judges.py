"""The judges that ``--judge`` names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from mutiny.verbs.assess.judges.base import Judge
    from mutiny.verbs.assess.judges.paired_test import PairedTest


def judges_typed(texts: Sequence[str], paired: PairedTest) -> tuple[Judge, ...]:
    """The judges that a user typed, and the paired test with the level of ``--alpha``.

    Args:
        texts: Values of ``--judge``.
        paired: Paired test with the level of ``--alpha``; it replaces one that is typed without parameters.
    """
    from mutiny.core.errors import called
    from mutiny.verbs.assess.judges.parsing import as_judges

    with called("--judge", "judge"):
        given = [paired if text.strip().casefold() == paired.code else text for text in texts]
        typed = as_judges(given)[: len(given)] if given else ()
        own = any(isinstance(judge, type(paired)) for judge in typed)
        return as_judges(typed if own else [*typed, paired])
