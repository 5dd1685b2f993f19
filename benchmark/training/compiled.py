"""`--compile`: torch.compile fuses what stands between the convolutions of a method's encoders while it is pretrained.

What it builds depends on the device, the threads and the precision, like all bits here, and is a mode of its own.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from benchmark.config.errors import ConfigError
from methods.base import PretrainMethod
from methods.encoders.base import Encoder


def require_compiler(device: torch.device) -> None:
    """Compile something small. Raises ConfigError with the cause where torch.compile cannot build for the device."""
    try:
        torch.compile(F.gelu)(torch.zeros(2, device=device))
    except Exception as error:
        cause = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        needed = "a C++ compiler (g++ or clang++) and Python's headers" if device.type == "cpu" else "Triton"
        raise ConfigError(
            f"--compile: torch.compile does not work here ({cause}); install {needed}, or leave --compile out"
        ) from None


def compile_encoders(method: PretrainMethod) -> None:
    """Have every encoder of a method compiled at its first batch, in training; copies of them are not."""
    # What an earlier training compiled would count against torch's limit of forms per function.
    torch.compiler.reset()
    for module in method.modules():
        if isinstance(module, Encoder):
            module.compile_blocks()
