"""Where a run's data are: simulated once, found again, or looked for in real folders."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import Dataset, DatasetError
from benchmark.data.readers.registry import DATASETS
from benchmark.data.readers.simulated import SIMULATED_MARK
from benchmark.run.data.cohorts import cohort_folder, locate, names_of

SmallConfig = Callable[..., Config]
FEW = {"data.simulation.patients": {"mimic-iv-ecg": 2, "chapman": 2}}


def simulate(config: Config, folder: Path, **options: object) -> Dataset:
    return locate(config, "chapman", simulated=folder, data_root=None, paths={}, **options)  # type: ignore[arg-type]


def test_the_corpus_comes_first_and_no_dataset_twice(small_config: SmallConfig) -> None:
    names = ["ptb-xl", "chapman"]
    assert names_of(small_config({"data.datasets": names})) == ["mimic-iv-ecg", "ptb-xl", "chapman"]
    assert names_of(small_config({"data.datasets": names, "data.pretrain": "chapman"})) == ["chapman", "ptb-xl"]


def test_a_cohort_is_simulated_once(small_config: SmallConfig, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []
    config = small_config(FEW)
    first = simulate(config, tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert seen == [(1, 2), (2, 2)]
    written = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    again = simulate(config, tmp_path, on_progress=lambda done, total: seen.append((done, total)))
    assert len(seen) == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == written
    assert first.root == again.root == cohort_folder("chapman", config.data.simulation, tmp_path)  # type: ignore[arg-type]
    assert (first.root / SIMULATED_MARK).is_file()
    assert len(first.listing().entries) == 2


@pytest.mark.parametrize(
    "change",
    [
        {"data.simulation.seed": 2},
        {"data.simulation.patients.chapman": 3},
        {"data.simulation.noise": 0.5},
        {"data.simulation.anatomy": 0.5},
    ],
)
def test_other_settings_are_another_cohort(small_config: SmallConfig, change: dict[str, object]) -> None:
    folders = [
        cohort_folder("chapman", small_config({**FEW, **overrides}).data.simulation, Path())  # type: ignore[arg-type]
        for overrides in ({}, change)
    ]
    assert folders[0] != folders[1]


def test_the_size_of_another_cohort_leaves_this_one_alone(small_config: SmallConfig) -> None:
    folders = [
        cohort_folder("chapman", small_config({**FEW, **overrides}).data.simulation, Path())  # type: ignore[arg-type]
        for overrides in ({}, {"data.simulation.patients.mimic-iv-ecg": 9})
    ]
    assert folders[0] == folders[1]


def test_an_interrupted_simulation_leaves_nothing_and_goes_on(small_config: SmallConfig, tmp_path: Path) -> None:
    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        simulate(small_config(FEW), tmp_path, on_progress=interrupt)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
    assert len(simulate(small_config(FEW), tmp_path).listing().entries) == 2


def test_more_patients_than_can_be_numbered_are_refused(small_config: SmallConfig, tmp_path: Path) -> None:
    with pytest.raises((ConfigError, DatasetError), match="99999"):
        simulate(small_config({"data.simulation.patients.chapman": 99999}), tmp_path)


def test_real_data_are_taken_from_their_own_folder_or_the_root(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None})
    (tmp_path / "root" / "chapman").mkdir(parents=True)
    (tmp_path / "own").mkdir()
    simulated = tmp_path / "simulated"
    found = locate(config, "chapman", simulated=simulated, data_root=tmp_path / "root", paths={})
    assert found.root == tmp_path / "root" / "chapman"
    paths = {"chapman": tmp_path / "own"}
    assert (
        locate(config, "chapman", simulated=simulated, data_root=tmp_path / "root", paths=paths).root
        == paths["chapman"]
    )
    assert not simulated.exists()


@pytest.mark.parametrize("name", DATASETS)
def test_missing_data_say_which_where_and_how_to_get_them(small_config: SmallConfig, name: str, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None})
    reader = DATASETS[name]
    with pytest.raises(DatasetError, match=f"--data-root DIR or --data {name}=DIR"):
        locate(config, name, simulated=tmp_path, data_root=None, paths={})
    for data_root, paths in ((tmp_path, {}), (None, {name: tmp_path / "gone"})):
        with pytest.raises(DatasetError) as caught:
            locate(config, name, simulated=tmp_path, data_root=data_root, paths=paths)
        message = str(caught.value)
        assert message.startswith(f"{reader.title}: ")
        assert str(tmp_path) in message
        assert reader.how_to_get in message
        assert "\n" not in message


def test_a_cohort_that_another_process_writes_faster_is_taken(
    small_config: SmallConfig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def second(unfinished: Path, folder: Path) -> Path:
        monkeypatch.undo()
        first.append(simulate(small_config(FEW), tmp_path))
        return rename(unfinished, folder)

    first: list[Dataset] = []
    monkeypatch.setattr(Path, "rename", second)
    assert simulate(small_config(FEW), tmp_path).root == first[0].root
    assert len(list(tmp_path.glob("*/*"))) == 1


def test_a_given_folder_that_is_missing_is_named_before_the_corpus(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config({"data.simulation": None, "data.datasets": ["ptb-xl"]})
    with pytest.raises(DatasetError) as caught:
        locate(config, "mimic-iv-ecg", simulated=tmp_path, data_root=None, paths={"ptb-xl": tmp_path / "nope"})
    first, second = str(caught.value).split("; ")
    assert first == f"PTB-XL: {tmp_path / 'nope'} is not a folder"
    assert second.startswith("MIMIC-IV-ECG: no folder given")
    assert second.endswith("or pretrain on a dataset that is given: --pretrain-dataset ptb-xl")
