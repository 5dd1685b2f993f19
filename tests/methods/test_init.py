"""Methods stand under their names, and a file is one.

The row of weights from elsewhere has the encoder's name and title, trains nothing, and is one class.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import torch

from methods import METHODS, as_method, get_method
from methods.base import Batch
from methods.encoders.dilated import Dilated, DilatedConfig
from methods.encoders.pretrained import PretrainedEncoder

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


def test_methods_stand_in_tables_under_the_names_of_their_papers() -> None:
    assert [kind.title for kind in METHODS.values()] == [
        *("Random", "MoCo", "BYOL", "CLOCS", "PCLR", "COMET", "ETP", "PMQ", "PMQ (released code)"),
        *("SimCLR", "VICReg", "Barlow Twins", "SimSiam", "TS2Vec", "CPC", "JEPA", "MAE", "CLIP-Report"),
    ]


def test_a_file_is_a_method(tmp_path: Path) -> None:
    file = tmp_path / "small.py"
    file.write_text(OUTSIDE)
    method = get_method(str(file))
    encoder = Dilated(DilatedConfig(hidden=4, depth=2, output=4))
    x = torch.randn(2, 20, 12)
    loss = method(encoder, method.Config())(Batch(x, x, *[torch.arange(2)] * 3))
    torch.testing.assert_close(loss, 2 * encoder.pooled(x).square().mean())


class Theirs(PretrainedEncoder):
    name: ClassVar[str] = "theirs"
    title: ClassVar[str] = "Theirs, 2024"


def test_a_row_has_the_name_and_title_of_its_weights() -> None:
    row = as_method(Theirs)
    assert (row.name, row.title, row.trains, row.external_encoder) == ("theirs", "Theirs, 2024", False, Theirs)
    assert (row.__name__, row.__module__) == ("Theirs", Theirs.__module__)
    assert as_method(Theirs) is row
