"""CPSC2018's REFERENCE.csv, which no sum covers, must agree with the headers."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line.verb import OK
from benchmark.data.download.labels import place_reference
from benchmark.data.readers.errors import DatasetError
from tests.benchmark.data.download.conftest import REFERENCE, Download


def test_a_table_without_a_sum_must_agree_with_the_headers(homes: SimpleNamespace, download: Download) -> None:
    rows = homes.other.files[REFERENCE].decode().splitlines()
    homes.other.files[REFERENCE] = "\n".join([rows[0], *(re.sub(r",\d.*", ",9,,", row) for row in rows[1:])]).encode()
    status, out, _ = download("cpsc2018")
    assert status == OK
    assert re.search(r"REFERENCE.csv is not used: its labels are those of the headers in \d of 6 recordings", out)
    assert "labels of the headers" in out
    assert not (homes.data / "cpsc2018" / "REFERENCE.csv").exists()
    del homes.other.files[REFERENCE]
    status, out, _ = download("cpsc2018")
    assert status == OK
    assert f"REFERENCE.csv is not there ({homes.other.url}{REFERENCE}: 404 Not Found); put it into" in out
    (homes.data / "cpsc2018" / "REFERENCE.csv").write_text("\n".join(rows))
    assert "REFERENCE.csv: yours is left as it is" in download("cpsc2018")[1]


CODES = {"Normal": "426783006", "AF": "164889003", "RBBB": "59118001"}
NUMBERS = {"AF": "2", "RBBB": "5"}


def written(root: Path, headers: dict[str, list[str]], table: dict[str, list[str]]) -> Path:
    """A table of labels beside headers, both given as recording -> what stands there; returns the table."""
    for name, codes in headers.items():
        (root / f"{name}.hea").write_text(f"{name} 12 500 5000\n# Dx: {','.join(codes)}\n")
    fetched = root / "fetched.csv"
    rows = [",".join([name, *labels, *[""] * (3 - len(labels))]) for name, labels in table.items()]
    fetched.write_text("\n".join(["Recording,First_label,Second_label,Third_label", *rows]) + "\n")
    return fetched


def test_the_order_of_the_labels_may_differ_and_rows_of_other_recordings_are_left_out(tmp_path: Path) -> None:
    headers = {"A0001": [CODES["RBBB"], CODES["AF"]], "A0002": [CODES["AF"]]}
    table = {"A0001": ["2", "5"], "A0002": ["2"], "A0003": ["1"]}
    said = place_reference(written(tmp_path, headers, table), tmp_path, list(headers))
    assert said == "its labels are those of the headers in 2 of 2 recordings"
    kept = (tmp_path / "REFERENCE.csv").read_text().splitlines()
    assert kept == ["Recording,First_label,Second_label,Third_label", "A0001,2,5,", "A0002,2,,"]


@pytest.mark.parametrize(
    "labels", [["2"], ["2", "5", "1"], ["2", "1"], ["2", "0"], ["2", "10"], ["2", "x"]], ids=" ".join
)
def test_a_label_too_few_too_many_or_of_no_class_is_a_difference(tmp_path: Path, labels: list[str]) -> None:
    fetched = written(tmp_path, {"A0001": [CODES["AF"], CODES["RBBB"]]}, {"A0001": labels})
    with pytest.raises(DatasetError, match=r"^fetched.csv is not used: its labels are .* in 0 of 1 recordings$"):
        place_reference(fetched, tmp_path, ["A0001"])
    assert not (tmp_path / "REFERENCE.csv").exists()


@pytest.mark.parametrize(("different", "placed"), [(1, True), (2, False)])
def test_one_recording_in_a_hundred_may_differ(tmp_path: Path, different: int, placed: bool) -> None:
    names = [f"A{number:04}" for number in range(1, 101)]
    table = {name: [NUMBERS["AF" if place < different else "RBBB"]] for place, name in enumerate(names)}
    fetched = written(tmp_path, {name: [CODES["RBBB"]] for name in names}, table)
    if placed:
        assert "in 99 of 100 recordings" in place_reference(fetched, tmp_path, names)
    else:
        with pytest.raises(DatasetError, match="in 98 of 100 recordings"):
            place_reference(fetched, tmp_path, names)


def test_a_recording_whose_header_cannot_be_read_does_not_agree(tmp_path: Path) -> None:
    fetched = written(tmp_path, {}, {"A0001": ["2"]})
    with pytest.raises(DatasetError, match="in 0 of 1 recordings"):
        place_reference(fetched, tmp_path, ["A0001"])


@pytest.mark.parametrize("label", ["x", "0", "", "-1"])
def test_what_is_no_number_of_a_class_is_not_the_first(tmp_path: Path, label: str) -> None:
    fetched = written(tmp_path, {"A0001": [CODES["Normal"]]}, {"A0001": [label]})
    with pytest.raises(DatasetError, match="the headers in 0 of 1 recordings"):
        place_reference(fetched, tmp_path, ["A0001"])
