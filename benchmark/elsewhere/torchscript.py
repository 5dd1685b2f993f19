"""A TorchScript file as an encoder: frozen, or fine-tuned where it has parameters."""

from __future__ import annotations

import warnings
from io import BytesIO
from typing import Any

import torch
from torch import Tensor

from benchmark.elsewhere.model_file import ModelFile, one_tensor

WITHOUT_PARAMETERS = "its TorchScript file holds no parameters that learn (torch.jit.freeze makes them constants)"


class TorchScriptFile(ModelFile):
    """A module that torch.jit saved."""

    def load(self) -> None:
        """Read the module. Raises ValueError for a file that is none."""
        file = self.model()
        self._content = file.read_bytes()
        try:
            self.network: Any = opened(self._content)
        except (RuntimeError, ValueError) as error:
            reason = str(error).strip().splitlines()[0][:120]
            raise ValueError(
                f"{file} is no TorchScript file ({reason}): save torch.jit.script(model) or a trace of it; a state "
                "dict needs a .py file with the network (docs/ELSEWHERE.md)"
            ) from None

    def encode(self, x: Tensor) -> Tensor:
        """Windows in its layout -> (B, K)."""
        return one_tensor(self.network(x), self.model())

    def __deepcopy__(self, memo: dict[int, Any]) -> TorchScriptFile:
        """A copy with parameters of its own: torch's copies of a ScriptModule's are no leaves of a graph."""
        copied = type(self)(self.config)
        copied._content = self._content
        copied.network = opened(self._content)
        copied.load_state_dict(self.state_dict())
        copied.dropout = self.dropout
        tensors = [*self.parameters(), *self.buffers()]
        return copied.train(self.training).to(tensors[0].device if tensors else "cpu")

    @classmethod
    def why_frozen(cls) -> str:
        """Why it cannot be fine-tuned, from the file's parameters."""
        learn = any(parameter.requires_grad for parameter in cls.loaded().parameters())
        return "" if learn else WITHOUT_PARAMETERS


def opened(content: bytes) -> Any:
    """The module of a file's content, on the CPU. Raises RuntimeError for a file of another kind."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of torch.jit, by torch itself
        return torch.jit.load(BytesIO(content), map_location="cpu")  # type: ignore[no-untyped-call]
