"""docs/METHODS.md and its worked example: the example keeps the contract, and the page names what there is."""

from __future__ import annotations

import re

import pytest

from methods.contract import ENCODER_CHECKS
from methods.encoders import get_encoder
from methods.encoders.base import Encoder
from tests.docs.pages import DOCS, text_of


@pytest.mark.slow
def test_the_example_keeps_the_contract() -> None:
    for check in ENCODER_CHECKS:
        check(get_encoder(str(DOCS / "encoder" / "gru.py")))


def test_the_page_names_what_the_contract_has() -> None:
    for name in re.findall(r"^- `(\w+)", text_of("METHODS.md", "## Writing an encoder"), re.MULTILINE):
        assert hasattr(Encoder, name), name
