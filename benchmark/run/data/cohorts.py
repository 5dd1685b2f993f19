"""Locate a run's datasets: real folders, or simulated cohorts in the same layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.sections.data import Simulation
from benchmark.data.readers.base import Dataset, DatasetError
from benchmark.data.readers.registry import find_root, refuse_unfinished
from benchmark.data.simulate import CohortSettings, versions_of, write_cohort
from benchmark.results.keys import digest

OnProgress = Callable[[int, int], None]


def names_of(config: Config) -> list[str]:
    """Datasets of a run: the pretraining corpus first, then the columns of the table."""
    return list(dict.fromkeys([config.data.pretrain, *config.data.datasets]))


def cohort_folder(name: str, simulation: Simulation, simulated: Path) -> Path:
    """Folder of a simulated cohort, named by a hash of its settings, seed and versions."""
    content = [*versions_of(name), name, cohort_settings(name, simulation).__dict__, simulation.seed]
    return simulated / digest(content) / name


def missing_cohort(config: Config, name: str, simulated: Path) -> Path | None:
    """Folder of a cohort that is still to be simulated; None if it is there, or if the data are real."""
    if config.data.simulation is None:
        return None
    folder = cohort_folder(name, config.data.simulation, simulated)
    return None if folder.is_dir() else folder


def cohort_settings(name: str, simulation: Simulation) -> CohortSettings:
    """Settings of one cohort."""
    return CohortSettings(
        patients=simulation.sizes()[name],
        recordings_per_patient=simulation.recordings_per_patient,
        noise=simulation.noise,
        anatomy=simulation.anatomy,
        severity=simulation.severity,
        persistence=simulation.persistence,
        report_errors=simulation.report_errors,
    )


def without_folder(config: Config, paths: Mapping[str, Path]) -> Iterator[str]:
    """One message per dataset whose given folder does not exist."""
    gone = {name: path for name, path in paths.items() if not path.is_dir()}
    yield from (f"{config.data.source(name).title}: {path} is not a folder" for name, path in gone.items())


def without_corpus(missing: DatasetError, paths: Mapping[str, Path]) -> str:
    """Message for a pretraining corpus that is missing although other datasets are given."""
    return f"{missing}, or pretrain on a dataset that is given: --pretrain-dataset {next(iter(paths))}"


def locate(
    config: Config,
    name: str,
    *,
    simulated: Path,
    data_root: Path | None,
    paths: dict[str, Path],
    workers: int = 1,
    on_progress: OnProgress | None = None,
) -> Dataset:
    """A dataset of a run; a simulated cohort that does not exist yet is written first, by up to `workers` processes.

    Raises DatasetError if a real folder is missing or its download has not ended.
    """
    simulation, source = config.data.simulation, config.data.source(name)
    if simulation is None:
        try:
            root = find_root(source, data_root, paths)
        except DatasetError as missing:
            if name != config.data.pretrain or not paths or name in paths:
                raise
            raise DatasetError("; ".join([*without_folder(config, paths), without_corpus(missing, paths)])) from None
        refuse_unfinished(source, root)
        return source(root)
    folder = cohort_folder(name, simulation, simulated)
    if missing_cohort(config, name, simulated):
        settings = cohort_settings(name, simulation)
        try:
            write_cohort(name, folder, settings, seed=simulation.seed, workers=workers, on_progress=on_progress)
        except ValueError as error:
            raise ConfigError(f"data.simulation: {error}") from None
        except FileExistsError:
            if not folder.is_dir():
                raise  # else another process has written the same cohort meanwhile
    return source(folder)
