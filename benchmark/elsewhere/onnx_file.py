"""An ONNX file as an encoder, run by onnxruntime: frozen, since it has no gradients."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from benchmark.elsewhere.model_file import ModelFile

LACKING = "needs onnxruntime: pip install 'ecg-pretrain-bench[onnx]'"
TYPES = {"tensor(float)": np.float32, "tensor(double)": np.float64, "tensor(float16)": np.float16}
"""Inputs that it may have."""


class OnnxFile(ModelFile):
    """A graph with one input of windows."""

    frozen: ClassVar[str] = "an ONNX file has no gradients"

    def load(self) -> None:
        """Open the graph. Raises ValueError for a file that is none, or that reads other signals than the card says."""
        try:
            import onnxruntime
        except ImportError:
            raise ValueError(f"{self.model()} {LACKING}") from None
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = 3
        try:
            session: Any = onnxruntime.InferenceSession(str(self.model()), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # onnxruntime's exceptions have no common base
            reason = " ".join(str(error).split())[:120]
            raise ValueError(f"{self.model()} is no ONNX file that onnxruntime opens: {reason}") from None
        self._refuse_other_signals(session)
        names = [own.name for own in session.get_outputs()]
        if self.output is None and len(names) > 1:
            raise ValueError(f"{self.model()} has the outputs {', '.join(names)}: name one by `output` in {self.card}")
        if self.output is not None and self.output not in names:
            raise ValueError(f"{self.card}: output {self.output!r} is not in the file; there are {', '.join(names)}")
        self._session, self._output = session, self.output or names[0]

    def _refuse_other_signals(self, session: Any) -> None:
        """Raise ValueError where the graph's input is not of the card's signals."""
        inputs = session.get_inputs()
        if len(inputs) != 1 or inputs[0].type not in TYPES or len(inputs[0].shape) != 3:
            told = "; ".join(f"{own.name} {own.type} {own.shape}" for own in inputs)
            raise ValueError(
                f"{self.model()} has the inputs {told}: one of numbers of three axes is needed, windows by leads and "
                "samples; another needs a .py file (docs/ELSEWHERE.md)"
            )
        self._input, self._type = inputs[0].name, TYPES[inputs[0].type]
        own, shape = self.signals, inputs[0].shape
        leads, samples = (shape[1], shape[2]) if own.layout == "leads-first" else (shape[2], shape[1])
        if isinstance(leads, int) and leads != len(own.leads):
            raise ValueError(
                f"signals.leads: the card {self.card} names {len(own.leads)} leads, and {self.model()} takes {leads} "
                f"({own.layout}, input {shape}); name those that it reads, or correct signals.layout"
            )
        if isinstance(samples, int) and samples != own.samples:
            raise ValueError(
                f"signals: the card {self.card} makes windows of {own.samples} samples, and {self.model()} takes "
                f"{samples} (input {shape}); correct signals.rate or signals.seconds"
            )
        self._at_once = shape[0] if isinstance(shape[0], int) else None

    def encode(self, x: Tensor) -> Tensor:
        """Windows in its layout -> (B, K); as many at a time as the file takes."""
        windows = x.detach().cpu().numpy().astype(self._type)
        size = self._at_once or len(windows)
        parts = []
        for start in range(0, len(windows), size):
            part = windows[start : start + size]
            filled = np.pad(part, ((0, size - len(part)), (0, 0), (0, 0)))  # the last may be short
            parts.append(self._session.run([self._output], {self._input: filled})[0][: len(part)])
        return torch.from_numpy(np.concatenate(parts).astype(np.float32)).to(x.device)
