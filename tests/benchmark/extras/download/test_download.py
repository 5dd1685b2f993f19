"""Whole downloads from homes on this machine by the mirrors file that is shipped, and what each step refuses."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import zipfile
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line import FAILED, OK, USAGE
from benchmark.data.datasets.base import DatasetError
from benchmark.data.datasets.registry import UNFINISHED, source_of
from benchmark.extras.download import (
    KEPT,
    LARGEST_ANSWER,
    LARGEST_UNPACKED,
    Order,
    _link,
    adopt_tables,
    cut_table,
    files_of,
    first_patients,
    is_unpacked,
    orders_of,
    place_reference,
    place_tables,
    unpack,
    with_tables_kept,
)
from benchmark.extras.download_catalogue import Catalogue, Figshare, Manners, Wanted
from benchmark.extras.download_files import Ledger, Refused, Unreachable, folder_lock
from benchmark.results.files import MEBIBYTE
from run_benchmark import main
from tests.benchmark.extras.download.conftest import FOLDERS, REFERENCE, Download, recordings
from tests.benchmark.extras.download.server import Fault, Home, serving


def test_four_datasets_come_as_their_readers_want_them(
    homes: SimpleNamespace, download: Download, published: dict[str, dict[str, bytes]]
) -> None:
    homes.data.mkdir()
    status, out, err = download(*FOLDERS)
    assert (status, err) == (OK, "")
    for name, tree in published.items():
        for path, content in tree.items():
            if path.endswith((".dat", ".mat")) and "JS45552" not in path:
                assert (homes.data / name / path.removeprefix("training/cpsc_2018/")).read_bytes() == content
        assert len(recordings(homes, name)) == sum(path.endswith((".dat", ".mat")) for path in tree)
        assert not list((homes.data / name).rglob("*.part*"))
    assert not (homes.data / "chapman" / "WFDBRecords" / "46").exists()
    assert "Open Database License (ODbL) 1.0" in out
    assert f"  where    {homes.data / 'ptb-xl'} (" in out
    assert f"  from     physionet {homes.physionet.url}ptb-xl/1.0.3/, else aws {homes.aws.url}ptb-xl/1.0.3/" in out
    assert re.search(r"\n  files: \d+, of them 0 there and right; \d+ to fetch, about [\d.]+ [kM]B\n", out)
    assert re.search(r"\n  files from physionet: [\d.]+ [kM]B in \d+ s", out)
    assert "REFERENCE.csv: its labels are those of the headers in 6 of 6 recordings" in out
    assert "  its reader finds 6 recordings: WFDB, labels of REFERENCE.csv" in out
    assert homes.aws.asked == []
    assert set(homes.physionet.whole.values()) == {1}
    assert homes.physionet.most_at_once <= 4


def test_only_what_is_damaged_is_fetched_again(
    homes: SimpleNamespace, download: Download, flip: Callable[[Path, float], None]
) -> None:
    """By its time at once; with an unchanged time and size by --verify."""
    assert download("ptb-xl")[0] == OK
    asked = len(homes.physionet.asked)
    status, out, _ = download("ptb-xl")
    assert (status, len(homes.physionet.asked)) == (OK, asked)
    assert "nothing to fetch" in out
    assert "0 fetched, 0 B" in out
    signal_file = next((homes.data / "ptb-xl").rglob("*.dat"))
    right, times = signal_file.read_bytes(), signal_file.stat()
    for flags in ([], ["--verify"]):
        flip(signal_file, 0.5)
        if flags:
            os.utime(signal_file, ns=(times.st_atime_ns, times.st_mtime_ns))
            assert "nothing to fetch" in download("ptb-xl")[1]
        status, out, _ = download("ptb-xl", *flags)
        assert (status, signal_file.read_bytes()) == (OK, right)
        assert "there and right; 1 to fetch, about 120 kB" in out
        times = signal_file.stat()


def test_files_of_another_download_are_read_once_and_kept(homes: SimpleNamespace, download: Download) -> None:
    """As wget leaves them, in the folders of their address."""
    folder = homes.data / "physionet.org" / "files" / "ptb-xl" / "1.0.3"
    for path, content in homes.physionet.files.items():
        if path.startswith(FOLDERS["ptb-xl"]):
            place = folder / path.removeprefix(FOLDERS["ptb-xl"])
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert {path for _, path, _ in homes.physionet.asked} == {"ptb-xl/1.0.3/SHA256SUMS.txt"}
    assert f"  where    {folder} (" in out
    assert not (homes.data / "ptb-xl").exists()


def test_the_paper_s_part_of_mimic(homes: SimpleNamespace, download: Download) -> None:
    assert download("mimic-iv-ecg", "--subset", "paper")[0] == OK
    root = homes.data / "mimic-iv-ecg"
    folders = {path.name for path in (root / "files").iterdir()}
    everything = {path.split("/")[3] for path in homes.physionet.files if path.startswith("mimic-iv-ecg/1.0/files/")}
    assert folders == {name for name in everything if name.startswith("p10")} != set()
    assert (root / "record_list.csv").read_bytes() == homes.physionet.files["mimic-iv-ecg/1.0/record_list.csv"]
    assert {path.split("/")[3] for _, path, _ in homes.physionet.asked if "/files/" in path} == folders


def patients_of(table: bytes, column: str) -> list[str]:
    return list(dict.fromkeys(row[column] for row in csv.DictReader(io.StringIO(table.decode()))))


@pytest.mark.parametrize(
    ("name", "table", "column"),
    [("mimic-iv-ecg", "record_list.csv", "subject_id"), ("ptb-xl", "ptbxl_database.csv", "patient_id")],
)
def test_the_first_patients_and_later_more_of_them(
    homes: SimpleNamespace, download: Download, name: str, table: str, column: str
) -> None:
    whole = homes.physionet.files[FOLDERS[name] + table]
    patients = patients_of(whole, column)
    for number in (2, 3):
        assert download(name, "--patients", str(number))[0] == OK
        assert patients_of((homes.data / name / table).read_bytes(), column) == patients[:number]
        listing = source_of(name)(homes.data / name).listing()
        assert (len({entry.patient for entry in listing.entries}), listing.skipped) == (number, ())
    assert "fewer than" not in download(name, "--patients", str(len(patients)))[1]
    status, out, _ = download(name, "--patients", "999")
    assert status == OK
    assert f"there are {len(patients)} patients, fewer than the 999 asked for" in out
    assert download(name)[0] == OK
    assert (homes.data / name / table).read_bytes() == whole
    assert set(homes.physionet.whole.values()) == {1}


@pytest.mark.parametrize(("name", "number"), [("chapman", 2), ("cpsc2018", 3)])
def test_the_first_recordings_where_each_is_a_patient(
    homes: SimpleNamespace, download: Download, name: str, number: int
) -> None:
    everything = {Path(path).stem for path in homes.physionet.files if FOLDERS[name] in path and path.endswith(".mat")}
    assert download(name, "--patients", str(number))[0] == OK
    assert recordings(homes, name) == sorted(everything)[:number]
    assert source_of(name)(homes.data / name).listing().skipped == ()


def test_the_next_home_gives_what_one_does_not(homes: SimpleNamespace, download: Download) -> None:
    files = sorted(path for path in homes.physionet.files if path.startswith("ptb-xl/1.0.3/records500/"))
    missing, wrong, interrupted = files[:3]
    homes.physionet.faults[missing].append(Fault("status", value=(404, {})))
    homes.physionet.faults[wrong].append(Fault("wrong"))
    homes.physionet.faults[interrupted].append(Fault("drop", 1))
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert "physionet did not give 2 files: " in out
    assert {path for _, path, _ in homes.aws.asked} == {missing, wrong}


def test_a_home_out_of_reach_is_left_for_the_next(homes: SimpleNamespace, download: Download) -> None:
    for path in homes.physionet.files:
        if "records500" in path:
            homes.physionet.faults[path].append(Fault("status", value=(503, {"Retry-After": "5000"})))
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert "503 Service Unavailable; it asks for a rest of 5000 s" in out
    assert len([path for _, path, _ in homes.physionet.asked if "records500" in path]) <= 4


def test_what_no_home_gives_is_told_refused_by_a_run_and_tried_again(
    homes: SimpleNamespace, download: Download, capsys: pytest.CaptureFixture[str]
) -> None:
    (missing,) = [path for path in homes.physionet.files if path.endswith("JS00002.mat")]
    content = homes.physionet.files.pop(missing)
    del homes.aws.files[missing]
    status, out, _ = download("chapman")
    assert status == FAILED
    inside = missing.removeprefix(FOLDERS["chapman"])
    assert f"  physionet did not give 1 files: {inside}, 404 Not Found\n" in out
    assert f"  missing: {inside} (aws: 404 Not Found)" in out
    there = re.search(r"\n  (\d+) of (\d+) files there and right, (\d+) fetched, ", out)
    assert there
    assert int(there[1]) == int(there[3]) == int(there[2]) - 1
    assert (homes.data / "chapman" / UNFINISHED).exists()
    summary = ["data", "summary", "--datasets", "chapman", "--data-root", str(homes.data)]
    assert main(summary) == FAILED
    assert "has not ended: run `data download chapman` again, or remove " in capsys.readouterr().out
    homes.aws.files[missing] = content
    status, out, _ = download("chapman")
    assert status == OK
    assert "1 fetched" in out
    assert main(summary) == OK


def test_no_home_at_all_is_one_line(homes: SimpleNamespace, download: Download) -> None:
    for home in (homes.physionet, homes.aws):
        home.files.clear()
    status, _, err = download("ptb-xl")
    assert status == FAILED
    assert err == "error: PTB-XL 1.0.3: no list of files; physionet: 404 Not Found; aws: 404 Not Found\n"
    assert not list((homes.data / "ptb-xl").rglob("*.part*"))


def test_a_list_that_cannot_be_trusted_is_refused_whole(homes: SimpleNamespace, download: Download) -> None:
    name, digest = "ptb-xl/1.0.3/SHA256SUMS.txt", "0" * 64
    right = homes.physionet.files[name]
    for line, message in [
        (f"{digest} ../../evil.dat", "path refused: '../../evil.dat'"),
        (f"{digest} records500/../../evil.dat", "path refused: 'records500/../../evil.dat'"),
        (f"{digest} /etc/evil.dat", "path refused: '/etc/evil.dat'"),
        ("<html>please log in</html>", "is no SHA-256 sum: '<html>please log in</html>'"),
        (f"{digest} records500/00000/00001_hr.dat", "two sums for 'records500/00000/00001_hr.dat'"),
        (f"{digest} records500/\x1b[2J.dat", "path refused: 'records500/\\x1b[2J.dat'"),
    ]:
        homes.physionet.files[name] = right + f"{line}\n".encode()
        status, _, err = download("ptb-xl")
        assert status == USAGE
        assert message in err
        assert err.count("\n") == 1
    assert {path for _, path, _ in homes.physionet.asked} == {name}
    assert not list(homes.data.parent.rglob("*evil*"))
    homes.physionet.files[name] = right
    assert download("ptb-xl")[0] == OK


def test_two_downloads_into_one_folder_do_not_meet(homes: SimpleNamespace, download: Download) -> None:
    with folder_lock(homes.data / "chapman"):
        status, _, err = download("chapman")
    assert status == USAGE
    assert "another process downloads into" in err
    assert homes.physionet.asked == []
    assert download("chapman")[0] == OK


def test_a_full_disk_is_told_before_and_on_the_way(
    homes: SimpleNamespace, download: Download, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.data = disk
    takes = r" takes {} more and .*disk/chapman has room for \d+ kB: free space or name another folder\n$"
    status, _, err = download("chapman")
    assert status == USAGE
    assert re.search(takes.format(r"10\.6 MB"), err)
    assert homes.physionet.asked == []
    status, _, err = download("chapman", "--patients", "5")
    assert status == USAGE
    assert re.search(takes.format("605 kB"), err), "by the list of files, which was fetched"
    assert {path for _, path, _ in homes.physionet.asked} == {f"{FOLDERS['chapman']}SHA256SUMS.txt"}
    monkeypatch.setattr("benchmark.extras.download_catalogue.free_bytes", lambda folder: 10**12)
    status, _, err = download("chapman")
    assert status == USAGE
    assert re.fullmatch(
        r"error: .*: No space left on device; free space there or name another folder; what is finished is kept, and "
        r"the same command goes on\n",
        err,
    )


def test_the_shipped_homes_and_what_they_cost(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "download", *FOLDERS, "--subset", "paper", "--dry-run", "--data-root", str(tmp_path)]) == OK
    out = capsys.readouterr().out
    assert re.findall(r"about ([\d.]+ GB), ([\d,]+) recordings", out) == [
        ("10.1 GB", "80,000"),
        ("2.6 GB", "21,799"),
        ("1.3 GB", "10,646"),
        ("1.3 GB", "6,877"),
    ]
    assert out.count("from     physionet https://physionet.org/files/") == 4
    assert out.count(", else aws https://physionet-open.s3.amazonaws.com/") == 4
    assert list(tmp_path.iterdir()) == []


def test_where_a_dataset_goes(homes: SimpleNamespace, download: Download, capsys: pytest.CaptureFixture[str]) -> None:
    """Not beside another form of it, which a run would read, nor over simulated recordings."""
    (homes.data / "WFDB_ChapmanShaoxing").mkdir(parents=True)
    assert "has chapman in another form, which a run would read" in download("chapman")[2]
    (homes.data / "ptb-xl").mkdir()
    (homes.data / "ptb-xl" / "SIMULATED.json").write_text("{}")
    status, _, err = download("ptb-xl")
    assert status == USAGE
    assert "holds simulated recordings: name another folder" in err
    assert main(["data", "download", "ptb-xl"]) == USAGE
    assert "where shall ptb-xl go? use --data-root DIR or --data ptb-xl=DIR" in capsys.readouterr().err
    mine = homes.data / "mine"
    assert main(["data", "download", "ptb-xl", "--data", f"ptb-xl={mine}", "--mirrors", str(homes.mirrors)]) == OK
    assert (mine / "ptbxl_database.csv").is_file()


def ordered(name: str, **flags: object) -> Order:
    """The order of one dataset by the shipped mirrors."""
    defaults = dict.fromkeys(["mirrors", "connections", "subset", "from", "patients"])
    values = defaults | {"data": [], "data_root": Path("/data"), "verify": False, "word": [name]} | flags
    return orders_of(Namespace(**values))[0]


def test_an_order_is_of_the_first_subset_and_all_homes_of_one_form_unless_flags_say_more(
    shipped_catalogue: Catalogue,
) -> None:
    manners = shipped_catalogue.manners
    order = ordered("chapman")
    assert (order.subset_name, list(order.homes), order.root) == ("paper", ["physionet", "aws"], Path("/data/chapman"))
    assert (order.patients, order.again, order.manners) == (None, False, manners)
    assert ordered("mimic-iv-ecg").subset_name == "all"
    order = ordered("ptb-xl", subset="records100", patients=3, connections=2, verify=True, **{"from": "aws"})
    assert (order.subset_name, list(order.homes), order.patients, order.again) == ("records100", ["aws"], 3, True)
    assert order.manners == manners.model_copy(update={"connections": 2})
    assert list(ordered("chapman", **{"from": "figshare"}).homes) == ["figshare"]
    assert ordered("ptb-xl").list_path == ".download/PTB-XL-1.0.3.sha256"
    kept = ".download/CPSC2018-in-the-PhysioNet-CinC-Challenge-2021-1.0.3.sha256"
    assert ordered("cpsc2018").list_path == kept


@pytest.mark.parametrize(
    ("name", "flags", "message"),
    [
        ("ptb", {}, "no home of 'ptb' in the mirrors file, which has mimic-iv-ecg, ptb-xl, chapman, cpsc2018"),
        ("ptb-xl", {"subset": "papers"}, "PTB-XL 1.0.3 has no subset 'papers'; there are: paper, records100"),
        ("ptb-xl", {"from": "figshare"}, "PTB-XL 1.0.3 has no home 'figshare'; there are: physionet, aws"),
        ("chapman", {"from": "figshare", "patients": 3}, "from figshare is one archive: leave out --patients"),
    ],
)
def test_what_there_is_not_is_refused(name: str, flags: dict[str, object], message: str) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)):
        ordered(name, **flags)


@pytest.mark.parametrize(
    ("name", "flags", "expected"),
    [
        ("mimic-iv-ecg", {"subset": "paper"}, (80_000, 80_000 * 120_630 + 460_000_000)),
        ("mimic-iv-ecg", {"subset": "paper", "patients": 1_600}, (8_000, 8_000 * 120_630 + 460_000_000)),
        ("mimic-iv-ecg", {"subset": "paper", "patients": 10**6}, (80_000, 80_000 * 120_630 + 460_000_000)),
        ("chapman", {"from": "figshare"}, (10_646, 10_646 * 630_000 + 9_000_000)),
    ],
)
def test_patients_are_documented_in_proportion(name: str, flags: dict[str, object], expected: tuple[int, int]) -> None:
    assert ordered(name, **flags).documented() == expected


TABLE = '\ufeffpatient,text,path\n7.0,"a ""quoted"", cell\r\nof two lines",r/1\n8.0,b,r/2\n7.0,c,r/3\n,d,r/4\n7.0,e\n'


def wanted(path: str, content: bytes = b"") -> Wanted:
    return Wanted(path, path, hashlib.sha256(content).hexdigest(), 1)


def test_a_cut_table_keeps_its_cells(tmp_path: Path) -> None:
    (tmp_path / "whole.csv").write_bytes(TABLE.encode())
    cut_table(tmp_path / "whole.csv", tmp_path / "cut.csv", "patient", {"7.0"})
    expected = 'patient,text,path\n7.0,"a ""quoted"", cell\r\nof two lines",r/1\n7.0,c,r/3\n'
    assert (tmp_path / "cut.csv").read_bytes().decode() == expected
    with pytest.raises(DatasetError, match="has no column subject_id, by which patients are chosen"):
        cut_table(tmp_path / "whole.csv", tmp_path / "cut.csv", "subject_id", set())


def test_a_patient_counts_who_has_a_recording_in_the_part(tmp_path: Path, shipped_catalogue: Catalogue) -> None:
    (tmp_path / KEPT).mkdir(parents=True)
    rows = "subject_id,path\n1,f/1\n,f/5\n2,f/2\n3,f/3\n2,f/4\n,f/5\n4,f/6\n"
    (tmp_path / KEPT / "record_list.csv").write_text(rows)
    files = [wanted(f"f/{number}.{kind}") for number in (2, 3, 4, 5, 6) for kind in ("hea", "dat")]
    source = shipped_catalogue.datasets["mimic-iv-ecg"]
    chosen, patients = first_patients([*files, wanted("LICENSE.txt")], source, tmp_path, 2)
    assert patients == {"2", "3"}
    assert chosen == [*files[:6], wanted("LICENSE.txt")]


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
    with pytest.raises(DatasetError, match=r"^PTB-XL 1.0.3: the list of sums has no ptbxl_database.csv$"):
        with_tables_kept([wanted("LICENSE.txt")], source)


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


def zip_of(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return packed.getvalue()


def serve_figshare(other: Home, members: dict[str, bytes], *, md5: str | None = None) -> None:
    for article, name, content in [
        ("8360408", "Diagnostics.xlsx", diagnostics([Path(name).stem for name in members if ".csv" in name])),
        ("8378291", "ECGDataDenoised.zip", zip_of({"ECGDataDenoised/": b"", **members})),
    ]:
        other.files[f"ndownloader/{article}"] = content
        file = {
            "name": name,
            "size": len(content),
            "computed_md5": md5 or hashlib.md5(content).hexdigest(),
            "download_url": f"{other.url}ndownloader/{article}",
        }
        other.files[f"v2/articles/{article}"] = json.dumps({"files": [file]}).encode()


def diagnostics(names: list[str]) -> bytes:
    import openpyxl

    book, out = openpyxl.Workbook(), io.BytesIO()
    for row in (["FileName", "Rhythm"], *([name, "SB"] for name in names)):
        book.active.append(row)
    book.save(out)
    return out.getvalue()


CSV = "\n".join(["1,2,3,4,5,6,7,8,9,10,11,12"] * 100).encode()


def test_figshare_s_form_is_unpacked(homes: SimpleNamespace, download: Download) -> None:
    serve_figshare(homes.other, {"ECGDataDenoised/A_1.csv": CSV, "ECGDataDenoised/A_2.csv": CSV, "__MACOSX/x": b"x"})
    homes.other.faults["ndownloader/8378291"].append(Fault("drop", 1))
    status, out, err = download("chapman", "--from", "figshare")
    assert (status, err) == (OK, "")
    assert "  checked  MD5 of the API" in out
    assert recordings(homes, "chapman") == ["A_1", "A_2"]
    assert not (homes.data / "chapman" / "__MACOSX").exists()
    assert not list(homes.data.rglob("*.zip"))
    asked = len(homes.other.asked)
    assert download("chapman", "--from", "figshare")[0] == OK
    assert {path for _, path, _ in homes.other.asked[asked:]} == {"v2/articles/8360408", "v2/articles/8378291"}
    assert homes.physionet.asked == []


def test_figshare_s_archive_may_not_leave_its_folder(homes: SimpleNamespace, download: Download) -> None:
    serve_figshare(homes.other, {"ECGDataDenoised/../../../evil.csv": CSV})
    status, _, err = download("chapman", "--from", "figshare")
    assert status == USAGE
    assert "path refused: 'ECGDataDenoised/../../../evil.csv'" in err
    assert not list(homes.data.parent.rglob("evil.csv"))


def test_figshare_s_sum_counts(homes: SimpleNamespace, download: Download) -> None:
    serve_figshare(homes.other, {"ECGDataDenoised/A_1.csv": CSV}, md5="0" * 32)
    status, out, _ = download("chapman", "--from", "figshare")
    assert status == FAILED
    assert "its MD5 is " in out
    homes.other.files["v2/articles/8360408"] = b"<html>"
    status, _, err = download("chapman", "--from", "figshare")
    assert status == FAILED
    assert "does not answer with an article's files" in err


QUICK = Manners(tries=3, first_wait=0.01, longest_wait=0.05, timeout=2)
FILE = {"name": "a.csv", "size": 3, "computed_md5": "0" * 32, "download_url": "http://there/1"}


@pytest.fixture(scope="module")
def api() -> Iterator[Home]:
    with serving({}) as home:
        yield home


def listed(api: Home, answer: object, unpack: dict[str, str] | None = None) -> list[Wanted]:
    """The files of article 7, from which a.csv is taken."""
    api.files["7"] = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
    articles = {"7": ("a.csv",)}
    home = Figshare(kind="figshare", api=api.url, articles=articles, unpack=unpack or {}, recording_bytes=1)
    return files_of(home, QUICK)


def test_a_file_has_the_address_size_and_md5_that_the_api_states(api: Home) -> None:
    assert listed(api, {"files": ["a.csv", FILE | {"name": "b.csv"}, FILE]}) == [
        Wanted("http://there/1", "a.csv", "0" * 32, 3, "md5")
    ]
    (zipped,) = listed(api, {"files": [FILE | {"size": 0}]}, {"a.csv": "*"})
    assert (zipped.path, zipped.size) == (".download/a.csv", 0)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        *[
            ({"files": [FILE | change]}, r"^the API states no address, MD5 or size of a\.csv$")
            for change in (
                *({"size": size} for size in (-1, "3")),
                *({"computed_md5": "0" * length} for length in (31, 33)),
                {"download_url": "there/1"},
            )
        ],
        ({"files": []}, r"^article 7 has no a\.csv$"),
        *[(text, "7 does not answer with an article's files$") for text in (b"<html>", b"[]", b"{}", b'{"files": 3}')],
        (json.dumps({"files": [FILE]}).encode().ljust(MEBIBYTE + 1), f"answers with more than {MEBIBYTE} bytes"),
    ],
)
def test_an_answer_that_does_not_list_the_files_is_refused(api: Home, answer: object, message: str) -> None:
    with pytest.raises(Refused, match=message):
        listed(api, answer)


def test_an_answer_may_be_as_long_as_the_limit(api: Home) -> None:
    assert len(listed(api, json.dumps({"files": [FILE]}).encode().ljust(LARGEST_ANSWER))) == 1


def test_an_api_over_https_may_not_lead_to_http(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Figshare(kind="figshare", api="https://api/", articles={"7": ("a.csv",)}, recording_bytes=1)
    answer = "benchmark.extras.download._answer"
    monkeypatch.setattr(answer, lambda web, url: [FILE | {"download_url": "https://there/1"}])
    assert files_of(home, QUICK)[0].url == "https://there/1"
    monkeypatch.setattr(answer, lambda web, url: [FILE])
    with pytest.raises(Refused, match="states no address"):
        files_of(home, QUICK)


def test_a_busy_api_is_asked_again_as_often_as_manners_say(api: Home) -> None:
    before = len(api.asked)
    api.faults["7"].append(Fault("status", times=2, value=(503, {})))
    assert len(listed(api, {"files": [FILE]})) == 1
    assert len(api.asked) - before == 3
    api.faults["7"].append(Fault("status", times=3, value=(503, {})))
    with pytest.raises(Unreachable):
        listed(api, {"files": [FILE]})


def packed(folder: Path, members: dict[str, bytes], name: str = "a.zip") -> Wanted:
    """A zip as it was fetched into a folder."""
    place = folder / ".download" / name
    place.parent.mkdir(exist_ok=True)
    place.write_bytes(zip_of(members))
    return Wanted("http://there/1", f".download/{name}", "0" * 32, place.stat().st_size, "md5")


def unpacked(root: Path, item: Wanted, pattern: str = "*") -> list[tuple[int, int]]:
    """The progress of unpacking."""
    steps: list[tuple[int, int]] = []
    unpack(root, item, pattern, lambda done, total: steps.append((done, total)))
    return steps


def test_members_that_match_are_unpacked_told_and_found_again(tmp_path: Path) -> None:
    item = packed(tmp_path, {"in/1.csv": b"one", "in/2.csv": b"two", "in/3.txt": b"three"})
    assert not is_unpacked(tmp_path, item)
    assert unpacked(tmp_path, item, "in/*.csv") == [(1, 2), (2, 2)]
    assert {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()} == {"1.csv": b"one", "2.csv": b"two"}
    assert sorted(path.name for path in (tmp_path / ".download").iterdir()) == ["unpacked.json"], "the zip is removed"
    unpacked(tmp_path, packed(tmp_path, {"4.csv": b"four"}, "b.zip"))
    assert is_unpacked(tmp_path, item), "also after another zip was unpacked"
    assert not is_unpacked(tmp_path, item._replace(digest="1" * 32)), "another zip of the name"
    assert not is_unpacked(tmp_path, item._replace(path=".download/c.zip"))
    (tmp_path / "in" / "2.csv").write_bytes(b"longer")
    assert not is_unpacked(tmp_path, item)
    (tmp_path / "in" / "2.csv").unlink()
    assert not is_unpacked(tmp_path, item)


@pytest.mark.parametrize("noted", ["[]", '{"a.zip": 3}', '{"a.zip": {"md5": "%s", "files": 3}}' % ("0" * 32), "{"])
def test_notes_that_cannot_be_read_count_for_nothing(tmp_path: Path, noted: str) -> None:
    item = packed(tmp_path, {"1.csv": b"one"})
    (tmp_path / ".download" / "unpacked.json").write_text(noted)
    assert not is_unpacked(tmp_path, item)
    unpacked(tmp_path, item)
    assert is_unpacked(tmp_path, item)


def test_a_zip_that_cannot_be_unpacked_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LARGEST_UNPACKED == 64 * 1024 * MEBIBYTE, "the members of Chapman's zip fit"
    item = packed(tmp_path, {"1.csv": bytes(1000), "2.csv": bytes(1000)})
    with pytest.raises(DatasetError, match=r"a\.zip cannot be unpacked: no in/\*\.csv in it$"):
        unpacked(tmp_path, item, "in/*.csv")
    for name, limit in (("LARGEST_UNPACKED", 1999), ("MOST_MEMBERS", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(f"benchmark.extras.download.{name}", limit)
            with pytest.raises(DatasetError, match="cannot be unpacked"):
                unpacked(tmp_path, item)
    with monkeypatch.context() as patch:
        patch.setattr("benchmark.extras.download_catalogue.free_bytes", lambda folder: 1999)
        with pytest.raises(DatasetError, match=r"^unpacking takes 2 kB more and .* has room for 2 kB"):
            unpacked(tmp_path, item)
    assert [path.name for path in tmp_path.rglob("*.*")] == [".download", "a.zip"]
    (tmp_path / item.path).write_bytes(b"no zip")
    with pytest.raises(DatasetError, match=r"a\.zip cannot be unpacked: File is not a zip file$"):
        unpacked(tmp_path, item)


def test_a_table_without_a_sum_must_agree_with_the_headers(homes: SimpleNamespace, download: Download) -> None:
    rows = homes.other.files[REFERENCE].decode().splitlines()
    homes.other.files[REFERENCE] = "\n".join([rows[0], *(re.sub(r",\d.*", ",9,,", row) for row in rows[1:])]).encode()
    status, out, _ = download("cpsc2018")
    assert status == OK
    assert re.search(r"REFERENCE.csv is not used: its labels are those of the headers in \d of 6 recordings", out)
    assert "labels of the headers" in out
    assert not (homes.data / "cpsc2018" / "REFERENCE.csv").exists()
    asked = len(homes.other.asked)
    homes.other.faults[REFERENCE].append(Fault("status", value=(503, {})))
    status, out, _ = download("cpsc2018")
    assert (status, len(homes.other.asked) - asked) == (OK, 3), "tried three times, since it can be done without"
    assert f"REFERENCE.csv is not there ({homes.other.url}{REFERENCE}: 503 Service Unavailable (3 tries))" in out
    (homes.data / "cpsc2018" / "REFERENCE.csv").write_text("\n".join(rows))
    assert "REFERENCE.csv: yours is left as it is" in download("cpsc2018")[1]


CODES = {"Normal": "426783006", "AF": "164889003", "RBBB": "59118001"}


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
    agreement = place_reference(written(tmp_path, headers, table), tmp_path, list(headers))
    assert agreement == "its labels are those of the headers in 2 of 2 recordings"
    kept = (tmp_path / "REFERENCE.csv").read_text().splitlines()
    assert kept == ["Recording,First_label,Second_label,Third_label", "A0001,2,5,", "A0002,2,,"]


@pytest.mark.parametrize(
    ("codes", "labels"),
    [
        *[(["AF", "RBBB"], labels.split()) for labels in ("2", "2 5 1", "2 1", "2 0", "2 10", "2 x")],
        *[(["Normal"], [label]) for label in ("x", "0", "", "-1")],
        (None, ["2"]),
    ],
)
def test_other_labels_or_no_header_are_a_difference(tmp_path: Path, codes: list[str] | None, labels: list[str]) -> None:
    headers = {"A0001": [CODES[name] for name in codes]} if codes else {}
    with pytest.raises(DatasetError, match=r"^fetched.csv is not used: its labels are .* in 0 of 1 recordings$"):
        place_reference(written(tmp_path, headers, {"A0001": labels}), tmp_path, ["A0001"])
    assert not (tmp_path / "REFERENCE.csv").exists()


def test_one_recording_in_a_hundred_may_differ(tmp_path: Path) -> None:
    names = [f"A{number:04}" for number in range(1, 101)]
    headers = {name: [CODES["RBBB"]] for name in names}
    one, two = ({name: ["2" if place < count else "5"] for place, name in enumerate(names)} for count in (1, 2))
    assert "in 99 of 100 recordings" in place_reference(written(tmp_path, headers, one), tmp_path, names)
    with pytest.raises(DatasetError, match="in 98 of 100 recordings"):
        place_reference(written(tmp_path, headers, two), tmp_path, names)
