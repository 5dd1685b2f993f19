"""Whole downloads from homes on this machine, with the mirrors file that is shipped, its addresses exchanged."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.data.download.catalogue import Manners, Source, Subset, Tree
from benchmark.data.download.get import CHECKED_AT_A_TIME, Outcome, Voice, get
from benchmark.data.download.ledger import Ledger, alone_in
from benchmark.data.download.order import Order
from benchmark.data.readers.registry import UNFINISHED, source_of
from run_benchmark import main
from tests.benchmark.data.download.conftest import FOLDERS, REFERENCE, Download, recordings
from tests.benchmark.data.download.server import Fault, Home, serving


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


def test_two_downloads_into_one_folder_do_not_meet(homes: SimpleNamespace, download: Download) -> None:
    with alone_in(homes.data / "chapman"):
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
    monkeypatch.setattr("benchmark.data.download.space.free_bytes", lambda folder: 10**12)
    status, _, err = download("chapman")
    assert status == USAGE
    assert re.fullmatch(
        r"error: .*: No space left on device; free space there or name another folder; what is finished is kept, and "
        r"the same command goes on\n",
        err,
    )


def test_a_file_that_can_be_done_without_is_asked_for_three_times(homes: SimpleNamespace, download: Download) -> None:
    homes.other.faults[REFERENCE].append(Fault("status", value=(503, {})))
    status, out, _ = download("cpsc2018")
    assert status == OK
    assert "REFERENCE.csv is not there" in out
    assert len(homes.other.asked) == 3


class Heard:
    """What a download says, and the steps of its bars."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.steps: dict[str, list[tuple[int, int]]] = {}

    @contextmanager
    def bar(self, name: str) -> Iterator[Callable[[int, int], None]]:
        own = self.steps.setdefault(name.strip(), [])
        yield lambda done, total: own.append((done, total))

    @property
    def voice(self) -> Voice:
        return Voice(self.lines.append, self.bar, self.bar)


def test_a_download_tells_how_many_files_it_looks_at_fetches_and_lacks(tmp_path: Path) -> None:
    count = 2 * CHECKED_AT_A_TIME
    files = {f"records/{number:03}.dat": bytes([number]) * 1000 for number in range(count)}
    size = 1000 * count
    with serving(dict(files)) as home:
        home.sums()
        order = order_at(home, tmp_path)
        heard = Heard()
        outcome = got(order, heard)
        assert (outcome.files, outcome.fetched, outcome.received, outcome.failed) == (count, count, size, {})
        assert heard.lines == [f"  files: {count}, of them 0 there and right; {count} to fetch, about 100 kB"]
        assert heard.steps["files looked at"] == [(CHECKED_AT_A_TIME, count)]
        assert heard.steps["files from here"][-1] == (size, size)
        (tmp_path / "records" / "007.dat").unlink()
        missing = home.files.pop("records/007.dat")
        heard = Heard()
        outcome = got(order, heard)
        assert outcome.failed == {"records/007.dat": "here: 404 Not Found"}
        assert heard.lines == [
            f"  files: {count}, of them {count - 1} there and right; 1 to fetch, about 1 kB",
            "  here did not give 1 files: records/007.dat, 404 Not Found",
        ]
        assert (tmp_path / UNFINISHED).exists()
        home.files["records/007.dat"] = missing
        assert got(order, Heard()).fetched == 1
        assert not (tmp_path / UNFINISHED).exists()


def got(order: Order, heard: Heard) -> Outcome:
    with Ledger(order.root) as ledger:
        return get(order, ledger, heard.voice)


def order_at(home: Home, root: Path) -> Order:
    """The download of all that one home has."""
    part = Subset(what="all", take=("records/*",), recordings=1, patients=1, recording_bytes=1)
    tree = Tree(kind="tree", url=home.url)
    source = Source(
        release="Some 1.0", homes={"here": tree}, subsets={"all": part}, table_bytes=1, sizes={"*.dat": 1000}
    )
    return Order("some", source, "all", part, {"here": tree}, root, Manners(tries=2, first_wait=0.01, timeout=2))
