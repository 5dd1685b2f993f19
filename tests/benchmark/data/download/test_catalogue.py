"""The mirrors file that is shipped names what the readers and the paper's config know, and no checksum."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

import pytest
from pydantic import ValidationError

from benchmark.config.load import load_config
from benchmark.data.download.catalogue import MOST_CONNECTIONS, Catalogue, Manners, Source, Tree, shipped
from benchmark.data.readers.registry import DATASETS


def test_every_dataset_has_homes_over_https(shipped_catalogue: Catalogue) -> None:
    assert list(shipped_catalogue.datasets) == list(DATASETS)
    for source in shipped_catalogue.datasets.values():
        trees = [home for home in source.homes.values() if isinstance(home, Tree)]
        assert len(trees) == 2
        assert all(home.url.startswith("https://") for home in trees)
        assert len({home.url.split("/", 3)[3].removeprefix("files/") for home in trees}) == 1


def test_layouts_are_folders_that_the_reader_looks_for(shipped_catalogue: Catalogue) -> None:
    for name, source in shipped_catalogue.datasets.items():
        assert DATASETS[name].folders[0] == name
        assert set(source.layouts) < set(DATASETS[name].folders)


def test_the_homes_are_those_that_the_readers_name(shipped_catalogue: Catalogue) -> None:
    for name, source in shipped_catalogue.datasets.items():
        (home,) = [home.url for own, home in source.homes.items() if own == "physionet"]
        assert home.replace("/files/", "/content/") in DATASETS[name].how_to_get


def test_the_paper_s_part_is_the_config_s(shipped_catalogue: Catalogue) -> None:
    config = load_config("paper").data
    assert all("paper" in shipped_catalogue.datasets[name].subsets for name in (config.pretrain, *config.datasets))
    patterns = [own for own in shipped_catalogue.datasets[config.pretrain].subsets["paper"].take if "/" in own]
    assert config.pretrain_prefix == "files/p10"
    assert all(own.startswith(config.pretrain_prefix) for own in patterns)
    assert any(fnmatchcase("files/p1099/p10990000/s4/4.dat", own) for own in patterns)


def test_manners_are_modest(shipped_catalogue: Catalogue) -> None:
    asked_for = {"connections": 4, "tries": 8, "first_wait": 1, "longest_wait": 60, "longest_rest": 900, "timeout": 60}
    assert shipped_catalogue.manners.model_dump() == Manners().model_dump() == asked_for
    assert MOST_CONNECTIONS == 8
    assert [Manners(connections=count).connections for count in (1, 8)] == [1, 8]
    for count in (0, 9):
        with pytest.raises(ValueError, match="connections"):
            Manners(connections=count)


def test_no_checksum_is_shipped() -> None:
    assert not re.search(r"\b[0-9a-f]{32,}\b", shipped().read_text())


def test_what_a_mirrors_file_says_cannot_be_changed(shipped_catalogue: Catalogue) -> None:
    with pytest.raises(ValidationError, match="frozen"):
        shipped_catalogue.manners.connections = 8


def test_a_home_of_an_unknown_kind_is_told_with_the_kinds_that_there_are(shipped_catalogue: Catalogue) -> None:
    source = shipped_catalogue.datasets["ptb-xl"].model_dump()
    source["homes"]["physionet"]["kind"] = "ftp"
    with pytest.raises(ValidationError) as caught:
        Source.model_validate(source)
    (error,) = caught.value.errors()
    assert (error["loc"], error["type"]) == (("homes", "physionet"), "union_tag_invalid")


@pytest.mark.parametrize("key", ["homes", "subsets"])
def test_a_source_has_a_home_and_a_subset(key: str, shipped_catalogue: Catalogue) -> None:
    source = shipped_catalogue.datasets["ptb-xl"].model_dump() | {key: {}}
    with pytest.raises(ValidationError, match=rf"{key}\n.* at least 1 item"):
        Source.model_validate(source)
