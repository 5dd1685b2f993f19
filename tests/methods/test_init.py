"""Methods are found by name or by file, and what is wrong with either is said in one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from methods import METHODS, get_method
from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig

OUTSIDE = '''
"""A method that keeps representations small."""
from __future__ import annotations
from pydantic.dataclasses import dataclass
from methods.base import MethodConfig, PretrainMethod

@dataclass(frozen=True)
class Config(MethodConfig):
    weight: float = 2.0

class Small(PretrainMethod):
    name, title, Config = "small", "Small", Config

    def __init__(self, encoder, config):
        super().__init__(encoder, config)
        self.weight = config.weight

    def forward(self, batch):
        return self.weight * self.encoder.pooled(batch.x1).square().mean()
'''


def test_names_lead_to_classes() -> None:
    for name, method in METHODS.items():
        assert get_method(name) is method
        assert method.name == name


@pytest.mark.parametrize(
    ("name", "hint"),
    [("pmg", "did you mean 'pmq'? choose from"), ("xyz", "unknown method 'xyz': choose from random, ")],
)
def test_an_unknown_name_is_answered_with_those_there_are(name: str, hint: str) -> None:
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - the line is looked into below
        get_method(name)
    assert hint in str(caught.value)


def test_a_file_is_a_method(tmp_path: Path) -> None:
    file = tmp_path / "small.py"
    file.write_text(OUTSIDE)
    method = get_method(str(file))
    assert get_method(str(file)) is method
    encoder = Dilated(DilatedConfig(hidden=4, depth=2, output=4))
    x = torch.randn(2, 20, 12)
    loss = method(encoder, method.Config())(Batch(x, x, *[torch.arange(2)] * 3))
    torch.testing.assert_close(loss, 2 * encoder.pooled(x).square().mean())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", "defines 0 PretrainMethod classes"),
        (OUTSIDE + "\nclass Other(Small): pass\n", "defines 2 PretrainMethod classes"),
        (OUTSIDE.replace('"small"', '"pmq"'), "give Small a `name`"),
        (OUTSIDE.replace('"small"', '"../small"'), "the name '../small' is not of letters"),
        ("import nowhere_to_be_found", "ModuleNotFoundError: No module named 'nowhere_to_be_found'"),
        ("def", "SyntaxError"),
    ],
)
def test_a_file_that_is_no_method_is_refused(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "mine.py"
    file.write_text(text)
    with pytest.raises(ValueError, match=message):
        get_method(str(file))


def test_a_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(ValueError, match=r"nowhere\.py does not exist"):
        get_method("nowhere.py")
