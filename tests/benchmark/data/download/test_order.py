"""What a download is: its part, its homes, what it costs and the folder it goes to."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.command_line.verb import OK, USAGE
from benchmark.data.download.catalogue import Catalogue
from benchmark.data.download.order import Order, folder_of, order_of
from benchmark.data.readers.errors import DatasetError
from run_benchmark import main
from tests.benchmark.data.download.conftest import FOLDERS, Download


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


def order(catalogue: Catalogue, name: str, **asked: object) -> Order:
    return order_of(catalogue, name, data_root=Path("/data"), paths={}, **asked)  # type: ignore[arg-type]


def test_without_words_a_download_is_the_first_subset_from_all_homes_of_one_form(shipped_catalogue: Catalogue) -> None:
    found = order(shipped_catalogue, "chapman")
    assert (found.subset_name, list(found.homes), found.root) == ("paper", ["physionet", "aws"], Path("/data/chapman"))
    assert (found.patients, found.again, found.manners) == (None, False, shipped_catalogue.manners)
    assert order(shipped_catalogue, "mimic-iv-ecg").subset_name == "all"


def test_what_is_asked_for_is_in_the_order(shipped_catalogue: Catalogue) -> None:
    found = order(shipped_catalogue, "ptb-xl", subset="records100", home="aws", patients=3, connections=2, again=True)
    assert found.subset is shipped_catalogue.datasets["ptb-xl"].subsets["records100"]
    assert (list(found.homes), found.patients, found.again) == (["aws"], 3, True)
    assert found.manners == shipped_catalogue.manners.model_copy(update={"connections": 2})
    assert list(order(shipped_catalogue, "chapman", home="figshare").homes) == ["figshare"]


@pytest.mark.parametrize(
    ("name", "asked", "message"),
    [
        ("ptb", {}, "no home of 'ptb' in the mirrors file, which has mimic-iv-ecg, ptb-xl, chapman, cpsc2018"),
        ("ptb-xl", {"subset": "papers"}, "PTB-XL 1.0.3 has no subset 'papers'; there are: paper, records100"),
        ("ptb-xl", {"home": "figshare"}, "PTB-XL 1.0.3 has no home 'figshare'; there are: physionet, aws"),
        ("chapman", {"home": "figshare", "patients": 3}, "from figshare is one archive: leave out --patients"),
    ],
)
def test_what_there_is_not_is_refused(
    shipped_catalogue: Catalogue, name: str, asked: dict[str, object], message: str
) -> None:
    with pytest.raises(DatasetError, match=re.escape(message)):
        order(shipped_catalogue, name, **asked)


def test_patients_are_documented_in_proportion(shipped_catalogue: Catalogue) -> None:
    assert order(shipped_catalogue, "mimic-iv-ecg", subset="paper").documented() == (
        80_000,
        80_000 * 120_630 + 460_000_000,
    )
    part = order(shipped_catalogue, "mimic-iv-ecg", subset="paper", patients=1_600)
    assert part.documented() == (8_000, 8_000 * 120_630 + 460_000_000)
    assert order(shipped_catalogue, "mimic-iv-ecg", subset="paper", patients=10**6).documented()[0] == 80_000
    unpacked = order(shipped_catalogue, "chapman", home="figshare")
    assert unpacked.documented() == (10_646, 10_646 * 630_000 + 9_000_000)


def test_the_list_of_sums_is_kept_under_the_release(shipped_catalogue: Catalogue) -> None:
    assert order(shipped_catalogue, "ptb-xl").list_path == ".download/PTB-XL-1.0.3.sha256"
    assert (
        order(shipped_catalogue, "cpsc2018").list_path
        == ".download/CPSC2018-in-the-PhysioNet-CinC-Challenge-2021-1.0.3.sha256"
    )


def test_a_folder_that_is_there_is_gone_on_with(shipped_catalogue: Catalogue, tmp_path: Path) -> None:
    source = shipped_catalogue.datasets["ptb-xl"]
    assert folder_of("ptb-xl", source, tmp_path, {}) == tmp_path / "ptb-xl"
    (tmp_path / "physionet.org/files/ptb-xl/1.0.3").mkdir(parents=True)
    assert folder_of("ptb-xl", source, tmp_path, {}) == tmp_path / "physionet.org/files/ptb-xl/1.0.3"
    assert folder_of("ptb-xl", source, tmp_path, {"ptb-xl": tmp_path / "own"}) == tmp_path / "own"
