"""docs/METHODS.md and its worked examples: they keep the contract, and the page names what there is."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import get_args

import pytest
import torch

from benchmark.cli.main import OK
from methods import find_class
from methods.base import Batch, Batching, Pairing, PretrainMethod
from methods.encoders.base import Encoder
from run_benchmark import main
from tests.docs.pages import DOCS, text_of

TEXT = text_of("METHODS.md", "## Writing a method")
EXAMPLE = DOCS / "method" / "align_uniform.py"


@pytest.mark.slow
@pytest.mark.parametrize("example", [EXAMPLE, DOCS / "encoder" / "gru.py"], ids=lambda path: path.stem)
def test_the_examples_keep_the_contract(example: Path) -> None:
    assert main(["check", str(example)]) == OK


def test_the_terms_of_the_example_are_those_of_the_paper() -> None:
    module = sys.modules[find_class("method", str(EXAMPLE), {}, PretrainMethod).__module__]
    z = torch.tensor([[1.0, 0.0], [-1.0, 0.0]])  # (B, K): opposite points of the circle
    assert module.alignment_loss(z, z) == 0.0
    assert module.alignment_loss(z, -z) == pytest.approx(4.0)
    assert module.uniformity_loss(z) == pytest.approx(-8.0)
    assert module.uniformity_loss(z[:1].expand(3, 2)) == 0.0


def test_the_page_names_what_the_contract_has() -> None:
    for name in (*Batch._fields, *get_args(Pairing), *get_args(Batching)):
        assert f"`{name}`" in TEXT
    for text, kind in ((TEXT, PretrainMethod), (text_of("METHODS.md", "## Writing an encoder"), Encoder)):
        for name in re.findall(r"^- `(\w+)", text, re.MULTILINE):
            assert hasattr(kind, name), name
    parts = {path.stem for path in (DOCS.parent / "methods" / "parts").glob("*.py")}
    (table,) = re.findall(r"\| `methods/parts/`.*?\n\n", TEXT, re.DOTALL)
    assert set(re.findall(r"`(\w+)`(?=[,` |])", table.split("\n", 2)[2])) <= parts
