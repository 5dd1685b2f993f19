"""docs/METHODS.md and its worked example: the example keeps the contract, and the page names what there is."""

from __future__ import annotations

import re

import pytest

from methods.contract import ENCODER_CHECKS
from methods.encoders import get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from tests.docs.pages import DOCS, text_of

TEXT = text_of("METHODS.md", "## Writing an encoder")
EXAMPLE = DOCS / "encoder" / "gru.py"


@pytest.mark.slow
def test_the_example_keeps_the_contract() -> None:
    for check in ENCODER_CHECKS:
        check(get_encoder(str(EXAMPLE)))


def test_the_example_refuses_an_odd_width() -> None:
    kind = get_encoder(str(EXAMPLE))
    with pytest.raises(ValueError, match="must be even"):
        kind.Config(output=7)


def test_the_page_names_what_the_contract_has() -> None:
    for name in re.findall(r"^- `(\w+)", TEXT, re.MULTILINE):
        assert hasattr(Encoder, name), name
    for name in ("leads", "output"):
        assert f"`{name}`" in TEXT
        assert name in EncoderConfig.__annotations__
