"""`--compile`: pretrain with torch.compile, which fuses the operations between the encoders' convolutions.

Compiled results differ from others by rounding and have their own mode in result keys.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F

from benchmark.config.errors import ConfigError
from methods.base import PretrainMethod
from methods.encoders.base import Encoder


def require_compiler(device: torch.device) -> None:
    """Test-compile a small function. Raises ConfigError with the cause if torch.compile fails on the device."""
    try:
        torch.compile(F.gelu)(torch.zeros(2, device=device))
    except Exception as error:
        cause = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        needed = "a C++ compiler (g++ or clang++) and Python's headers" if device.type == "cpu" else "Triton"
        raise ConfigError(
            f"--compile: torch.compile does not work here ({cause}); install {needed}, or leave --compile out"
        ) from None


def compile_encoders(method: PretrainMethod) -> None:
    """Compile every encoder of a method, at its first training batch; later copies are not compiled."""
    # Earlier compilations would count against torch's limit of recompilations per function.
    torch.compiler.reset()
    for module in method.modules():
        if isinstance(module, Encoder):
            module.compile_blocks()
