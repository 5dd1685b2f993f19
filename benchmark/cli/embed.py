"""The verb `embed`: recordings in, a table of embeddings out: Parquet, or NumPy with a CSV of whose each row is."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmark.cli.arguments import device_of, folders_of, overrides_of
from benchmark.cli.main import OK
from benchmark.config.errors import ConfigError
from benchmark.config.load import is_card, load_config
from benchmark.data.corpus import trials_of
from benchmark.data.datasets import DATASETS
from benchmark.data.datasets.base import Entry, Recording
from benchmark.data.datasets.wfdb_files import read_recording
from benchmark.data.prepare import Prepared, Skipped
from benchmark.data.segments import zero_missing_leads
from benchmark.data.splits import split_or_none
from benchmark.embedding import (
    Description,
    Noted,
    SavedEncoder,
    Taken,
    Windows,
    check_signals,
    columns_of,
    cut_all,
    flat_line,
    load_encoder,
    mean_of,
    recording_of,
    unusable_line,
)
from benchmark.results.files import csv_text, replacing, write_atomic
from benchmark.run.datasets import locate, prepare_data
from benchmark.screen import Console, note, step

FORMS = (".parquet", ".npy")
LONGEST_HEAD = 1000
"""Characters read of the first line of a file that may be another's."""
LACKING = "needs pyarrow: pip install 'ecg-pretrain-bench[embed]', or name a .npy file"
OF_A_WINDOW, OF_A_RECORDING = ("window",), ("windows", "reason")
"""Last columns of the rows beside a .npy: a row per window, per recording."""


def files_of(out: Path) -> tuple[Path, ...]:
    """The files of a table: itself, and beside a .npy the rows."""
    return (out,) if out.suffix == ".parquet" else (out, out.with_suffix(".csv"))


def check_out(out: Path) -> None:
    """Raise ConfigError, in one line, for a file that could not be written at the end of the work, or is another's.

    A table that `embed` wrote is replaced; no other file is, as it may be the input or its labels.
    """
    if out.suffix not in FORMS:
        raise ConfigError(f"--out {out}: {out.suffix or 'no suffix'} is no form of a table; use {' or '.join(FORMS)}")
    if out.suffix == ".parquet":
        try:
            import pyarrow  # noqa: F401
        except ImportError:
            raise ConfigError(f"--out {out} {LACKING}") from None
    there = [file for file in files_of(out) if file.exists()]
    if there and not _is_ours(out):
        raise ConfigError(f"--out {out}: {there[-1]} is there and no table that `embed` wrote: name another file")


def _is_ours(out: Path) -> bool:
    """Whether what is there of a table's files was written by `embed`, as far as they say it."""
    if out.suffix == ".parquet":
        import pyarrow.parquet as pq

        try:
            return b"embeddings" in (pq.read_schema(out).metadata or {})
        except (OSError, ValueError):
            return False
    try:
        with open(files_of(out)[1], encoding="utf-8", newline="") as file:
            columns = tuple(file.readline(LONGEST_HEAD).rstrip("\r\n").split(","))
        array = np.load(out, mmap_mode="r", allow_pickle=False) if out.exists() else None
    except (OSError, ValueError, EOFError):
        return False
    is_table = columns[:1] == ("recording",) and any(
        columns[-len(last) :] == last for last in (OF_A_WINDOW, OF_A_RECORDING)
    )
    return is_table and (array is None or (array.ndim == 2 and array.dtype == np.float32))


def write_table(
    out: Path,
    whose: Mapping[str, Sequence[Any]],
    embeddings: NDArray[np.float32],
    names: Sequence[str],
    about: Mapping[str, Any],
) -> tuple[Path, ...]:
    """Write the table; returns its files.

    whose: column -> value of each row. embeddings: (n, K), NaN where a row has none. names: (K,). about: what made it,
    into the metadata of a Parquet file.
    """
    if out.suffix == ".parquet":
        import pyarrow as pa
        import pyarrow.parquet as pq

        columns = {name: pa.array(values) for name, values in whose.items()}
        columns |= {
            name: pa.array(np.ascontiguousarray(own), pa.float32())
            for name, own in zip(names, embeddings.T, strict=True)
        }
        with replacing(out) as file:
            pq.write_table(pa.table(columns).replace_schema_metadata({"embeddings": json.dumps(about)}), file)
    else:
        with replacing(out) as file:
            np.save(file, embeddings, allow_pickle=False)
        rows = csv_text(list(whose), zip(*whose.values(), strict=True))
        write_atomic(files_of(out)[1], rows.encode())
    return files_of(out)


HEADER, ARRAY = ".hea", ".npy"


@dataclass(frozen=True)
class Named:
    """Recordings in the order of the table's rows."""

    names: Sequence[str]
    groups: Sequence[tuple[NDArray[np.int64], Iterable[Windows | str]]]
    """Numbers of recordings and their windows or reasons, embedded group by group as the linear probe's sides are."""
    beside: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    """Further columns: patient, split, labels."""
    simulated: bool | None = None
    """Of a dataset; None where nobody says."""


def write_embeddings(arguments: Namespace, console: Console) -> Iterator[str]:
    """Embed what the words name and write the table; lines on what was written. Raises ConfigError, DatasetError."""
    encoder = load_encoder(arguments.folder, device=str(device_of(arguments)), code=arguments.code)
    words = list(dict.fromkeys(arguments.word))
    named = _named(words, arguments, encoder, console)
    if not named.names:
        raise ConfigError(f"{' '.join(words)}: no recording")
    rows = embedded(encoder, named, console, per_window=arguments.per_window)
    about = {
        "encoder": encoder.description.name,
        "weights_sha256": encoder.description.sha256,
        "precision": encoder.precision,
        **({} if named.simulated is None else {"simulated": named.simulated}),
    }
    warnings = unusable_line(rows.reasons), flat_line(rows.flat, named.names)
    yield from (f"warning: {line}" for line in warnings if line)
    files = write_table(arguments.out, rows.whose, rows.embeddings, encoder.feature_names, about)
    shape = f"{len(rows.embeddings)} rows of {encoder.width} numbers"
    yield f"wrote {files[0]}: {shape}{' of simulated recordings' if named.simulated else ''}"
    yield from (f"wrote {file}: whose each row is" for file in files[1:])


def _named(words: Sequence[str], arguments: Namespace, encoder: SavedEncoder, console: Console) -> Named:
    datasets = [word for word in words if word in DATASETS or is_card(word)]
    arrays = [word for word in words if word.endswith(ARRAY)]
    if (datasets or arrays) and len(words) > 1:
        raise ConfigError(f"{(datasets or arrays)[0]}: a dataset or a {ARRAY} is embedded alone, not with {words[-1]}")
    if arrays:
        return of_array(Path(words[0]), arguments, encoder)
    for flag in ("rate", "leads"):
        if getattr(arguments, flag) is not None:
            raise ConfigError(f"--{flag} is for a {ARRAY}; WFDB records and datasets say it themselves")
    if datasets:
        return of_dataset(words[0], arguments, encoder, console)
    return of_records(words, arguments, encoder)


def of_records(words: Sequence[str], arguments: Namespace, encoder: SavedEncoder) -> Named:
    """WFDB records named one by one, with or without suffix, and all in the folders named."""
    records = list(dict.fromkeys(record for word in words for record in records_of(Path(word).expanduser())))
    return Named([str(record) for record in records], [_group(read_recording, records, arguments, encoder)])


def records_of(path: Path) -> list[Path]:
    """The records that a path names, without suffix. Raises ConfigError in one line if there is none."""
    if path.is_dir():
        found = sorted(header.with_suffix("") for header in path.rglob(f"*{HEADER}"))
        if not found:
            card = next(iter(sorted(path.glob("*.yaml"))), "CARD.yaml")
            raise ConfigError(
                f"{path}: no WFDB record ({HEADER} file) in this folder or those in it; other files need a card "
                f"(`data new-card {path}` writes a first one): `embed {card} ...`"
            )
        return found
    record = path.with_suffix("") if path.suffix in (HEADER, ".dat", ".mat") else path
    if not record.with_name(record.name + HEADER).is_file():
        names = ", ".join(DATASETS)
        raise ConfigError(
            f"{path}: neither a WFDB record, a folder, a {ARRAY} file nor a dataset ({names}, or a card, a .yaml file)"
        )
    return [record]


def of_array(file: Path, arguments: Namespace, encoder: SavedEncoder) -> Named:
    """The recordings of a .npy of (n, samples, leads)."""
    for flag, example in (("rate", "500"), ("leads", "I II III aVR aVL aVF V1 V2 V3 V4 V5 V6")):
        if getattr(arguments, flag) is None:
            raise ConfigError(f"{file} does not say its {flag}: add --{flag} {example}")
    signals = _opened(file)
    if signals.ndim != 3:
        raise ConfigError(f"{file} has the shape {signals.shape}, not (n, samples, leads)")
    columns = columns_of(arguments.leads, encoder.description.taken.leads)
    check_signals(signals, arguments.rate, arguments.leads)
    read = partial(_read_row, file, arguments.rate, columns)
    numbers = range(len(signals))
    return Named([str(number) for number in numbers], [_group(read, numbers, arguments, encoder)])


def _opened(file: Path) -> NDArray[Any]:
    """A .npy as a memory map. Raises ConfigError in one line."""
    try:
        return np.load(file, mmap_mode="r", allow_pickle=False)  # type: ignore[no-any-return]
    except FileNotFoundError:
        raise ConfigError(f"{file}: there is no such file") from None
    except (ValueError, EOFError) as error:
        raise ConfigError(f"{file}: no .npy of numbers ({str(error).splitlines()[0]})") from None


def _read_row(file: Path, rate: float, columns: Sequence[int], number: int) -> Recording:
    return recording_of(_opened(file)[number], rate, columns)


def _group(
    read: Callable[[Any], Recording], items: Sequence[Any], arguments: Namespace, encoder: SavedEncoder
) -> tuple[NDArray[np.int64], Iterable[Windows | str]]:
    about, workers = encoder.description, folders_of(arguments).workers
    return np.arange(len(items)), cut_all(read, items, about.taken, workers)


def of_dataset(word: str, arguments: Namespace, encoder: SavedEncoder, console: Console) -> Named:
    """Recordings of a dataset, built in or declared, cut as the encoder's, with patient, split and labels; cached."""
    about = encoder.description
    arguments = Namespace(**vars(arguments), datasets=[word]) if is_card(word) else arguments
    settings = {**signals_of(about), **about.rules}
    config = load_config(arguments.config, overrides_of(arguments) | settings)
    place, name = folders_of(arguments), config.data.datasets[0] if is_card(word) else word
    prepared = prepare_data(locate(config, name, place), config, place, console)
    sides = {}
    if prepared.classes:
        split, problem = split_or_none(prepared, config.task_spec(config.finetune))
        sides = {"train": split.train, "validation": split.validation, "test": split.test}
        if problem:
            note(console, f"warning: {prepared.title} has no split: {problem}")
    return named_of(prepared, sides, about.taken)


def signals_of(about: Description) -> dict[str, Any]:
    """Config key -> value under which a dataset is cut as an encoder's recordings are."""
    cut = about.segmentation
    settings: dict[str, Any] = {"data.segmentation.kind": cut.kind, "data.rate": cut.rate}
    settings["data.standardise"] = "none" if cut.raw else "recording"  # a scale is the encoder's, not the dataset's
    if cut.kind == "heartbeats":
        return settings | {"data.segmentation.beats": cut.beats, "finetune.beats_per_trial": about.per_trial}
    settings |= {"data.segmentation.seconds": cut.seconds, "data.segmentation.short": "pad" if cut.pad else "skip"}
    return settings | {"data.segmentation.stride": cut.stride / cut.rate}


def named_of(prepared: Prepared, sides: Mapping[str, NDArray[np.int64]], how: Taken) -> Named:
    """The recordings of a prepared dataset, side after side embedded, then those of no side; skipped ones last."""
    entries, skipped = prepared.entries, prepared.skipped
    side = np.full(len(entries), "", dtype="<U10")
    for name, own in sides.items():
        side[own] = name
    groups: list[tuple[NDArray[np.int64], Iterable[Windows | str]]] = [
        (own, windows_in(prepared, how, own)) for name in (*sides, "") if len(own := np.flatnonzero(side == name))
    ]
    groups.append((len(entries) + np.arange(len(skipped)), [skip.reason for skip in skipped]))
    every: list[Entry | Skipped] = [*entries, *skipped]
    beside = {
        "patient": [own.patient for own in every],
        "split": [*side.tolist(), *("" for _ in skipped)],
        "labels": [";".join(prepared.classes[label] for label in own.labels) for own in every],
    }
    return Named([own.recording for own in every], groups, beside, prepared.simulated)


def windows_in(prepared: Prepared, how: Taken, recordings: NDArray[np.int64]) -> Iterator[Windows | str]:
    """Windows of some recordings of a prepared dataset, as a task has them."""
    every, word = replace(trials_of(prepared, how.per_trial), scale=how.scale), prepared.segmentation.word
    there = prepared.trials_of_each(1)  # (R,)
    first = np.searchsorted(every.recording, np.arange(len(prepared.entries) + 1))  # (R + 1,) pseudo-trials
    for number in recordings:
        own = every.take(np.arange(first[number], first[number + 1]), windows=how.per_trial)  # (t, P * S, 12)
        if len(own):
            windows = own.reshape(-1, prepared.segmentation.samples, own.shape[-1])  # (m, S, 12)
            yield zero_missing_leads(windows, how.leads)
        else:
            yield f"fewer than {how.per_trial} {word}s: {there[number]}"


@dataclass(frozen=True)
class Rows:
    """The rows of the table."""

    whose: dict[str, list[Any]]
    embeddings: NDArray[np.float32]
    """(n, K)"""
    reasons: list[str]
    """Of each recording, why it has no embedding; '' where it has one."""
    flat: list[str]
    """Of each recording, its flat leads; '' for none."""


def embedded(encoder: SavedEncoder, named: Named, console: Console, *, per_window: bool) -> Rows:
    """Embed all groups; a row per recording, NaN where it has none, or per window."""
    count = len(named.names)
    found: list[NDArray[np.float32]] = [np.empty((0, encoder.width), np.float32)] * count
    reasons, flat, windows = [""] * count, [""] * count, [0] * count
    with step(console, "embedding") as progress:
        done = 0
        for numbers, cuts in named.groups:
            noted = Noted(cuts, encoder.description.taken.leads)
            with closing(encoder.embeddings(noted)) as each:
                for place, (number, own) in enumerate(zip(numbers.tolist(), each, strict=True)):
                    flat[number] = noted.flat[place]
                    reasons[number], windows[number] = (own, 0) if isinstance(own, str) else ("", len(own))
                    if not per_window:
                        found[number] = mean_of(own, encoder.width)[None]  # (1, K)
                    elif not isinstance(own, str):
                        found[number] = own.copy()  # (m, K)
                    done += 1
                    progress(done, count)
    repeat = windows if per_window else [1] * count
    columns: dict[str, Sequence[Any]] = {"recording": named.names, **named.beside}
    whose = {
        name: [value for value, times in zip(values, repeat, strict=True) for _ in range(times)]
        for name, values in columns.items()
    }
    if per_window:
        whose["window"] = [place for times in windows for place in range(times)]
    else:
        whose |= {"windows": windows, "reason": reasons}
    return Rows(whose, np.concatenate(found), reasons, flat)


def embed(arguments: Namespace, console: Console) -> int:
    """Write the table and say how many recordings have no embedding. Raises ConfigError, DatasetError."""
    for flag, value in (("--encoder", arguments.folder), ("--out", arguments.out)):
        if value is None:
            raise ConfigError(f"`embed` needs {flag}, e.g. `embed recordings/ --encoder pmq --out features.parquet`")
    check_out(arguments.out)
    for line in write_embeddings(arguments, console):
        note(console, line)
    return OK
