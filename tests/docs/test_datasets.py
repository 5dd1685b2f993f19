"""docs/DATA.md: its tables are those of the package's configs, its cards are cards, its commands give a table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pandas as pd
import pytest
from ecgbench.config import list_available_configs, load_config

from benchmark.config.command_line import OK
from benchmark.config.errors import ConfigError
from benchmark.config.words import load_card
from benchmark.data.datasets.chapman import Chapman
from benchmark.data.datasets.ecgbench import CHOICES, ECGBenchSource, Labels, codebook, refusal
from benchmark.data.simulate import CohortSettings, write_cohort
from run_benchmark import main
from tests.docs.pages import text_of

TEXT = text_of("DATA.md", "## Public datasets through ECGBench")
CARDS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
COMMANDS = re.findall(r"^python run_benchmark\.py (.*)$", TEXT, re.MULTILINE)
CONFIGS = [load_config(name) for name in list_available_configs()]


def licence_of(config: Any) -> str:
    licence = re.sub(r" \(.*\)", "", config.license)
    return ("restricted: " if not config.publish_fold_csvs else "") + (
        f"[as stated]({licence})" if licence.startswith("http") else licence
    )


def labels_of(name: str) -> str:
    """The columns of labels, the default bold, with the number of classes where the package fixes them."""
    choice = CHOICES[name]
    told = []
    for place, field in enumerate(choice.fields):
        shown = f"**`{field}`**" if choice.decided and place == 0 else f"`{field}`"
        fixed = len(codebook(name, field))
        told.append(f"{shown} ({fixed})" if fixed else shown)
    return ", ".join(told) or "none: corpus only"


def row_of(config: Any) -> str:
    """A usable dataset's line."""
    title = config.name.partition(" (")[0]
    patients = "yes" if config.patient_id_column else "no"
    split = "published" if config.has_predefined_splits else "computed"
    cells = [
        f"`{config.slug}`",
        f"[{title}]({config.url})",
        f"{config.signal_format}, {config.default_sampling_rate} Hz",
    ]
    return f"| {' | '.join([*cells, labels_of(config.slug), patients, split, licence_of(config)])} |"


def refused_row(config: Any) -> str:
    return f"| `{config.slug}` | {config.name.partition(' (')[0]} | {refusal(config)} |"


def test_the_choices_are_the_datasets_with_twelve_leads() -> None:
    assert list(CHOICES) == [config.slug for config in CONFIGS if not refusal(config)]


@pytest.mark.parametrize("config", CONFIGS, ids=lambda config: config.slug)
def test_every_dataset_stands_in_its_table(config: Any) -> None:
    line = refused_row(config) if refusal(config) else row_of(config)
    assert line in TEXT.splitlines(), line


def test_a_dataset_without_twelve_leads_is_refused() -> None:
    for config in CONFIGS:
        if refusal(config):
            with pytest.raises(ConfigError, match="not the twelve leads"):
                load_card(f"ecgbench:{config.slug}")


@pytest.mark.parametrize("card", CARDS)
def test_every_card_on_the_page_is_a_card(card: str, tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(card)
    assert isinstance(load_card(str(tmp_path / "card.yaml")), ECGBenchSource)


def test_every_key_is_on_the_page() -> None:
    keys = [
        *(f"labels.{key}" for key in Labels.model_fields),
        *(key for key in ECGBenchSource.model_fields if key != "labels"),
    ]
    assert [key for key in keys if f"`{key}`" not in TEXT] == []


RHYTHMS = {"SB": "22", "SR": "1", "GSVT": "50", "AFIB": "51"}
"""Rhythm of a simulated recording -> a statement of AHA/ACC/HRS."""


@pytest.fixture
def data_root(tmp_path: Path) -> Path:
    """The folder of the page: SPH's layout with 160 simulated recordings."""
    write_cohort("chapman", tmp_path / "cohort", CohortSettings(160), seed=1)
    dataset, root = Chapman(tmp_path / "cohort"), tmp_path / "data" / "sph"
    (root / "records").mkdir(parents=True)
    rows = []
    for number, entry in enumerate(dataset.listing().entries):
        with h5py.File(root / "records" / f"A{number:05}.h5", "w") as file:
            file["ecg"] = dataset.read(entry).signal.T.astype(np.float16)
        code = RHYTHMS[dataset.classes[entry.labels[0]]]
        rows.append((f"A{number:05}", code, f"S{number:05}", 50, "M", 5000, "2020-01-01"))
    columns = ["ECG_ID", "AHA_Code", "Patient_ID", "Age", "Sex", "N", "Date"]
    pd.DataFrame(rows, columns=columns).to_csv(root / "metadata.csv", index=False)
    codes = [("C", code, name) for name, code in RHYTHMS.items()]
    pd.DataFrame(codes, columns=["Category", "Code", "Description"]).to_csv(root / "code.csv", index=False)
    return root.parent


@pytest.mark.slow
def test_the_commands_lead_from_a_folder_to_a_table(
    data_root: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(data_root.parent)
    check, run = (command.replace("/data", str(data_root)) for command in COMMANDS)
    assert main(shlex.split(check)) == OK
    said = capsys.readouterr().out
    assert "SPH (ecgbench-sph): " in said
    assert "form        ecgbench:sph, hdf5" in said
    assert "source      Get SPH (Shandong Provincial Hospital ECG Database) from https://doi.org/" in said
    assert "licence CC BY 4.0; cite Liu" in said
    assert main(shlex.split(run)) == OK
    table = Path("out/results.md").read_text()
    assert "SPH" in table
    assert re.search(r"\| PMQ .*\d\d\.\d", table)
    assert re.search(r"\| MoCo .*\d\d\.\d", table)
