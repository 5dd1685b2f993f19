"""`data download` against homes on this machine, with the mirrors file that is shipped, its addresses exchanged."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import re
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.data.download.catalogue import shipped
from benchmark.data.download.ledger import alone_in
from benchmark.data.readers.registry import source_of
from benchmark.data.simulate import CohortSettings, write_cohort
from run_benchmark import main
from tests.benchmark.data.download.server import PIECE, Fault, Home, serving

ROOT = Path(__file__).resolve().parents[4]
FOLDERS = {
    "mimic-iv-ecg": "mimic-iv-ecg/1.0/",
    "ptb-xl": "ptb-xl/1.0.3/",
    "chapman": "ecg-arrhythmia/1.0.0/",
    "cpsc2018": "challenge-2021/1.0.3/",
}
"""Dataset -> its folder at PhysioNet."""
PATIENTS = {"mimic-iv-ecg": 8, "ptb-xl": 6, "chapman": 5, "cpsc2018": 6}
REFERENCE = "file/REFERENCE.csv"


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, bytes]]:
    """The files of each dataset as its publisher arranges them, simulated, without their sums."""
    folder, trees = tmp_path_factory.mktemp("published"), {}
    for name, patients in PATIENTS.items():
        write_cohort(name, folder / name, CohortSettings(patients, recordings_per_patient=2.0), seed=1)
        paths = [path for path in (folder / name).rglob("*") if path.is_file() and path.name != "SIMULATED.json"]
        trees[name] = {path.relative_to(folder / name).as_posix(): path.read_bytes() for path in paths}
        trees[name]["LICENSE.txt"] = b"as is\n"
    trees["cpsc2018"] = {
        path.replace("Training_WFDB/", "training/cpsc_2018/g1/"): content for path, content in trees["cpsc2018"].items()
    }
    trees["chapman"]["WFDBRecords/46/460/JS45552.hea"] = b"of Ningbo\n"
    return trees


@pytest.fixture
def homes(published: dict[str, dict[str, bytes]], tmp_path: Path) -> Iterator[SimpleNamespace]:
    """`physionet` and `aws` with the four datasets, `other` with figshare's and REFERENCE.csv; `mirrors` names them."""
    with serving({}) as physionet, serving({}) as aws, serving({}) as other:
        for home in (physionet, aws):
            for name, tree in published.items():
                own = Home({path: content for path, content in tree.items() if path != "REFERENCE.csv"})
                own.sums()
                home.files |= {FOLDERS[name] + path: content for path, content in own.files.items()}
        other.files[REFERENCE] = published["cpsc2018"]["REFERENCE.csv"]
        text = shipped().read_text()
        text = text.replace("https://physionet.org/files/", physionet.url)
        text = text.replace("https://physionet-open.s3.amazonaws.com/", aws.url)
        text = text.replace("https://api.figshare.com/", other.url).replace("http://2018.icbeb.org/", other.url)
        text = re.sub(r"first_wait: 1\b", "first_wait: 0.01", text)
        text = re.sub(r"longest_wait: 60\b", "longest_wait: 0.05", text).replace("timeout: 60", "timeout: 3")
        text = re.sub(r"(recording|table)_bytes: \d+", r"\1_bytes: 1000", text)  # as much as this disk may have
        mirrors = tmp_path / "mirrors.yaml"
        mirrors.write_text(text)
        yield SimpleNamespace(physionet=physionet, aws=aws, other=other, mirrors=mirrors, data=tmp_path / "data")


Download = Callable[..., tuple[int, str, str]]


@pytest.fixture
def download(homes: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> Download:
    """Run the command; returns (status, stdout, stderr)."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["data", "download", *words, "--data-root", str(homes.data), "--mirrors", str(homes.mirrors)])
        shown = capsys.readouterr()
        assert "\x1b" not in shown.out
        return status, shown.out, shown.err

    return run


def recordings(homes: SimpleNamespace, name: str) -> list[str]:
    return sorted(entry.recording for entry in source_of(name)(homes.data / name).listing().entries)


def test_four_datasets_come_as_their_readers_want_them(
    homes: SimpleNamespace, download: Download, published: dict[str, dict[str, bytes]], tmp_path: Path
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
    assert "REFERENCE.csv: its labels are those of the headers in 6 of 6 recordings" in out
    assert "  its reader finds 6 recordings: WFDB, labels of REFERENCE.csv" in out
    assert homes.aws.asked == []
    assert set(homes.physionet.whole.values()) == {1}
    assert homes.physionet.most_at_once <= 4
    cache = ["--cache", str(tmp_path / "cache"), "--workers", "1"]
    assert main(["data", "check", "--data-root", str(homes.data), *cache, "--datasets", "ptb-xl"]) == OK


def test_what_is_there_is_not_fetched_again(homes: SimpleNamespace, download: Download) -> None:
    assert download("ptb-xl")[0] == OK
    asked = len(homes.physionet.asked)
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert len(homes.physionet.asked) == asked
    assert "nothing to fetch" in out
    assert "0 fetched, 0 B" in out


def test_a_damaged_file_is_found_and_fetched_again(
    homes: SimpleNamespace, download: Download, flip: Callable[[Path, float], None]
) -> None:
    """By its time at once; with an unchanged time and size by --verify."""
    assert download("ptb-xl")[0] == OK
    signal_file = next((homes.data / "ptb-xl").rglob("*.dat"))
    right, times = signal_file.read_bytes(), signal_file.stat()
    for flags in ([], ["--verify"]):
        flip(signal_file, 0.5)
        if flags:
            os.utime(signal_file, ns=(times.st_atime_ns, times.st_mtime_ns))
            assert "nothing to fetch" in download("ptb-xl")[1]
        status, out, _ = download("ptb-xl", *flags)
        assert status == OK
        assert "there and right; 1 to fetch, about 120 kB" in out
        assert signal_file.read_bytes() == right
        times = signal_file.stat()


def test_files_of_another_download_are_read_once_and_kept(homes: SimpleNamespace, download: Download) -> None:
    """As wget leaves them, in the folders of their address."""
    folder = homes.data / "physionet.org" / "files" / "ptb-xl" / "1.0.3"
    for path, content in homes.physionet.files.items():
        if path.startswith(FOLDERS["ptb-xl"]):
            own = folder / path.removeprefix(FOLDERS["ptb-xl"])
            own.parent.mkdir(parents=True, exist_ok=True)
            own.write_bytes(content)
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert {path for _, path, _ in homes.physionet.asked} == {"ptb-xl/1.0.3/SHA256SUMS.txt"}
    assert f"  where    {folder} (" in out
    assert not (homes.data / "ptb-xl").exists()


def test_the_paper_s_part_of_mimic(homes: SimpleNamespace, download: Download) -> None:
    assert download("mimic-iv-ecg", "--subset", "paper")[0] == OK
    root = homes.data / "mimic-iv-ecg"
    folders = [path.name for path in (root / "files").iterdir()]
    assert folders
    assert all(re.fullmatch(r"p10\d\d", name) for name in folders)
    everything = {path.split("/")[4] for path in homes.physionet.files if path.startswith("mimic-iv-ecg/1.0/files/")}
    assert len(folders) < len(everything) or all(name.startswith("p10") for name in everything)
    assert (root / "record_list.csv").read_bytes() == homes.physionet.files["mimic-iv-ecg/1.0/record_list.csv"]
    assert {path.split("/")[3] for _, path, _ in homes.physionet.asked if "/files/" in path} == set(folders)


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
        status, out, _ = download(name, "--patients", str(number))
        assert status == OK
        assert patients_of((homes.data / name / table).read_bytes(), column) == patients[:number]
        listing = source_of(name)(homes.data / name).listing()
        assert len({entry.patient for entry in listing.entries}) == number
        assert listing.skipped == ()
        assert all(
            path.is_file() for entry in listing.entries for path in source_of(name)(homes.data).files(entry)
        ) or (
            all(path.is_file() for entry in listing.entries for path in source_of(name)(homes.data / name).files(entry))
        )
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


def test_a_home_that_fails_is_left_for_the_next(homes: SimpleNamespace, download: Download) -> None:
    missing, wrong, busy = sorted(
        path for path in homes.physionet.files if path.startswith("ptb-xl/1.0.3/records500/")
    )[:3]
    homes.physionet.faults[missing].append(Fault("status", value=(404, {})))
    homes.physionet.faults[wrong].append(Fault("wrong"))
    homes.physionet.faults[busy].append(Fault("drop", 1))
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert "physionet did not give 2 files: " in out
    assert {path for _, path, _ in homes.aws.asked} == {missing, wrong}
    assert len(recordings(homes, "ptb-xl")) > 0


def test_a_home_out_of_reach_is_left_for_the_next(homes: SimpleNamespace, download: Download) -> None:
    for path in homes.physionet.files:
        if "records500" in path:
            homes.physionet.faults[path].append(Fault("status", value=(503, {"Retry-After": "5000"})))
    status, out, _ = download("ptb-xl")
    assert status == OK
    assert "503 Service Unavailable; it asks for a rest of 5000 s" in out
    assert len([path for _, path, _ in homes.physionet.asked if "records500" in path]) <= 4


def test_what_no_home_gives_is_told_and_tried_again(homes: SimpleNamespace, download: Download) -> None:
    (missing,) = [path for path in homes.physionet.files if path.endswith("JS00002.mat")]
    content = homes.physionet.files.pop(missing)
    del homes.aws.files[missing]
    status, out, _ = download("chapman")
    assert status == FAILED
    inside = missing.removeprefix(FOLDERS["chapman"])
    assert f"  missing: {inside} (aws: 404 Not Found)" in out
    check = ["data", "summary", "--datasets", "chapman", "--data-root", str(homes.data)]
    assert main(check) == FAILED
    homes.aws.files[missing] = content
    status, out, _ = download("chapman")
    assert status == OK
    assert "1 fetched" in out
    assert main(check) == OK


def test_a_run_refuses_an_unfinished_folder(
    homes: SimpleNamespace, download: Download, capsys: pytest.CaptureFixture[str]
) -> None:
    (missing,) = [path for path in homes.physionet.files if path.endswith("JS00002.mat")]
    for home in (homes.physionet, homes.aws):
        del home.files[missing]
    download("chapman")
    main(["data", "summary", "--datasets", "chapman", "--data-root", str(homes.data)])
    assert "has not ended: run `data download chapman` again, or remove " in capsys.readouterr().out


def test_no_home_at_all_is_one_line(homes: SimpleNamespace, download: Download) -> None:
    for home in (homes.physionet, homes.aws):
        home.files.clear()
    status, _, err = download("ptb-xl")
    assert status == FAILED
    assert err == "error: PTB-XL 1.0.3: no list of files; physionet: 404 Not Found; aws: 404 Not Found\n"
    assert not list((homes.data / "ptb-xl").rglob("*.part*"))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{digest} ../../evil.dat", "path refused: '../../evil.dat'"),
        ("{digest} records500/../../evil.dat", "path refused: 'records500/../../evil.dat'"),
        ("{digest} /etc/evil.dat", "path refused: '/etc/evil.dat'"),
        ("<html>please log in</html>", "is no SHA-256 sum: '<html>please log in</html>'"),
        ("{digest} records500/00000/00001_hr.dat", "two sums for 'records500/00000/00001_hr.dat'"),
        ("{digest} records500/\x1b[2J.dat", "path refused: 'records500/\\x1b[2J.dat'"),
    ],
)
def test_a_list_that_cannot_be_trusted_is_refused_whole(
    homes: SimpleNamespace, download: Download, line: str, message: str
) -> None:
    name = "ptb-xl/1.0.3/SHA256SUMS.txt"
    right = homes.physionet.files[name]
    homes.physionet.files[name] += line.format(digest="0" * 64).encode() + b"\n"
    status, _, err = download("ptb-xl")
    assert status == USAGE
    assert message in err
    assert err.count("\n") == 1
    assert len(homes.physionet.asked) == 1
    assert not list(homes.data.parent.rglob("*evil*"))
    homes.physionet.files[name] = right
    assert download("ptb-xl")[0] == OK


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


def serve_figshare(other: Home, members: dict[str, bytes], *, md5: str | None = None) -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("ECGDataDenoised/", b"")
        for name, content in members.items():
            archive.writestr(name, content)
    for article, name, content in [
        ("8360408", "Diagnostics.xlsx", diagnostics([Path(name).stem for name in members if ".csv" in name])),
        ("8378291", "ECGDataDenoised.zip", packed.getvalue()),
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
    book.active.append(["FileName", "Rhythm"])
    for name in names:
        book.active.append([name, "SB"])
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


def test_a_dry_run_asks_no_home_and_writes_nothing(homes: SimpleNamespace, download: Download) -> None:
    status, out, _ = download("mimic-iv-ecg", "--subset", "paper", "--patients", "1600", "--dry-run")
    assert status == OK
    assert "MIMIC-IV-ECG 1.0, paper: the first 1,600 patients of: the folders p1000 to p1099, about a tenth" in out
    assert "8,000 recordings in 16,000 files, as documented; 0 B are there" in out
    assert "dry run: nothing was fetched or written" in out
    assert homes.physionet.asked == []
    assert not homes.data.exists()


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


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ptbxl", "unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
        ("", "`data download` needs DATASET, e.g. `data download ptb-xl --data-root /data`"),
        ("ptb-xl --subset papers", "PTB-XL 1.0.3 has no subset 'papers'; there are: paper, records100"),
        ("ptb-xl --from figshare", "PTB-XL 1.0.3 has no home 'figshare'; there are: physionet, aws"),
        ("ptb-xl --subset=", "PTB-XL 1.0.3 has no subset ''; there are: paper, records100"),
        ("ptb-xl --data ptbxl=there", "--data: unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
        ("ptb-xl --patients 0", "--patients: 0 is not a count; use 1 or more"),
        ("ptb-xl --connections 9", "--connections 9 are more than a public home bears; use 1 to 8"),
        ("chapman --from figshare --patients 3", "is one archive: leave out --patients, or take another --from"),
    ],
)
def test_bad_words_are_one_line_before_any_request(
    homes: SimpleNamespace, download: Download, words: str, message: str
) -> None:
    status, out, err = download(*words.split())
    assert (status, out) == (USAGE, "")
    assert message in err
    assert err.count("\n") == 1
    assert homes.physionet.asked == []
    assert not homes.data.exists()


def test_a_folder_of_another_kind_is_not_written_into(homes: SimpleNamespace, download: Download) -> None:
    (homes.data / "WFDB_ChapmanShaoxing").mkdir(parents=True)
    assert "has chapman in another form, which a run would read" in download("chapman")[2]
    (homes.data / "ptb-xl").mkdir()
    (homes.data / "ptb-xl" / "SIMULATED.json").write_text("{}")
    status, _, err = download("ptb-xl")
    assert status == USAGE
    assert "holds simulated recordings: name another folder" in err


def test_a_folder_has_to_be_named(homes: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["data", "download", "ptb-xl"]) == USAGE
    assert "where shall ptb-xl go? use --data-root DIR or --data ptb-xl=DIR" in capsys.readouterr().err
    own = homes.data / "mine"
    assert main(["data", "download", "ptb-xl", "--data", f"ptb-xl={own}", "--mirrors", str(homes.mirrors)]) == OK
    assert (own / "ptbxl_database.csv").is_file()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("connections: 4", "manners.connections: input should be less than or equal to 8"),
        ("tries: 8", "manners.trys: extra inputs are not permitted"),
    ],
)
def test_a_bad_mirrors_file_is_one_line(homes: SimpleNamespace, download: Download, change: str, message: str) -> None:
    wrong = {"connections: 4": "connections: 40", "tries: 8": "trys: 8"}[change]
    homes.mirrors.write_text(homes.mirrors.read_text().replace(change, wrong))
    status, _, err = download("ptb-xl")
    assert status == USAGE
    assert message in err
    assert err.count("\n") == 1


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
    monkeypatch.setattr("benchmark.data.download.space.free_bytes", lambda folder: 10**12)
    status, _, err = download("chapman")
    assert status == USAGE
    assert re.fullmatch(
        r"error: .*: No space left on device; free space there or name another folder; what is finished is kept, and "
        r"the same command goes on\n",
        err,
    )


def test_a_read_only_target_is_one_line(
    homes: SimpleNamespace, download: Download, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    monkeypatch.setattr("benchmark.data.download.space.free_bytes", lambda folder: 10**12)
    homes.data = disk
    status, _, err = download("chapman")
    assert status == USAGE
    assert err.startswith("error: ")
    assert err.endswith("Read-only file system; the place is mounted read-only: name another folder\n")


def command(homes: SimpleNamespace, *words: str) -> list[str]:
    where = ["--data-root", str(homes.data), "--mirrors", str(homes.mirrors)]
    return [sys.executable, str(ROOT / "run_benchmark.py"), "data", "download", *words, *where]


@contextmanager
def running(homes: SimpleNamespace, *words: str) -> Iterator[subprocess.Popen[str]]:
    """The command in a process of its own, which ends with the context."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command(homes, *words), stdout=pipe, stderr=pipe, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def begun_in(root: Path) -> list[Path]:
    """Parts of files with bytes in them, and their tags: what a download goes on from."""
    parts = [path for path in root.rglob("records500/*/*.part") if path.stat().st_size]
    return [part for part in parts if part.with_name(f"{part.name}.json").exists()]


def wait_for(what: Callable[[], bool], seconds: float = 60.0) -> None:
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.01)


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow)]
)
def test_a_stop_keeps_what_came(homes: SimpleNamespace, number: int, status: int) -> None:
    homes.physionet.delay = 0.02
    with running(homes, "chapman") as process:
        wait_for(lambda: any(path.endswith(".mat") for _, path, _ in homes.physionet.asked))
        time.sleep(0.2)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert re.fullmatch(
        r"error: stopped; .*/chapman keeps what came, also of single files; what is finished is saved, and the same "
        r"command goes on from there\n",
        err,
    )
    homes.physionet.delay = 0.0
    again = subprocess.run(command(homes, "chapman"), capture_output=True, text=True, check=False)
    assert (again.returncode, again.stderr) == (OK, "")
    assert max(homes.physionet.whole.values()) == 1


def test_two_downloads_into_one_folder_do_not_meet(homes: SimpleNamespace, download: Download) -> None:
    with alone_in(homes.data / "chapman"):
        status, _, err = download("chapman")
    assert status == USAGE
    assert "another process downloads into" in err
    assert homes.physionet.asked == []
    assert download("chapman")[0] == OK


@pytest.mark.slow
def test_killed_ten_times_every_sum_is_right_and_no_file_is_fetched_twice(homes: SimpleNamespace) -> None:
    """A file that had its name at a kill is not asked for again, and one that was begun goes on at its last byte."""
    inside, root = FOLDERS["ptb-xl"], homes.data / "ptb-xl"
    homes.physionet.delay = 0.03
    for _ in range(10):
        asked = len(homes.physionet.asked)
        there = {inside + path.relative_to(root).as_posix() for path in root.rglob("records500/*/*.???")}
        begun = {
            inside + part.relative_to(root).as_posix().removesuffix(".part"): part.stat().st_size
            for part in begun_in(root)
        }
        with running(homes, "ptb-xl") as process:
            wait_for(lambda asked=asked: len(homes.physionet.asked) > asked)
            time.sleep(0.15)
            assert process.poll() is None, "it ended before it was killed: make the tree larger"
        first = {path: wanted for _, path, wanted in reversed(homes.physionet.asked[asked:])}
        assert not there & first.keys()
        assert {path: first[path] for path in begun.keys() & first} == {
            path: f"bytes={begun[path]}-" for path in begun.keys() & first
        }
    assert any(start for _, _, start in homes.physionet.asked), "none was killed within a file"
    homes.physionet.delay = 0.0
    ended = subprocess.run(command(homes, "ptb-xl"), capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (OK, "")
    for line in homes.physionet.files[f"{inside}SHA256SUMS.txt"].decode().splitlines():
        digest, path = line.split(" ")
        assert hashlib.sha256((root / path).read_bytes()).hexdigest() == digest
    sizes = {path: len(homes.physionet.files[path]) for path in homes.physionet.sent}
    lost = sum(homes.physionet.sent.values()) - sum(sizes.values())
    assert lost <= 10 * 4 * 2 * PIECE, "ten kills, four connections, a piece on its way and one in the buffers of each"
    assert not list(root.rglob("*.part*"))
