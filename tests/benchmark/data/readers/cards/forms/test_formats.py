"""A reader of every format, and the versions of the packages that belong to what it reads."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import get_args

import pytest

from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.cards.card import Format
from benchmark.data.readers.cards.forms import formats
from benchmark.data.readers.cards.forms.formats import READERS

PACKAGES = {"hdf5": ("h5py",), "export": ("ecgdatakit",)}


def test_every_format_has_a_reader_and_its_packages() -> None:
    assert set(READERS) == set(get_args(Format))
    assert {name: reader.packages for name, reader in READERS.items() if reader.packages} == PACKAGES
    assert {name for name, reader in READERS.items() if reader.read_row} == {"numpy", "hdf5"}


@pytest.mark.parametrize("name", PACKAGES)
def test_versions_are_those_of_what_is_installed(name: str) -> None:
    (package,) = PACKAGES[name]
    pytest.importorskip(package)
    assert READERS[name].versions("Ours") == {package: version(package)}  # type: ignore[index]


def test_a_package_that_is_missing_is_named_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def lacking(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(formats, "version", lacking)
    with pytest.raises(DatasetError, match=r"^Ours: these files need ecgdatakit: pip install '\.\[formats\]'$"):
        READERS["export"].versions("Ours")
    assert READERS["csv"].versions("Ours") == {}


@pytest.mark.parametrize("name", sorted(set(READERS) - {"wfdb"}))
def test_a_recording_is_one_file_but_for_wfdb(name: Format) -> None:
    assert READERS[name].files(Path("a")) == (Path("a"),)
