"""`data download` from a home on this machine: verified files, tries, resuming by file, and what is refused."""

from __future__ import annotations

import hashlib
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from urllib.parse import unquote

import pytest

from benchmark.cli import download as module
from benchmark.cli.download import SUMS
from benchmark.cli.main import FAILED, OK, USAGE
from run_benchmark import main

ROOT = Path(__file__).resolve().parents[4]
RELEASES = {
    "mimic-iv-ecg": "mimic-iv-ecg/1.0/",
    "ptb-xl": "ptb-xl/1.0.3/",
    "chapman": "ecg-arrhythmia/1.0.0/",
    "cpsc2018": "challenge-2021/1.0.3/",
}
"""Dataset -> its folder at PhysioNet."""
PATHS = {
    "mimic-iv-ecg": [
        f"files/{folder}/s1/1.dat" for folder in ("p1000/p10000032", "p1099/p10990001", "p1100/p11000002")
    ],
    "ptb-xl": [f"records500/00000/{number:05}_hr.{suffix}" for number in range(1, 11) for suffix in ("hea", "dat")],
    "chapman": [f"WFDBRecords/01/010/{name}" for name in ("JS00001.mat", "JS00002.mat", "JS10646.mat", "JS10647.mat")],
    "cpsc2018": ["training/cpsc_2018/g1/A0001.hea", "training/cpsc_2018/g1/A0001.mat", "training/georgia/g1/E1.mat"],
}
"""Dataset -> files of its release, some of which are not asked for."""
TABLES = {
    "mimic-iv-ecg": ["record_list.csv", "machine_measurements.csv"],
    "ptb-xl": ["ptbxl_database.csv"],
}
NOT_WANTED = {"p11000002", "JS10647", "georgia"}
Download = Callable[..., tuple[int, str, str]]


class Home(ThreadingHTTPServer):
    """A home that serves a tree of files, well or badly, and counts what it gave."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[str]] = {}
        """Path -> faults of its next answers: a status, 'wrong' bytes or 'half' of them."""
        self.requests: Counter[str] = Counter()
        self.given: Counter[str] = Counter()
        self.headers: list[dict[str, str]] = []
        self.seconds = 0.0
        """Before each answer."""
        self.url = f"http://127.0.0.1:{self.server_port}/"

    def handle_error(self, request: object, client_address: object) -> None:
        """Silent: clients are killed on purpose."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Home

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_GET(self) -> None:
        home, path = self.server, unquote(self.path.lstrip("/"))
        home.requests[path] += 1
        home.headers.append(dict(self.headers))
        time.sleep(home.seconds)
        content = home.files.get(path)
        fault = home.faults[path].pop(0) if home.faults.get(path) else ""
        status = int(fault) if fault.isdigit() else 200 if content is not None else 404
        body = b"no" if content is None or status != 200 else content
        if fault == "wrong":
            body = body[:-1] + bytes([body[-1] ^ 1])
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if fault == "half" else body)
        if fault == "half":
            self.close_connection = True
        home.given[path] += status == 200 and not fault


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[SimpleNamespace]:
    """The server, the folder to download to, and the catalogue that names both."""
    with Home() as server:
        for name, paths in PATHS.items():
            tree = {path: path.encode() * 999 for path in [*paths, "LICENSE.txt", *TABLES.get(name, [])]}
            sums = "".join(f"{hashlib.sha256(content).hexdigest()} {path}\n" for path, content in tree.items())
            server.files |= {RELEASES[name] + path: content for path, content in tree.items()}
            server.files[f"{RELEASES[name]}{SUMS}"] = sums.encode()
        text = module.CATALOGUE.read_text().replace("https://physionet.org/files/", server.url)
        text = re.sub(r"(\w+): [\d.]+([,}])", r"\1: 0.0001\2", text)  # gigabytes that any disk has
        (tmp_path / "download.yaml").write_text(text)
        monkeypatch.setattr(module, "CATALOGUE", tmp_path / "download.yaml")
        monkeypatch.setattr(module, "BACKOFF", 0.001)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        yield SimpleNamespace(server=server, data=tmp_path / "data", catalogue=tmp_path / "download.yaml")
        server.shutdown()
        thread.join()


@pytest.fixture
def download(home: SimpleNamespace, capsys: pytest.CaptureFixture[str]) -> Download:
    """Run the command; returns (status, stdout, stderr)."""

    def run(*words: str) -> tuple[int, str, str]:
        status = main(["data", "download", *words, "--data-root", str(home.data)])
        shown = capsys.readouterr()
        return status, shown.out, shown.err

    return run


def test_four_datasets_come_as_their_publishers_arrange_them(home: SimpleNamespace, download: Download) -> None:
    status, out, err = download(*RELEASES)
    assert (status, err) == (OK, "")
    for name, paths in PATHS.items():
        root, expected = home.data / name, [path for path in paths if not any(word in path for word in NOT_WANTED)]
        expected = [*expected, *TABLES.get(name, []), *([] if name == "cpsc2018" else ["LICENSE.txt"])]
        expected += [path for path in paths if name == "mimic-iv-ecg" and "p11" in path]
        stored = {path.relative_to(root).as_posix(): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        served = {
            path.removeprefix("training/cpsc_2018/"): home.server.files[RELEASES[name] + path] for path in expected
        }
        assert stored == served
    assert "Open Database License (ODbL) 1.0" in out
    assert set(home.server.given.values()) == {1}
    assert not any("Authorization" in headers for headers in home.server.headers)


def test_only_what_is_missing_of_a_part_is_fetched(
    home: SimpleNamespace, download: Download, flip: Callable[[Path, float], None]
) -> None:
    assert download("mimic-iv-ecg", "--subset", "paper")[0] == OK
    assert {path.name for path in (home.data / "mimic-iv-ecg" / "files").iterdir()} == {"p1000", "p1099"}
    assert download("ptb-xl")[0] == OK
    assert "0 to fetch" in download("ptb-xl")[1]
    signal_file = next((home.data / "ptb-xl").rglob("*.dat"))
    right = signal_file.read_bytes()
    flip(signal_file, 0.5)
    status, out, _ = download("ptb-xl", "--verify")
    assert (status, signal_file.read_bytes()) == (OK, right)
    assert ", 1 to fetch" in out


def test_whatever_interrupts_a_download_is_tried_again(home: SimpleNamespace, download: Download) -> None:
    files = sorted(path for path in home.server.files if "records500/" in path and path.endswith(".dat"))
    home.server.faults |= dict(zip(files, [["503", "429"], ["half", "half"], ["wrong"], []], strict=False))
    assert download("ptb-xl")[0] == OK
    assert [home.server.requests[path] for path in files[:4]] == [3, 3, 2, 1]
    for path in files:
        inside = path.removeprefix(RELEASES["ptb-xl"])
        assert (home.data / "ptb-xl" / inside).read_bytes() == home.server.files[path]


@pytest.mark.parametrize(("fault", "reason"), [("404", "404 Not Found"), ("wrong", "its SHA-256 is ")])
def test_a_run_refuses_an_unfinished_download(
    home: SimpleNamespace, download: Download, capsys: pytest.CaptureFixture[str], fault: str, reason: str
) -> None:
    (missing,) = [path for path in home.server.files if path.endswith("JS00002.mat")]
    home.server.faults[missing] = [fault] * module.TRIES
    status, out, _ = download("chapman")
    assert status == FAILED
    assert f"  missing: {missing.removeprefix(RELEASES['chapman'])} ({reason}" in out
    check = ["data", "check", "--datasets", "chapman", "--data-root", str(home.data)]
    assert main([*check, "--cache", str(home.data / "cache")]) == FAILED
    assert "has not ended: run `data download chapman` again, or remove " in capsys.readouterr().out
    home.server.faults.clear()
    status, out, _ = download("chapman")
    assert (status, ", 1 to fetch" in out) == (OK, True)


@pytest.mark.parametrize("line", [f"{'0' * 64} ../../evil.dat", f"{'0' * 64} /etc/evil.dat", "<html>log in</html>"])
def test_a_list_that_is_none_or_leaves_the_folder_is_refused_whole(
    home: SimpleNamespace, download: Download, line: str
) -> None:
    name = f"{RELEASES['ptb-xl']}{SUMS}"
    home.server.files[name] += f"{line}\n".encode()
    status, _, err = download("ptb-xl")
    assert (status, f"of files in a folder: '{line}" in err) == (USAGE, True)
    assert set(home.server.requests) == {name}
    assert not list(home.data.parent.rglob("*evil*"))


@pytest.mark.slow
def test_an_interrupted_download_fetches_no_file_twice(home: SimpleNamespace) -> None:
    script = (
        "import sys, pathlib; from benchmark.cli import download as own; from run_benchmark import main; "
        "own.CATALOGUE = pathlib.Path(sys.argv[1]); sys.exit(main(['data', 'download', 'ptb-xl', '--data-root', "
        "sys.argv[2]]))"
    )
    command, root = [sys.executable, "-c", script, str(home.catalogue), str(home.data)], home.data / "ptb-xl"
    home.server.seconds = 0.1
    for number in (signal.SIGKILL, signal.SIGTERM):
        before = home.server.requests.total()
        with subprocess.Popen(command, stderr=subprocess.PIPE, cwd=ROOT) as process:
            until = time.monotonic() + 60
            while home.server.requests.total() < before + 7 and time.monotonic() < until:
                time.sleep(0.01)
            process.send_signal(number)
            error = process.communicate(timeout=60)[1]
        if number == signal.SIGTERM:
            assert (process.returncode, b"what is finished is saved" in error) == (143, True)
    home.server.seconds = 0.0
    assert subprocess.run(command, check=False, cwd=ROOT).returncode == OK
    for line in home.server.files[f"{RELEASES['ptb-xl']}{SUMS}"].decode().splitlines():
        digest, path = line.split(" ")
        assert hashlib.sha256((root / path).read_bytes()).hexdigest() == digest
    assert not list(root.rglob("*.part"))
    connections = 2 * module.CONNECTIONS  # those that were under way at a stop begin anew
    assert home.server.given.total() <= len(home.server.given) + connections
