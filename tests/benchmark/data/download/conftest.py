"""The mirrors file that is shipped."""

from __future__ import annotations

import pytest

from benchmark.config.yaml_text import values_of
from benchmark.data.download.catalogue import Catalogue, Subset, catalogue_of, shipped


@pytest.fixture(scope="session")
def shipped_catalogue() -> Catalogue:
    return catalogue_of(values_of(shipped()), shipped())


@pytest.fixture(scope="session")
def shipped_subsets(shipped_catalogue: Catalogue) -> dict[str, dict[str, Subset]]:
    return {name: source.subsets for name, source in shipped_catalogue.datasets.items()}
