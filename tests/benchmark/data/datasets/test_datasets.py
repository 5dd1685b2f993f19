"""The table of datasets and where their folders are looked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.datasets import DATASETS, find_root, refuse_unfinished
from benchmark.data.datasets.base import DatasetError


@pytest.mark.parametrize("name", DATASETS)
def test_a_dataset_opens_lazily(name: str, tmp_path: Path):
    reader = DATASETS[name]
    assert reader.name == name
    assert reader.folders[0] == name
    assert DATASETS[name](tmp_path).root == tmp_path
    with pytest.raises(DatasetError, match=r"https?://"):
        DATASETS[name](tmp_path).listing()


def test_a_folder_whose_download_has_not_ended_is_refused(tmp_path: Path):
    source = DATASETS["ptb-xl"]
    refuse_unfinished(source, tmp_path)
    (tmp_path / ".download").mkdir()
    with pytest.raises(DatasetError, match="data download ptb-xl"):
        refuse_unfinished(source, tmp_path)


def test_the_given_folder_precedes_the_root(tmp_path: Path):
    (tmp_path / "chapman").mkdir()
    (tmp_path / "mine").mkdir()
    assert find_root(DATASETS["chapman"], tmp_path, {"chapman": tmp_path / "mine"}) == tmp_path / "mine"
    assert find_root(DATASETS["chapman"], tmp_path, {"ptb-xl": tmp_path / "mine"}) == tmp_path / "chapman"


def test_a_missing_folder_says_how_to_give_it(tmp_path: Path):
    for root, paths, message in (
        (None, {}, "--data-root DIR or --data ptb-xl=DIR"),
        (tmp_path, {}, r"no folder .*ptb-xl, .*: .*--data ptb-xl=DIR.*physionet"),
        (tmp_path, {"ptb-xl": tmp_path / "gone"}, "no folder .*gone: use"),
    ):
        with pytest.raises(DatasetError, match=message):
            find_root(DATASETS["ptb-xl"], root, paths)
