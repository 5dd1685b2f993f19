"""The mirrors file that is shipped, and homes on this machine that serve simulated datasets by it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from benchmark.config.words import values_of
from benchmark.data.datasets.registry import source_of
from benchmark.data.simulate import CohortSettings, write_cohort
from benchmark.extras.download_catalogue import Catalogue, Subset, catalogue_of, shipped
from run_benchmark import main
from tests.benchmark.extras.download.server import Home, serving

FOLDERS = {
    "mimic-iv-ecg": "mimic-iv-ecg/1.0/",
    "ptb-xl": "ptb-xl/1.0.3/",
    "chapman": "ecg-arrhythmia/1.0.0/",
    "cpsc2018": "challenge-2021/1.0.3/",
}
"""Dataset -> its folder at PhysioNet."""
PATIENTS = {"mimic-iv-ecg": 8, "ptb-xl": 6, "chapman": 5, "cpsc2018": 6}
REFERENCE = "file/REFERENCE.csv"
Download = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def shipped_catalogue() -> Catalogue:
    return catalogue_of(values_of(shipped()), shipped())


@pytest.fixture(scope="session")
def shipped_subsets(shipped_catalogue: Catalogue) -> dict[str, dict[str, Subset]]:
    return {name: source.subsets for name, source in shipped_catalogue.datasets.items()}


@pytest.fixture(scope="session")
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
        text = re.sub(r"longest_wait: 60\b", "longest_wait: 0.05", text).replace("timeout: 60", "timeout: 20")
        text = re.sub(r"(recording|table)_bytes: \d+", r"\1_bytes: 1000", text)  # as much as this disk may have
        mirrors = tmp_path / "mirrors.yaml"
        mirrors.write_text(text)
        yield SimpleNamespace(physionet=physionet, aws=aws, other=other, mirrors=mirrors, data=tmp_path / "data")


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
    """Those that the dataset's reader finds."""
    return sorted(entry.recording for entry in source_of(name)(homes.data / name).listing().entries)
