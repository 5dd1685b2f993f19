"""The verb `data` and the audit before a run, from argv to exit status, on cohorts with planted defects."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from benchmark.cli.main import FAILED, OK
from benchmark.data.datasets.base import LEADS
from benchmark.data.simulate import SimulatedDataset, simulate
from tests.on_disk import write_dataset

PATIENTS = {"mimic-iv-ecg": 4, "ptb-xl": 60, "chapman": 40, "cpsc2018": 40}
SMALL = ["encoder.hidden=4", "encoder.depth=2", "encoder.output=8", "linear.strengths=[1.0]"]
QUICK = ["--methods", "random", "--evaluate", "linear", "--ratios", "1", "--seeds", "41", "--device", "cpu"]
QUICK += ["--jobs", "1", "--workers", "1", "--set", *SMALL]
RunVerb = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="session")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with all four datasets."""
    root = tmp_path_factory.mktemp("sound")
    for name, patients in PATIENTS.items():
        write_dataset(SimulatedDataset(name, patients, recordings_per_patient=2.0), root / name)
    for path in root.rglob("*"):
        os.utime(path, (1, 1))  # a file that changed within two seconds is read again by each command
    return root


@pytest.fixture
def root(sound: Path, tmp_path: Path) -> Path:
    """A copy of it to plant defects in."""
    return Path(shutil.copytree(sound, tmp_path / "data"))


def records(folder: Path, pattern: str) -> list[Path]:
    """Records of a cohort without extension, by name."""
    return sorted((path.with_suffix("") for path in folder.glob(pattern)), key=lambda path: path.name)


def copy_record(source: Path, target: Path) -> None:
    """The signal of one record under the name of another, whose labels stay."""
    labels = [line for line in target.with_suffix(".hea").read_text().splitlines() if line.startswith("#")]
    lines = [line for line in source.with_suffix(".hea").read_text().splitlines() if not line.startswith("#")]
    header = "\n".join([*lines, *labels, ""]).replace(source.name, target.name)
    target.with_suffix(".hea").write_text(header)
    shutil.copyfile(source.with_suffix(".mat"), target.with_suffix(".mat"))


def plant_copies(root: Path) -> None:
    """Every CPSC2018 recording becomes a copy of a Chapman recording: some that train there are tested here."""
    chapman = records(root / "chapman", "WFDBRecords/*/*/*.hea")
    for source, target in zip(chapman, records(root / "cpsc2018", "Training_WFDB/*.hea"), strict=True):
        copy_record(source, target)


def test_check_finds_nothing_wrong_in_sound_data(sound: Path, run_verb: RunVerb) -> None:
    status, out, err = run_verb("data", "check", "--data-root", sound)
    assert (status, err) == (OK, "")
    assert "leak" not in out
    assert "fatal" not in out
    assert out.splitlines()[-1] == "between the datasets: no copies"
    assert "form        records500\n" in out
    assert "signals     500 Hz (" in out


def test_check_names_a_pretraining_recording_in_a_test_set(root: Path, run_verb: RunVerb) -> None:
    plant_copies(root)
    flags = ("--data-root", root, "--datasets", "cpsc2018", "--pretrain-dataset", "chapman")
    status, out, _ = run_verb("data", "check", *flags)
    assert status == FAILED
    assert "CPSC2018 (cpsc2018): a run refuses it without --allow-leak" in out
    (line,) = [line for line in out.splitlines() if "both pretrained on and tested" in line]
    assert line.startswith("  leak: ")
    assert " = CPSC2018 A00" in line
    flags = ("--config", "demo", "--data-root", root, "--datasets", "chapman", "cpsc2018")
    status, out, _ = run_verb("data", "check", *flags)
    assert status == OK  # nothing is pretrained on here
    assert "in more than one recording: Chapman JS" in out


def test_check_goes_on_after_damaged_files(root: Path, run_verb: RunVerb) -> None:
    first, second, *_ = records(root / "chapman", "WFDBRecords/*/*/*.hea")
    first.with_suffix(".mat").unlink()
    (root / "mimic-iv-ecg" / "record_list.csv").unlink()
    second.with_suffix(".mat").write_bytes(second.with_suffix(".mat").read_bytes()[:-100])
    flags = ("--data-root", root, "--pretrain-dataset", "mimic-iv-ecg", "--datasets", "chapman")
    status, out, _ = run_verb("data", "check", *flags)
    assert status == FAILED
    assert "MIMIC-IV-ECG (mimic-iv-ecg): unusable\n  fatal: MIMIC-IV-ECG: no record_list.csv in " in out
    assert "Chapman (chapman): usable with warnings" in out
    assert f"warning: 1 recording cannot be used: file missing ({first.name}: " in out
    assert second.name in out


@pytest.mark.draws
def test_show_draws_the_recording(sound: Path, run_verb: RunVerb, tmp_path: Path) -> None:
    status, out, _ = run_verb("data", "show", "A0003", "--data-root", sound)
    assert (status, out.splitlines()[-1]) == (OK, "wrote out/ecg-cpsc2018-A0003.png")
    assert (tmp_path / "out" / "ecg-cpsc2018-A0003.png").read_bytes().startswith(b"\x89PNG")


def test_an_allowed_leak_stands_under_every_table(root: Path, run_verb: RunVerb, tmp_path: Path) -> None:
    plant_copies(root)
    flags = ("--data-root", root, "--datasets", "cpsc2018", "--pretrain-dataset", "chapman", *QUICK, "--allow-leak")
    assert run_verb(*flags)[0] == OK
    warning = "both pretrained on and tested: Chapman JS"
    assert warning in (tmp_path / "out" / "results.md").read_text()
    assert warning in (tmp_path / "out" / "results.tex").read_text()
    assert run_verb("report")[0] == OK
    assert warning in (tmp_path / "out" / "results.md").read_text()


CARD = """
name: own
signals: {{files: "{{recording}}.npy", rate: {rate}, unit: {unit}, leads: [{leads}]}}
table: {{file: t.csv, recording: r, patient: who}}
labels: {{column: rhythm, classes: [SR, ST]}}
"""


@pytest.fixture
def check_card(tmp_path: Path, run_verb: RunVerb) -> Callable[..., tuple[str, list[str]]]:
    """`data check` of 20 recordings of ten patients at 200 Hz in mV, under a card that states what is given."""
    folder = tmp_path / "ours"
    folder.mkdir()
    rows = ["r,who,rhythm"]
    for number in range(20):
        rhythm = ("SR", "ST")[number // 2 % 2]
        np.save(folder / f"e{number:02}.npy", simulate(rhythm, seed=number, fs=200))
        rows.append(f"e{number:02},p{number // 2},{rhythm}")
    (folder / "t.csv").write_text("\n".join([*rows[:-1], "e19,p9,nan"]))

    def check(rate: int = 200, unit: str = "mV") -> tuple[str, list[str]]:
        (folder / "own.yaml").write_text(CARD.format(rate=rate, unit=unit, leads=", ".join(LEADS)))
        _, out, _ = run_verb("data", "check", "--datasets", "ours/own.yaml")
        return out, [line.strip() for line in out.splitlines() if line.startswith("  warning: ")]

    return check


def test_check_names_the_key_of_a_card_that_is_probably_wrong(check_card: Callable[..., tuple[str, list[str]]]) -> None:
    out, warnings = check_card()
    assert "1 of 20 usable recordings have no label\n" in out
    assert re.search(r"QRS amplitude (0\.9\d*|1|1\.\d+) mV, heart rate (9|10)\d/min \(medians of", out)
    assert not [line for line in warnings if "median" in line]
    for unit in ("V", "uV"):
        _, warnings = check_card(unit=unit)
        assert any("recordings used with a QRS amplitude outside 0.1 to 10 mV" in line for line in warnings)
    for rate, measured in ((1000, r"[45]\d\d\.?\d*"), (50, r"2\d\.?\d*")):  # no heart is usable that beats below 50/min
        expected = rf"{measured}/min, outside 30 to 200/min: `signals\.rate: {rate}`"
        assert any(re.search(expected, line) for line in check_card(rate=rate)[1])
