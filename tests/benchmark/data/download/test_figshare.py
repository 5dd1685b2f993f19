"""Chapman from figshare's API: listed, checked by MD5, unpacked within its folder."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line.verb import FAILED, OK, USAGE
from benchmark.data.download.catalogue import Figshare, Manners
from benchmark.data.download.figshare import LARGEST_ANSWER, LARGEST_UNPACKED, files_of, is_unpacked, unpack
from benchmark.data.download.sums import Wanted
from benchmark.data.download.web import Refused, Unreachable
from benchmark.data.readers.errors import DatasetError
from benchmark.results.files.read import MEBIBYTE
from tests.benchmark.data.download.conftest import Download, recordings
from tests.benchmark.data.download.server import Fault, Home, serving


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


QUICK = Manners(tries=3, first_wait=0.01, longest_wait=0.05, timeout=2)
FILE = {"name": "a.csv", "size": 3, "computed_md5": "0" * 32, "download_url": "http://there/1"}


@pytest.fixture
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
    "change",
    [{"size": -1}, {"size": "3"}, {"computed_md5": "0" * 31}, {"computed_md5": "0" * 33}, {"download_url": "there/1"}],
    ids=str,
)
def test_a_file_without_address_md5_or_size_is_refused(api: Home, change: dict[str, object]) -> None:
    with pytest.raises(Refused, match=r"^the API states no address, MD5 or size of a\.csv$"):
        listed(api, {"files": [FILE | change]})


def test_an_api_over_https_may_not_lead_to_http(monkeypatch: pytest.MonkeyPatch) -> None:
    home = Figshare(kind="figshare", api="https://api/", articles={"7": ("a.csv",)}, recording_bytes=1)
    answer = "benchmark.data.download.figshare._answer"
    monkeypatch.setattr(answer, lambda web, url: [FILE | {"download_url": "https://there/1"}])
    assert files_of(home, QUICK)[0].url == "https://there/1"
    monkeypatch.setattr(answer, lambda web, url: [FILE])
    with pytest.raises(Refused, match="states no address"):
        files_of(home, QUICK)


def test_an_article_without_the_file_is_refused(api: Home) -> None:
    with pytest.raises(Refused, match=r"^article 7 has no a\.csv$"):
        listed(api, {"files": []})


@pytest.mark.parametrize("answer", [b"<html>", b"[]", b"{}", b'{"files": 3}'])
def test_an_answer_that_lists_no_files_is_refused(api: Home, answer: bytes) -> None:
    with pytest.raises(Refused, match=f"^{api.url}7 does not answer with an article's files$"):
        listed(api, answer)


def test_a_busy_api_is_asked_again_as_often_as_manners_say(api: Home) -> None:
    api.faults["7"].append(Fault("status", times=2, value=(503, {})))
    assert len(listed(api, {"files": [FILE]})) == 1
    assert len(api.asked) == 3
    api.faults["7"].append(Fault("status", times=3, value=(503, {})))
    with pytest.raises(Unreachable):
        listed(api, {"files": [FILE]})


def test_an_answer_may_not_be_endless(api: Home) -> None:
    text = json.dumps({"files": [FILE]}).encode()
    assert LARGEST_ANSWER == MEBIBYTE
    assert len(listed(api, text.ljust(LARGEST_ANSWER))) == 1
    with pytest.raises(Refused, match=f"answers with more than {LARGEST_ANSWER} bytes"):
        listed(api, text.ljust(LARGEST_ANSWER + 1))


def packed(folder: Path, members: dict[str, bytes]) -> Wanted:
    """A zip as it was fetched into a folder."""
    place = folder / ".download" / "a.zip"
    place.parent.mkdir(exist_ok=True)
    with zipfile.ZipFile(place, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return Wanted("http://there/1", ".download/a.zip", "0" * 32, place.stat().st_size, "md5")


def test_members_that_match_are_unpacked_told_and_found_again(tmp_path: Path) -> None:
    item = packed(tmp_path, {"in/1.csv": b"one", "in/2.csv": b"two", "in/3.txt": b"three"})
    assert not is_unpacked(tmp_path, item)
    told: list[tuple[int, int]] = []
    assert unpack(tmp_path, item, "in/*.csv", lambda done, total: told.append((done, total))) == 2
    assert told == [(1, 2), (2, 2)]
    assert {path.name: path.read_bytes() for path in (tmp_path / "in").iterdir()} == {"1.csv": b"one", "2.csv": b"two"}
    assert sorted(path.name for path in (tmp_path / ".download").iterdir()) == ["unpacked.json"], "the zip is removed"
    assert is_unpacked(tmp_path, item)
    assert not is_unpacked(tmp_path, item._replace(digest="1" * 32)), "another zip of the name"
    assert not is_unpacked(tmp_path, item._replace(path=".download/b.zip"))
    (tmp_path / "in" / "2.csv").write_bytes(b"longer")
    assert not is_unpacked(tmp_path, item)
    (tmp_path / "in" / "2.csv").unlink()
    assert not is_unpacked(tmp_path, item)


@pytest.mark.parametrize("noted", ["[]", '{"a.zip": 3}', '{"a.zip": {"md5": "%s", "files": 3}}' % ("0" * 32), "{"])
def test_notes_that_cannot_be_read_count_for_nothing(tmp_path: Path, noted: str) -> None:
    item = packed(tmp_path, {"1.csv": b"one"})
    (tmp_path / ".download" / "unpacked.json").write_text(noted)
    assert not is_unpacked(tmp_path, item)
    assert unpack(tmp_path, item, "*", lambda done, total: None) == 1
    assert is_unpacked(tmp_path, item)


def test_two_zips_are_noted_side_by_side(tmp_path: Path) -> None:
    first = packed(tmp_path, {"1.csv": b"one"})
    unpack(tmp_path, first, "*", lambda done, total: None)
    second = packed(tmp_path, {"2.csv": b"two"})
    (tmp_path / second.path).rename(tmp_path / ".download" / "b.zip")
    second = second._replace(path=".download/b.zip")
    unpack(tmp_path, second, "*", lambda done, total: None)
    assert is_unpacked(tmp_path, first)
    assert is_unpacked(tmp_path, second)


def test_a_zip_without_members_of_the_pattern_or_of_no_zip_is_told(tmp_path: Path) -> None:
    item = packed(tmp_path, {"1.csv": b"one"})
    with pytest.raises(DatasetError, match=r"a\.zip cannot be unpacked: no in/\*\.csv in it$"):
        unpack(tmp_path, item, "in/*.csv", lambda done, total: None)
    (tmp_path / item.path).write_bytes(b"no zip")
    with pytest.raises(DatasetError, match=r"a\.zip cannot be unpacked: File is not a zip file$"):
        unpack(tmp_path, item, "*", lambda done, total: None)


def test_the_members_of_chapman_s_zip_fit_and_a_bomb_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert LARGEST_UNPACKED == 64 * 1024 * MEBIBYTE
    item = packed(tmp_path, {"1.csv": b"one", "2.csv": b"two"})
    for name, limit in (("LARGEST_UNPACKED", 5), ("MOST_MEMBERS", 1)):
        with monkeypatch.context() as patch:
            patch.setattr(f"benchmark.data.download.figshare.{name}", limit)
            with pytest.raises(DatasetError, match="cannot be unpacked"):
                unpack(tmp_path, item, "*", lambda done, total: None)


def test_a_disk_without_room_for_the_members_is_told_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    item = packed(tmp_path, {"1.csv": bytes(2000)})
    monkeypatch.setattr("benchmark.data.download.space.free_bytes", lambda folder: 1999)
    with pytest.raises(DatasetError, match=r"^unpacking takes 2 kB more and .* has room for 2 kB"):
        unpack(tmp_path, item, "*", lambda done, total: None)
    assert (tmp_path / item.path).exists()
