"""Sessions of ONNX Runtime, which the extra ``onnx`` installs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from torch import Tensor

from mutiny.core.errors import BadInput, MissingExtra

TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
"""Types of arrays by the name that ONNX Runtime gives to them; others stay as they are."""


class OnnxNetwork:
    """A session of ONNX Runtime that is called like a network.

    Inputs are given in the order of the session's inputs, or by their names. If the session takes batches of one size
    only, it is called with parts of that size, the last of which is filled up.

    Args:
        session: An ``onnxruntime.InferenceSession``.
        file: File that it was read from, so that other processes can read it too.
    """

    def __init__(self, session: Any, file: Path | None = None) -> None:
        self.session, self.file = session, file

    @classmethod
    def read(cls, file: Path, name: str) -> OnnxNetwork:
        """The network in an ``.onnx`` file, on the CPU.

        Args:
            file: The file.
            name: Name of the argument, for messages.
        """
        if not file.is_file():
            raise BadInput(name, file, "a file that exists")
        runtime = _runtime()
        try:
            session = runtime.InferenceSession(str(file), _options(runtime), providers=["CPUExecutionProvider"])
        except Exception as error:  # ONNX Runtime has errors of its own for everything that is wrong with a file
            raise BadInput(name, file, "a model in the format ONNX", f"ONNX Runtime says: {error}.") from error
        return cls(session, file.resolve())

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The first output for inputs."""
        wanted = self.session.get_inputs()
        given = dict(zip((each.name for each in wanted), args, strict=False)) | kwargs
        feed = {each.name: _array(given[each.name], each.type) for each in wanted if each.name in given}
        batch = wanted[0].shape[0] if wanted and wanted[0].shape else None
        if not isinstance(batch, int) or not feed:
            return self.session.run(None, feed)[0]
        rows = len(next(iter(feed.values())))
        parts = []
        for start in range(0, rows, batch):
            part = {name: array[start : start + batch] for name, array in feed.items()}
            kept = len(next(iter(part.values())))
            full = {name: np.concatenate([array, array[[-1] * (batch - kept)]]) for name, array in part.items()}
            parts.append(self.session.run(None, full)[0][:kept])
        return np.concatenate(parts)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.file is None:
            fix = "Give the path of its .onnx file instead, or run with the engine serial."
            raise BadInput("engine", "processes", "serial, because a session of ONNX Runtime cannot be sent", fix)
        return OnnxNetwork.read, (self.file, "b")


def is_onnx_session(value: Any) -> bool:
    """Whether a value is a session of ONNX Runtime, which need not be installed."""
    return type(value).__module__.partition(".")[0] == "onnxruntime" and hasattr(value, "get_inputs")


def _array(value: Any, kind: str) -> Any:
    array = value.detach().cpu().numpy() if isinstance(value, Tensor) else np.asarray(value)
    return array.astype(TYPES[kind], copy=False) if kind in TYPES else array


def _runtime() -> Any:
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtra("onnxruntime", "onnx") from None
    return onnxruntime


def _options(runtime: Any) -> Any:
    """One thread, as every verb has by default."""
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    return options
