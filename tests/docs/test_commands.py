"""Commands of the README and the pages are run, in order and in one folder, on small data and small encoders.

`main` parses them as a shell would hand them over; sizes are cut by further `--set` values. What a run leaves is there
for the commands after it, as for a reader who goes from top to bottom. One grid is run; the configs of the others,
which differ from it in values, are made by tests/benchmark/cli/test_main.py.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli.main import OK, parse
from benchmark.data.datasets import DATASETS
from benchmark.data.simulate import COHORTS, SimulatedDataset
from run_benchmark import main
from tests.docs.pages import PREDICTIONS, text_of
from tests.on_disk import write_dataset

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
OWN_TESTS = (
    text_of("USE.md"),
    text_of("OWN_DATA.md"),
    text_of("DATA.md", "## Downloading the datasets"),
    text_of("METHODS.md", "## Encoders from elsewhere as rows"),
)
"""What has commands that need more than this folder, and are run by tests of their own."""
PATIENTS = {"mimic-iv-ecg": 40, "ptb-xl": 150, "chapman": 120, "cpsc2018": 160, "ningbo": 60}
SMALL = (
    *("pretrain.epochs=0.3", "finetune.epochs=1", "boosting.iterations=1", "data.datasets=[ptb-xl]", "seeds=[41]"),
    *("encoder.hidden=4", "encoder.depth=1", "encoder.output=8"),
)
ELSEWHERE = ("check",)
"""Verbs that have tests of their own: `check` runs on the examples in test_method.py."""
RUN = (
    "--methods pmq moco --ratios 0.3 0.1 0.01",
    "tune --config small --candidates 8",
)
"""Grids that are run; the first leaves what the reports report."""
PLANNED = ("--config laptop --dry-run", "--config paper --data-root /data --dry-run")
"""Grids that are planned."""


def lines_of(page: Path) -> Iterator[str]:
    """Commands of the suite in the fenced blocks of a page, without their comments."""
    text = page.read_text(encoding="utf-8")
    for part in OWN_TESTS:
        text = text.replace(part, "")
    for block in re.findall(r"```[a-z]*\n(.*?)```", text.replace("\\\n", " "), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("python run_benchmark.py"):
                yield " ".join(line.split(" #")[0].split())


LINES = list(dict.fromkeys(line for page in PAGES for line in lines_of(page)))


def is_tried(line: str) -> bool:
    """Whether a command is run here: a grid where it is one of `RUN` or `PLANNED`, and every other verb."""
    rest = line.removeprefix("python run_benchmark.py").strip()
    if parse(shlex.split(rest))[0] in ("run", "tune"):
        return rest in RUN + PLANNED
    return line.split()[2] not in ELSEWHERE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder: datasets under `data-root`, and the examples of the pages."""
    folder = tmp_path_factory.mktemp("reader")
    for name in COHORTS:
        root = folder / "data-root" / DATASETS[name].folders[0]
        write_dataset(SimulatedDataset(name, PATIENTS[name], seed=3, recordings_per_patient=2.0), root)
    (folder / "theirs.csv").write_text(PREDICTIONS)
    (folder / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    return folder


def small(line: str) -> list[str]:
    """The words of a command line after the program, with the reader's folders, and cut to seconds."""
    words = shlex.split(line)
    name = parse(words)[0]
    swaps = {"theirs.zip": "mine.zip", "again": "runs", "other/runs": "runs"}
    words = [swaps.get(word, re.sub(r"^/(data|shared)", r"\1-root", word)) for word in words]
    if name not in ("run", "tune"):
        return words
    if name == "tune":
        words[words.index("--candidates") + 1] = "2"
        words += ["--methods", "pmq"]
    sizes = SMALL
    if "--data-root" not in words:
        sizes += tuple(f"data.simulation.patients.{name}={count}" for name, count in PATIENTS.items())
        sizes += ("data.simulation.test_patients={}",)
    return [*words, "--set", *sizes]


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in LINES if is_tried(line)])
def test_a_command_of_the_pages_does_what_it_says(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(small(line.removeprefix("python run_benchmark.py ").strip())) == OK, capsys.readouterr()
