"""docs/METHODS.md and its worked example: the example keeps the contract, and the page names what there is."""

from __future__ import annotations

import re

import pytest

from benchmark.cli import check as contract
from benchmark.cli.check import ENCODER_PROMISES, check_encoder
from methods.encoders import get_encoder
from methods.encoders.base import Encoder, EncoderConfig
from tests.docs.pages import DOCS, text_of

TEXT = text_of("METHODS.md", "## Writing an encoder")
EXAMPLE = DOCS / "encoder" / "gru.py"


def broken(name: str, monkeypatch: pytest.MonkeyPatch, promises: list[contract.Promise]) -> list[str]:
    """Lines on the promises that an encoder breaks, of some."""
    monkeypatch.setattr(contract, "ENCODER_PROMISES", promises)
    return [str(verdict) for verdict in check_encoder(get_encoder(name)) if not verdict.kept]


def test_the_example_keeps_every_promise_about_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = [promise for promise in ENCODER_PROMISES if promise.name != "methods"]
    assert broken(str(EXAMPLE), monkeypatch, alone) == []


@pytest.mark.slow
def test_every_method_takes_a_step_with_the_example(monkeypatch: pytest.MonkeyPatch) -> None:
    assert broken(str(EXAMPLE), monkeypatch, [p for p in ENCODER_PROMISES if p.name == "methods"]) == []


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
