"""A home on this machine that serves a tree of files, well or badly, and counts what it gave."""

from __future__ import annotations

import hashlib
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote

PIECE = 4096


@dataclass
class Fault:
    """How a file is served badly. Without `times`, always."""

    kind: str
    """drop, wrong, slow-head, status, no-range, wrong-range, ignores-if-range, length, redirect, no-validator, weak."""
    times: int = 1_000_000
    value: object = None


@dataclass
class Home:
    """A tree of files at `url`, and what was asked of it."""

    files: dict[str, bytes]
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    sent: Counter[str] = field(default_factory=Counter)
    """Bytes of a file that left."""
    whole: Counter[str] = field(default_factory=Counter)
    """Answers with a whole file from its first byte to its last."""
    asked: list[tuple[float, str, str]] = field(default_factory=list)
    """(time, path, Range header) of each request."""
    headers: list[dict[str, str]] = field(default_factory=list)
    most_at_once: int = 0
    at_once: int = 0
    delay: float = 0.0
    """Seconds per piece."""
    url: str = ""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def sums(self, name: str = "SHA256SUMS.txt") -> None:
        """Write the list of sums as PhysioNet does: one space."""
        lines = [f"{hashlib.sha256(content).hexdigest()} {path}\n" for path, content in sorted(self.files.items())]
        self.files[name] = "".join(line for line in lines if not line.endswith(f" {name}\n")).encode()

    def fault(self, path: str, kind: str) -> Fault | None:
        """The next fault of a kind, used up."""
        with self.lock:
            for own in self.faults.get(path, []):
                if own.kind == kind and own.times > 0:
                    own.times -= 1
                    return own
        return None


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    home: Home

    def log_message(self, format: str, *args: object) -> None:
        """Silent."""

    def do_GET(self) -> None:
        home, path = self.home, unquote(self.path.lstrip("/"))
        with home.lock:
            home.asked.append((time.monotonic(), path, self.headers.get("Range", "")))
            home.headers.append(dict(self.headers))
            home.at_once += 1
            home.most_at_once = max(home.most_at_once, home.at_once)
        try:
            self._serve(home, path)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True
        finally:
            with home.lock:
                home.at_once -= 1

    def _serve(self, home: Home, path: str) -> None:
        if home.fault(path, "slow-head"):
            for byte in b"HTTP/1.1 200 OK\r\nX-Filler: " + b"x" * 200:
                self.wfile.write(bytes([byte]))
                time.sleep(0.02)
            return
        if moved := home.fault(path, "redirect"):
            self._answer(302, b"", {"Location": str(moved.value)})
            return
        if refused := home.fault(path, "status"):
            status, headers = refused.value  # type: ignore[misc]
            self._answer(status, b"no", headers)
            return
        content = home.files.get(path)
        if content is None:
            self._answer(404, b"not here", {})
            return
        if home.fault(path, "wrong"):
            content = content[:-1] + bytes([content[-1] ^ 1])
        self._give(home, path, content)

    def _give(self, home: Home, path: str, content: bytes) -> None:
        etag = f'"{hashlib.md5(content).hexdigest()}"'
        weak = home.fault(path, "weak")
        headers = {"ETag": f"W/{etag}" if weak else etag} if not home.fault(path, "no-validator") else {}
        start, status = 0, 200
        wanted = self.headers.get("Range", "")
        current = self.headers.get("If-Range") in (None, etag) or home.fault(path, "ignores-if-range")
        if wanted and current and not home.fault(path, "no-range"):
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            if start >= len(content):
                self._answer(416, b"", {"Content-Range": f"bytes */{len(content)}"})
                return
            said = start + (1 if home.fault(path, "wrong-range") else 0)
            headers["Content-Range"] = f"bytes {said}-{len(content) - 1}/{len(content)}"
        body, length = content[start:], len(content) - start
        if lie := home.fault(path, "length"):
            length += int(lie.value)  # type: ignore[call-overload]
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(length)}.items():
            self.send_header(name, value)
        self.end_headers()
        drop = home.fault(path, "drop")
        end = len(body) * 2 // 3 if drop else min(len(body), length)
        for place in range(0, end, PIECE):
            piece = body[place : min(place + PIECE, end)]
            with home.lock:  # counted before it goes: who has read it may ask at once
                home.sent[path] += len(piece)
                home.whole[path] += start == 0 and place + len(piece) == len(content) and length == len(body)
            self.wfile.write(piece)
            if home.delay:
                time.sleep(home.delay)
        if drop or length != len(body):
            self.close_connection = True

    def _answer(self, status: int, body: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {**headers, "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Silent: clients are killed on purpose."""


@contextmanager
def serving(files: dict[str, bytes]) -> Iterator[Home]:
    """A home that serves these files within the context."""
    home = Home(files)
    handler = type("Handler", (_Handler,), {"home": home})
    server = _Server(("127.0.0.1", 0), handler)
    home.url = f"http://127.0.0.1:{server.server_port}/"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield home
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
