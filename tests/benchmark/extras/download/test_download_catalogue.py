"""The mirrors file that is shipped names what the readers and the paper's config know, and no checksum.

Lists of sums as publishers write them, and what is taken from them.

Room on the disk, and bytes as text.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from pydantic import ValidationError

from benchmark.config.config import load_config
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.chapman import LAST
from benchmark.extras import download_catalogue
from benchmark.extras.download_catalogue import (
    MOST_CONNECTIONS,
    Catalogue,
    Manners,
    Source,
    Subset,
    Tree,
    Wanted,
    catalogue_of,
    check_room,
    chosen,
    disk_of,
    free_bytes,
    listed,
    shipped,
    shown_bytes,
)


def test_the_homes_and_layouts_are_those_that_the_readers_name(shipped_catalogue: Catalogue) -> None:
    assert list(shipped_catalogue.datasets) == list(DATASETS)
    for name, source in shipped_catalogue.datasets.items():
        trees = {key: home.url for key, home in source.homes.items() if isinstance(home, Tree)}
        assert len(trees) == 2
        assert all(url.startswith("https://") for url in trees.values())
        assert len({url.split("/", 3)[3].removeprefix("files/") for url in trees.values()}) == 1
        assert trees["physionet"].replace("/files/", "/content/") in DATASETS[name].how_to_get
        assert DATASETS[name].folders[0] == name
        assert set(source.layouts) < set(DATASETS[name].folders)
    assert not re.search(r"\b[0-9a-f]{32,}\b", shipped().read_text()), "sums are the publisher's"


def test_the_paper_s_part_is_the_config_s(shipped_catalogue: Catalogue) -> None:
    config = load_config("paper").data
    assert all("paper" in shipped_catalogue.datasets[name].subsets for name in (config.pretrain, *config.datasets))
    patterns = [own for own in shipped_catalogue.datasets[config.pretrain].subsets["paper"].take if "/" in own]
    assert config.pretrain_prefix == "files/p10"
    assert all(own.startswith(config.pretrain_prefix) for own in patterns)
    assert any(fnmatchcase("files/p1099/p10990000/s4/4.dat", own) for own in patterns)


def test_manners_are_modest(shipped_catalogue: Catalogue) -> None:
    asked_for = {"connections": 4, "tries": 8, "first_wait": 1, "longest_wait": 60, "longest_rest": 900, "timeout": 60}
    asked_for |= {"slowest": 1024, "patience": 60}
    assert shipped_catalogue.manners.model_dump() == Manners().model_dump() == asked_for
    assert MOST_CONNECTIONS == 8
    assert [Manners(connections=count).connections for count in (1, 8)] == [1, 8]
    for count in (0, 9):
        with pytest.raises(ValueError, match="connections"):
            Manners(connections=count)


def test_a_home_of_an_unknown_kind_is_told_with_the_kinds_that_there_are(shipped_catalogue: Catalogue) -> None:
    source = shipped_catalogue.datasets["ptb-xl"].model_dump()
    source["homes"]["physionet"]["kind"] = "ftp"
    with pytest.raises(DatasetError, match=r"^mirrors: datasets\.x\.homes\.physionet: input tag 'ftp' .*'figshare'$"):
        catalogue_of({"datasets": {"x": source}}, Path("mirrors"))


@pytest.mark.parametrize("key", ["homes", "subsets"])
def test_a_source_has_a_home_and_a_subset(key: str, shipped_catalogue: Catalogue) -> None:
    source = shipped_catalogue.datasets["ptb-xl"].model_dump() | {key: {}}
    with pytest.raises(ValidationError, match=rf"{key}\n.* at least 1 item"):
        Source.model_validate(source)


DIGEST = "0123456789abcdef" * 4
SUBSET = {"what": "x", "take": ["in/*.dat"], "recordings": 1, "patients": 1, "recording_bytes": 1}
SOURCE = Source.model_validate(
    {
        "release": "X 1.0",
        "folder": "in/",
        "homes": {"here": {"kind": "tree", "url": "http://x/"}},
        "subsets": {"all": SUBSET},
        "sizes": {"*.dat": 120},
    }
)


@pytest.mark.parametrize(
    "line", ["{} in/a b.dat", "{}  in/a b.dat", "{} *in/a b.dat\r", "{}\tin/a b.dat", "{}  ./in/a b.dat"]
)
def test_every_common_form_of_a_line_is_read(line: str) -> None:
    assert list(listed([line.format(DIGEST), "\n", ""], Path("sums"))) == [("in/a b.dat", DIGEST)]


@pytest.mark.parametrize(
    "line", [DIGEST, f"{DIGEST[:-1]} a", f"{DIGEST.upper()} a", f"{DIGEST} ..", f"{DIGEST} a\\..\\b"]
)
def test_any_other_line_refuses_the_list(line: str) -> None:
    with pytest.raises(DatasetError, match=r"^sums line 2"):
        list(listed([f"{DIGEST} a", line], Path("sums")))


def test_a_subset_is_taken_below_the_publisher_s_folder(tmp_path: Path) -> None:
    """A name in another encoding does not spoil the list."""
    place = tmp_path / "sums"
    lines = [b"in/a?b.dat", b"out/in/a.dat", b"in/c.txt", b"in/http://x/d.dat", b"out/\xe9.dat"]
    place.write_bytes(b"".join(DIGEST.encode() + b" " + line + b"\n" for line in lines))
    assert chosen(place, SOURCE, SOURCE.subsets["all"]) == [
        Wanted("in/a%3Fb.dat", "a?b.dat", DIGEST, 120),
        Wanted("in/http%3A//x/d.dat", "http://x/d.dat", DIGEST, 120),
    ]
    place.write_text(f"{DIGEST} README\n")
    with pytest.raises(DatasetError, match=r"sums lists nothing of X 1.0: looked for in/\*.dat$"):
        chosen(place, SOURCE, SOURCE.subsets["all"])


@pytest.mark.parametrize(
    ("path", "record"), [("g1/A0001.hea", "g1/A0001"), ("g1/A0001.mat", "g1/A0001"), ("LICENSE.txt", ""), ("a.csv", "")]
)
def test_the_recording_of_a_file(path: str, record: str) -> None:
    assert Wanted(path, path, DIGEST, 1).record == record


def test_chapman_ends_where_its_reader_does(shipped_subsets: dict[str, dict[str, Subset]]) -> None:
    subset = shipped_subsets["chapman"]["paper"]
    taken = [number for number in range(1, 45553) if subset.chosen(f"WFDBRecords/01/010/JS{number:05d}.hea")]
    assert taken == list(range(1, LAST + 1))


def test_the_paper_s_folders_of_mimic(shipped_subsets: dict[str, dict[str, Subset]]) -> None:
    subset = shipped_subsets["mimic-iv-ecg"]["paper"]
    folders = [f"p{number}" for number in range(1000, 2000)]
    taken = [folder for folder in folders if subset.chosen(f"files/{folder}/{folder}0032/s4/4.dat")]
    assert taken == [f"p{number}" for number in range(1000, 1100)]


@pytest.mark.parametrize(
    ("count", "text"),
    [
        *[(0, "0 B"), (999, "999 B"), (1000, "1 kB"), (120_610, "121 kB"), (999_600, "1.0 MB"), (3_400_000, "3.4 MB")],
        *[(99_960_000, "100 MB"), (96_900_000_000, "96.9 GB"), (2 * 10**15, "2000 TB")],
    ],
)
def test_bytes_as_text(count: int, text: str) -> None:
    assert shown_bytes(count) == text


def test_a_download_that_just_fits_is_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder that is not there yet has the room of those above it."""
    folder = tmp_path / "deep" / "deeper"
    assert free_bytes(folder) > 0
    assert disk_of(folder) == tmp_path.stat().st_dev
    monkeypatch.setattr(download_catalogue, "free_bytes", lambda folder: 5000)
    check_room(folder, 5000, "all of it")
    with pytest.raises(DatasetError, match=r"^all of it takes 5 kB more and .*deeper has room for 5 kB: free space or"):
        check_room(folder, 5001, "all of it")
