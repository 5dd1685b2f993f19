"""An encoder as an ONNX file: windows (n, S, 12) -> embeddings (n, K), any n, checked against torch by onnxruntime."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import LEADS
from benchmark.results.files.write import replacing
from methods.encoders.base import Encoder

ONNX = "encoder.onnx"
INPUT, OUTPUT = "windows", "embeddings"
TOLERANCE = 1e-4
"""Largest difference between onnxruntime and torch, both in float32, relative to the largest embedding."""
BATCHES = (1, 2, 7)
"""Numbers of windows that the check embeds."""
LACKING = "needs onnx, onnxscript and onnxruntime: pip install 'ecg-pretrain-bench[onnx]'"


class Pooled(nn.Module):
    """An encoder whose `forward` is its `pooled`."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, windows: Tensor) -> Tensor:
        """(n, S, 12) -> (n, K)."""
        return self.encoder.pooled(windows)  # (n, K)


def write_onnx(encoder: Encoder, samples: int, file: Path) -> float:
    """Write the file and check it; returns the largest relative difference found.

    Raises ConfigError, in one line, without the extra `onnx`, for an encoder that cannot be exported, and if
    onnxruntime differs by more than `TOLERANCE`; then no file is left.
    """
    try:
        import onnxruntime
        import onnxscript  # noqa: F401  torch.onnx needs it and says so in many lines
        from onnx import ModelProto  # noqa: F401
    except ImportError as error:
        raise ConfigError(f"--onnx {LACKING} ({error.name} is missing)") from None
    content = onnx_bytes(encoder.cpu().eval(), samples)
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    found = max(difference(session, encoder, samples, count) for count in BATCHES)
    if not found <= TOLERANCE:
        raise ConfigError(
            f"the ONNX file of {encoder.name!r} differs from torch by {found:.1e} of the largest embedding, more than "
            f"{TOLERANCE:g}; it is not written"
        )
    with replacing(file) as handle:
        handle.write(content)
    return found


def onnx_bytes(encoder: Encoder, samples: int) -> bytes:
    """Content of the file. Raises ConfigError for an encoder with an operation that ONNX lacks."""
    example = torch.zeros(2, samples, len(LEADS))  # (n, S, 12)
    count = torch.export.Dim("n", min=1)
    try:
        with quiet():
            program = torch.onnx.export(
                Pooled(encoder.for_export()),
                (example,),
                input_names=[INPUT],
                output_names=[OUTPUT],
                dynamic_shapes={"windows": {0: count}},
                dynamo=True,
                verbose=False,
            )
    except torch.onnx.errors.OnnxExporterError as error:
        raise ConfigError(
            f"the encoder {encoder.name!r} cannot be written as ONNX: it has an operation that torch cannot convert "
            f"({type(error).__name__})"
        ) from None
    assert program is not None
    return bytes(program.model_proto.SerializeToString())


@contextmanager
def quiet() -> Iterator[None]:
    """Without torch's remarks on its own deprecations and on packages that are not needed."""
    logger = logging.getLogger("torch.onnx")
    before = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(before)


def difference(session: Any, encoder: Encoder, samples: int, count: int) -> float:
    """Largest difference between a session of onnxruntime and torch, relative to the largest embedding."""
    draws = np.random.default_rng(count).normal(size=(count, samples, len(LEADS)))
    windows = draws.astype(np.float16).astype(np.float32)  # (n, S, 12)
    with torch.no_grad():
        expected = encoder.pooled(torch.from_numpy(windows)).numpy()  # (n, K)
    (found,) = session.run([OUTPUT], {INPUT: windows})
    return float(np.abs(found - expected).max() / max(np.abs(expected).max(), 1e-12))
