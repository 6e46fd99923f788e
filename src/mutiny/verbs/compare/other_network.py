"""B, if it is a network: a model of any kind, or the first original of a subject."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torch import nn

from mutiny.campaigns.verb import Session, code_of
from mutiny.models import Forward
from mutiny.models.foreign_network import ForeignNetwork
from mutiny.subjects import Subject
from mutiny.subjects.subject import as_device, on_device


@dataclass(frozen=True, eq=False)
class OtherNetwork:
    """B, if it is a network.

    Attributes:
        model: The network; ``None`` if a subject's recipe trains it.
        subject: The subject of which it is the first original; ``None`` for a bare network.
        forward: Function that calls it.
        function: What was wrapped, such as a TorchScript module, so that other calls wait for it.
    """

    model: nn.Module | None
    subject: Subject | None
    forward: Forward
    function: Any = None

    @property
    def code(self) -> str:
        """Hash of everything that decides its answers, as far as that can be known."""
        if self.subject is None:
            return code_of([self.model, self.forward])
        trained = [self.subject.recipe, self.subject.train]
        return code_of([self.subject.models[:1] or trained, self.forward])

    def ready(self, session: Session) -> nn.Module:
        """The network, trained if necessary, on the device of the call."""
        runtime = session.runtime
        if self.subject is not None:
            how = {"folder": runtime.originals_folder, "progress": session.progress}
            return self.subject.ready(1, seed=runtime.seed, device=runtime.device, **how)[0]  # type: ignore[arg-type]
        assert self.model is not None
        if runtime.device is None or isinstance(self.model, ForeignNetwork):
            return self.model
        return on_device(self.model, as_device(runtime.device))
