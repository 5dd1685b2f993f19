"""Lists of sums as publishers write them, and what is taken from them."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmark.data.download.catalogue import Source, Subset
from benchmark.data.download.sums import Wanted, chosen, listed
from benchmark.data.readers.chapman import LAST
from benchmark.data.readers.errors import DatasetError

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
    "line", ["", DIGEST, f"{DIGEST[:-1]} a", f"{DIGEST}", f"{DIGEST.upper()} a", f"{DIGEST} ..", f"{DIGEST} a\\..\\b"]
)
def test_any_other_line_refuses_the_list(line: str) -> None:
    if line:
        with pytest.raises(DatasetError, match=r"^sums line 2"):
            list(listed([f"{DIGEST} a", line], Path("sums")))


def test_a_subset_is_taken_below_the_publisher_s_folder(tmp_path: Path) -> None:
    place = tmp_path / "sums"
    place.write_text(f"{DIGEST} in/a?b.dat\n{DIGEST} out/in/a.dat\n{DIGEST} in/c.txt\n{DIGEST} in/http://x/d.dat\n")
    assert chosen(place, SOURCE, SOURCE.subsets["all"]) == [
        Wanted("in/a%3Fb.dat", "a?b.dat", DIGEST, 120),
        Wanted("in/http%3A//x/d.dat", "http://x/d.dat", DIGEST, 120),
    ]


def test_a_name_in_another_encoding_does_not_spoil_the_list(tmp_path: Path) -> None:
    place = tmp_path / "sums"
    place.write_bytes(f"{DIGEST} out/".encode() + b"\xe9.dat\n" + f"{DIGEST} in/a.dat\n".encode())
    assert [item.path for item in chosen(place, SOURCE, SOURCE.subsets["all"])] == ["a.dat"]


def test_a_list_without_the_subset_is_told(tmp_path: Path) -> None:
    place = tmp_path / "sums"
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
