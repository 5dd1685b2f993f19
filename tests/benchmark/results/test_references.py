"""References: who is cited for a method, an encoder or a dataset."""

from __future__ import annotations

from benchmark.data.datasets import DATASETS
from benchmark.results.references import cited, references, short_text
from methods import METHODS
from methods.encoders import ENCODERS


def test_whatever_a_config_names_has_a_reference() -> None:
    names = {*METHODS, *ENCODERS, *DATASETS} - {"random"}
    assert [name for name in sorted(names) if not cited([name])] == []


def test_a_reference_has_a_short_name() -> None:
    assert [short_text(name) for name in ("moco", "simsiam", "holm", "random")] == [
        " (He et al. 2020)", " (Chen and He 2021)", " (Holm 1979)", "",
    ]  # fmt: skip


def test_references_are_valid_bibtex() -> None:
    assert len({reference.key for reference in references()}) == len(references())
    for reference in references():
        assert reference.entry.count("{") == reference.entry.count("}")
        assert reference.entry.splitlines()[-1] == "}"
