"""What one dataset's download is: its homes, its part, its folder, and what is known of it before it begins."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmark.data.download.catalogue import Catalogue, Figshare, Manners, Source, Subset, Tree
from benchmark.data.readers.errors import DatasetError
from benchmark.data.readers.registry import OF_DOWNLOAD, find_root, source_of
from benchmark.data.readers.simulated import is_marked


@dataclass(frozen=True)
class Order:
    """A dataset to download."""

    name: str
    source: Source
    subset_name: str
    subset: Subset
    homes: Mapping[str, Tree | Figshare]
    """The homes to ask, in this order; all of one kind, since another kind is another form of the dataset."""
    root: Path
    """The dataset's folder."""
    manners: Manners
    patients: int | None = None
    """The first so many patients; None for all."""
    again: bool = False
    """Read and compare the files that are there, also those verified before."""

    @property
    def list_path(self) -> str:
        """Where the publisher's list of sums is kept."""
        return f"{OF_DOWNLOAD}/{re.sub(r'[^A-Za-z0-9.]+', '-', self.source.release)}.sha256"

    def documented(self) -> tuple[int, int]:
        """(recordings, bytes) as documented, with what is unpacked; those of the chosen patients in proportion."""
        subset = self.subset
        share = min(1.0, (self.patients or subset.patients) / subset.patients)
        home = next(iter(self.homes.values()))
        each = home.recording_bytes if isinstance(home, Figshare) else subset.recording_bytes
        recordings = round(subset.recordings * share)
        return recordings, recordings * each + self.source.table_bytes


def order_of(
    catalogue: Catalogue,
    name: str,
    *,
    data_root: Path | None,
    paths: Mapping[str, Path],
    subset: str | None = None,
    home: str | None = None,
    patients: int | None = None,
    connections: int | None = None,
    again: bool = False,
) -> Order:
    """The download of a dataset. Raises DatasetError for what there is not and for a folder that cannot take it."""
    if name not in catalogue.datasets:
        raise DatasetError(f"no home of {name!r} in the mirrors file, which has {', '.join(catalogue.datasets)}")
    source = catalogue.datasets[name]
    subset_name = next(iter(source.subsets)) if subset is None else subset
    if subset_name not in source.subsets:
        raise DatasetError(f"{source.release} has no subset {subset_name!r}; there are: {', '.join(source.subsets)}")
    if home is not None and home not in source.homes:
        raise DatasetError(f"{source.release} has no home {home!r}; there are: {', '.join(source.homes)}")
    kind = source.homes[home or next(iter(source.homes))].kind
    homes = {own: place for own, place in source.homes.items() if own == home or (not home and place.kind == kind)}
    if kind == "figshare" and patients is not None:
        raise DatasetError(f"{source.release} from {home} is one archive: leave out --patients, or take another --from")
    manners = catalogue.manners
    if connections is not None:
        manners = manners.model_copy(update={"connections": connections})
    return Order(
        name,
        source,
        subset_name,
        source.subsets[subset_name],
        homes,
        folder_of(name, source, data_root, paths),
        manners,
        patients,
        again,
    )


def folder_of(name: str, source: Source, data_root: Path | None, paths: Mapping[str, Path]) -> Path:
    """Where a dataset goes: the folder given for it, else the one that is found, else its name under the data root.

    Raises DatasetError for no folder, a simulated one, and one that holds the dataset in another layout.
    """
    if name in paths:
        root = paths[name]
    elif data_root is None:
        raise DatasetError(f"where shall {name} go? use --data-root DIR or --data {name}=DIR")
    else:
        try:
            root = find_root(source_of(name), data_root, paths)
        except DatasetError:
            root = data_root / name
        within = root.relative_to(data_root).as_posix()
        if within not in (name, *source.layouts):
            raise DatasetError(
                f"{root} has {name} in another form, which a run would read: name a folder with --data {name}=DIR"
            )
    if is_marked(source_of(name)(root)):
        raise DatasetError(f"{root} holds simulated recordings: name another folder")
    return root
