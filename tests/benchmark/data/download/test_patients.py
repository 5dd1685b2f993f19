"""Tables cut to the rows of patients, and whole ones that are kept beside."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from benchmark.data.download.catalogue import Catalogue
from benchmark.data.download.ledger import Ledger
from benchmark.data.download.patients import (
    KEPT,
    _link,
    adopt_tables,
    cut_table,
    first_patients,
    place_tables,
    with_tables_kept,
)
from benchmark.data.download.sums import Wanted
from benchmark.data.readers.errors import DatasetError

TABLE = '\ufeffpatient,text,path\n7.0,"a ""quoted"", cell\r\nof two lines",r/1\n8.0,b,r/2\n7.0,c,r/3\n,d,r/4\n'


def wanted(path: str, content: bytes = b"") -> Wanted:
    return Wanted(path, path, hashlib.sha256(content).hexdigest(), 1)


def test_a_cut_table_keeps_its_cells(tmp_path: Path) -> None:
    (tmp_path / "whole.csv").write_bytes(TABLE.encode())
    assert cut_table(tmp_path / "whole.csv", tmp_path / "cut.csv", "patient", {"7.0"}) == 2
    expected = 'patient,text,path\n7.0,"a ""quoted"", cell\r\nof two lines",r/1\n7.0,c,r/3\n'
    assert (tmp_path / "cut.csv").read_bytes().decode() == expected


def test_a_table_without_the_column_is_told(tmp_path: Path) -> None:
    (tmp_path / "whole.csv").write_text(TABLE)
    with pytest.raises(DatasetError, match="has no column subject_id, by which patients are chosen"):
        cut_table(tmp_path / "whole.csv", tmp_path / "cut.csv", "subject_id", set())


def test_a_patient_counts_who_has_a_recording_in_the_part(tmp_path: Path, shipped_catalogue: Catalogue) -> None:
    source = shipped_catalogue.datasets["mimic-iv-ecg"]
    kept = tmp_path / KEPT
    kept.mkdir(parents=True)
    (kept / "record_list.csv").write_text("\ufeffsubject_id,path\n1,f/1\n,f/5\n2,f/2\n3,f/3\n2,f/4\n,f/5\n4,f/6\n")
    files = [wanted(f"f/{number}.{kind}") for number in (2, 3, 4, 5, 6) for kind in ("hea", "dat")]
    chosen = first_patients([*files, wanted("LICENSE.txt")], source, tmp_path, 2)
    assert chosen.patients == {"2", "3"}
    assert {item.path for item in chosen.files} == {
        "LICENSE.txt",
        *(f"f/{number}.{kind}" for number in (2, 3, 4) for kind in ("hea", "dat")),
    }
    assert first_patients(files, source, tmp_path, None).files == files


def test_whole_tables_are_kept_and_placed_as_one_file(tmp_path: Path, shipped_catalogue: Catalogue) -> None:
    """Those of another download are adopted, so that they are not fetched."""
    source = shipped_catalogue.datasets["ptb-xl"]
    content = b"ecg_id,patient_id\n1,7\n2,8\n"
    (tmp_path / "ptbxl_database.csv").write_bytes(content)
    tables, others = with_tables_kept([wanted("ptbxl_database.csv", content), wanted("LICENSE.txt")], source)
    assert [item.path for item in (*tables, *others)] == [f"{KEPT}/ptbxl_database.csv", "LICENSE.txt"]
    with Ledger(tmp_path) as ledger:
        adopt_tables(tables, ledger)
        assert ledger.knows(tables[0])
    place_tables(source, tmp_path, {"8"})
    assert (tmp_path / "ptbxl_database.csv").read_bytes() == b"ecg_id,patient_id\n2,8\n"
    assert (tmp_path / KEPT / "ptbxl_database.csv").read_bytes() == content
    place_tables(source, tmp_path, None)
    assert (tmp_path / "ptbxl_database.csv").samefile(tmp_path / KEPT / "ptbxl_database.csv")


def test_a_list_without_a_table_is_told(shipped_catalogue: Catalogue) -> None:
    with pytest.raises(DatasetError, match=r"^PTB-XL 1.0.3: the list of sums has no ptbxl_database.csv$"):
        with_tables_kept([wanted("LICENSE.txt")], shipped_catalogue.datasets["ptb-xl"])


@pytest.mark.parametrize("links", [True, False])
def test_a_whole_table_is_put_in_place_also_without_links(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool
) -> None:
    if not links:
        monkeypatch.setattr("os.link", lambda *places: (_ for _ in ()).throw(OSError("no links here")))
    whole, place = tmp_path / "kept.csv", tmp_path / "in" / "it" / "table.csv"
    whole.write_bytes(TABLE.encode())
    for _ in range(2):
        _link(whole, place)
        assert place.read_bytes() == TABLE.encode()
        assert place.samefile(whole) is links
    assert [path.name for path in place.parent.iterdir()] == ["table.csv"]
