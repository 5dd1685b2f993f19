"""Every command of the README and the pages is run, in order and in one folder, on small data and small encoders.

`main` parses them as a shell would hand them over; sizes are cut by further `--set` values. What a run leaves is there
for the commands after it, as for a reader who goes from top to bottom. One grid of each kind is run; the configs of the
others, which differ from these in values, are made by tests/benchmark/cli/test_init.py.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import OK, parse
from benchmark.data.datasets import DATASETS
from benchmark.data.simulate import COHORTS, CohortSettings, write_cohort
from run_benchmark import main
from tests.docs.pages import text_of

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
SMALL = ("pretrain.epochs=0.3", "finetune.epochs=1", "boosting.iterations=1", "data.datasets=[ptb-xl]", "seeds=[41]")
SMALL_ENCODER = {"": ("hidden=4", "depth=1", "output=8"), "resnet1d": ("output=8",), "xresnet1d101": ("third_stage=1",)}
"""`--encoder` -> sizes; another encoder keeps its own."""
OF_CONFIG = {"ptbxl-benchmark": "xresnet1d101", "literature": "resnet1d"}
"""`--config` -> the encoder that it names."""
ELSEWHERE = ("known-answers", "speed")
"""Verbs whose commands take hours or minutes: tests/benchmark/verbs runs the short answers, and `speed --quick`."""
RUN = (
    "--methods pmq moco --ratios 0.3 0.1 0.01",
    "tune --config small --trials 8",
    "--config out/tuned.yaml",
    "--config paper --data-root /data",
    "--ablations",
    "--encoder docs/encoder/gru.py --methods pmq moco random",
)
"""Grids that are run; the first leaves what the reports report."""
BY_CI = ("git clone", "make demo", "make docs", "python -m venv", "pip install")
"""Beginnings of the commands that a clean checkout goes through before any test."""
BY_HAND = ("make lowest", "make test VENV=.newest")
"""Beginnings of the commands that run these tests in other environments."""


def lines_of(page: Path) -> Iterator[str]:
    """Commands in the fenced blocks of a page, without their comments."""
    text = page.read_text(encoding="utf-8")
    for own in OWN_TESTS:
        text = text.replace(own, "")
    for block in re.findall(r"```[a-z]*\n(.*?)```", text.replace("\\\n", " "), re.DOTALL):
        for line in block.splitlines():
            if re.match(r"(python|make|pip|git|ecg-)", line):
                yield " ".join(line.split(" #")[0].split())


LINES = list(dict.fromkeys(line for page in PAGES for line in lines_of(page)))
OURS = [line for line in LINES if line.startswith("python run_benchmark.py")]


def test_every_other_command_is_one_that_a_clean_checkout_runs() -> None:
    rest = [line for line in LINES if line not in OURS and not line.startswith("python docs/")]
    assert [line for line in rest if not line.startswith(BY_CI + BY_HAND)] == []


def is_tried(line: str) -> bool:
    """Whether a command is run here: a grid where it is one of `RUN` or a plan, and every other verb."""
    rest = line.removeprefix("python run_benchmark.py").strip()
    verb = parse(VERBS, shlex.split(rest))[0]
    if verb in (VERBS["run"], VERBS["tune"]):
        return rest in RUN or "--dry-run" in rest
    return line.split()[2] not in ELSEWHERE


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The reader's folder: datasets under `data-root`, files of his own, the examples of the pages."""
    place = tmp_path_factory.mktemp("reader")
    for name in COHORTS:
        root = place / "data-root" / DATASETS[name].folders[0]
        root.parent.mkdir(parents=True, exist_ok=True)
        write_cohort(name, root, CohortSettings(PATIENTS[name], recordings_per_patient=2.0), seed=3)
    (place / "data-root" / "ptb-xl").exists() or (place / "data-root" / "ptb-xl").symlink_to(
        place / "data-root" / DATASETS["ptb-xl"].folders[0], target_is_directory=True
    )
    (place / "docs").symlink_to(ROOT / "docs", target_is_directory=True)
    shutil.copy(ROOT / "docs" / "method" / "align_uniform.py", place / "mine.py")
    shutil.copy(ROOT / "docs" / "encoder" / "gru.py", place / "encoder.py")
    return place


def small(line: str) -> list[str]:
    """The words of a command line after the program, with the reader's folders, and cut to seconds."""
    words = shlex.split(line)
    name = next((name for name, verb in VERBS.items() if verb is parse(VERBS, words)[0]), "")
    swaps = {
        "DIR": "data-root",
        "theirs.zip": "mine.zip",
        "capsules/*.zip": "mine.zip",
        "other/runs": "runs",
        "./mine.py": "mine.py",
    }
    swaps |= {"./mine.py": "encoder.py"} if name == "check-encoder" else {}
    words = [swaps.get(word, re.sub(r"^(ptb-xl=)?/(data|shared)", r"\1\2-root", word)) for word in words]
    if name not in ("run", "tune"):
        return words
    if name == "tune":
        words[words.index("--trials") + 1] = "2"
    return with_settings(words)


def with_settings(words: list[str]) -> list[str]:
    """A command line of a grid with small sizes; what it sets itself stays."""
    encoder = OF_CONFIG.get(words[words.index("--config") + 1], "") if "--config" in words else ""
    encoder = words[words.index("--encoder") + 1] if "--encoder" in words else encoder
    sizes = [*SMALL, *(f"encoder.{size}" for size in SMALL_ENCODER.get(encoder, ()))]
    if "--data-root" not in words and "--data" not in words:
        sizes += [f"data.simulation.patients.{name}={count}" for name, count in PATIENTS.items()]
        sizes.append("data.simulation.test_patients={}")
    given = {"data.datasets": "--datasets", "seeds": "--seeds"}
    sizes = [size for size in sizes if given.get(size.partition("=")[0]) not in words]
    if "--set" not in words:
        return [*words, "--set", *sizes]
    place = words.index("--set") + 1
    own = {word.partition("=")[0] for word in words[place:]}
    return [*words[:place], *(size for size in sizes if size.partition("=")[0] not in own), *words[place:]]


@pytest.mark.slow
@pytest.mark.parametrize("line", [line for line in OURS if is_tried(line)])
def test_a_command_of_the_pages_does_what_it_says(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    assert main(small(line.removeprefix("python run_benchmark.py ").strip())) == OK, capsys.readouterr()
