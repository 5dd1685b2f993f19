"""`data download` as a command: its words, what it shows, and how it is stopped."""

from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line import OK, USAGE
from tests.benchmark.extras.download.conftest import FOLDERS, Download
from tests.benchmark.extras.download.server import PIECE

ROOT = Path(__file__).resolve().parents[4]


def test_a_dry_run_asks_no_home_and_writes_nothing(homes: SimpleNamespace, download: Download) -> None:
    status, out, _ = download("mimic-iv-ecg", "--subset", "paper", "--patients", "1600", "--dry-run")
    assert status == OK
    assert "MIMIC-IV-ECG 1.0, paper: the first 1,600 patients of: the folders p1000 to p1099, about a tenth" in out
    assert "8,000 recordings in 16,000 files, as documented; 0 B are there" in out
    assert "dry run: nothing was fetched or written" in out
    assert homes.physionet.asked == []
    assert not homes.data.exists()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("ptbxl", "unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
        ("", "`data download` needs DATASET, e.g. `data download ptb-xl --data-root /data`"),
        ("ptb-xl --subset=", "PTB-XL 1.0.3 has no subset ''; there are: paper, records100"),
        ("ptb-xl --data ptbxl=there", "--data: unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
        ("ptb-xl --patients 0", "--patients: 0 is not a count; use 1 or more"),
        ("ptb-xl --connections 9", "--connections 9 are more than a public home bears; use 1 to 8"),
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


def test_a_read_only_target_is_one_line(
    homes: SimpleNamespace, download: Download, disk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    monkeypatch.setattr("benchmark.extras.download_catalogue.free_bytes", lambda folder: 10**12)
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

    def as_a_terminal_has_it() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it

    with subprocess.Popen(
        command(homes, *words), stdout=pipe, stderr=pipe, text=True, preexec_fn=as_a_terminal_has_it
    ) as process:
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
    # Ten kills, four connections, up to four pieces in the buffers of each; begun anew, a record loses half of 120 kB.
    assert lost <= 10 * 4 * 4 * PIECE
    assert not list(root.rglob("*.part*"))
