"""Loads the results of runs as two pandas frames, `scores` and `cells`, with their plan, and packs archives.

    from reports import load
    results = load("runs")              # DIR or FILE: the latest run of a results folder, or the run of an archive
    results = load(["runs@KEY", "a.zip"])   # DIR@KEY: that run; DIR@all: every run of the folder, the latest first
    results.scores.query("metric == 'f1'").groupby(["variant", "dataset"])["value"].mean()

Several runs become one where their settings and data are the same; of cells that two runs share, the first run's is
taken. Other runs are named in `messages` with what differs.

A results archive is one zip of a run's plan, rows, predictions, failures and pretraining records: all that a report is
made of, and on demand the weights of its encoders; never signals. Recordings and patients have the ids of the dataset's
own tables, which fall under the dataset's licence.
"""

from __future__ import annotations

import atexit
import json
import re
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from io import BytesIO
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile, ZipInfo

from benchmark.results.files import KEY_PATTERN, digest, digested_json, flat, reading, write_atomic
from benchmark.results.names import CLASSICAL_TITLES, RECORD_FILE, WEIGHTS
from benchmark.results.store import PlannedCell, Store
from reports.results import Run, coordinates, run_of
from reports.second_party import marks_of
from reports.words import and_text

ALL = "all"
MAX_LISTED = 3
CHOICE = (
    "name", "caption", "methods", "ablate", "ablations", "sweeps", "baselines", "evaluate", "ratios", "seeds",
    "printed", "data.datasets", "data.task", "data.cards", "data.simulation", "precision",
)  # fmt: skip
"""Config keys in which runs of one table may differ: they choose cells, or their effect is compared itself."""
NOT_COMPARED = ("config", "data", "key_content")
"""Parts of a row's provenance that are compared by other means."""
UNSET = "unset"
DATA = "data of "
ROWS = "rows: "
"""Beginnings of the names of facts that are no config keys."""
COMPARED_WHERE_KNOWN = (DATA, f"{ROWS}results_versions.", f"{ROWS}precision", "ablations.")
"""Beginnings of the names of facts in which runs of one table must agree where both state them."""
MERGED = ("methods", "printed")
"""Lists of a config that a table is made from."""
LATEST_PLAN = "plans/latest"
MEMBER = re.compile(
    f"plans/(latest|{KEY_PATTERN}[.]json)"
    f"|cells/{KEY_PATTERN}[.](json|npz|error[.]json)"
    f"|pretrained/{KEY_PATTERN}/({re.escape(RECORD_FILE)}|{re.escape(WEIGHTS)})"
)
"""Name of a file of an archive; no other is read of a zip."""
MOST_TIMES = 100
"""Bytes that an archive unpacks to, per byte: predictions are packed already, and JSON packs to a twentieth."""
T = TypeVar("T")


class Values(NamedTuple):
    """The values of a fact in two runs."""

    first: str
    second: str


def load_run(sources: str | Path | Sequence[str | Path]) -> Run:
    """Load the run that the sources name, several merged. Raises NoResults, in one line, where a source holds no run.

    sources: results folders and archives, each with @KEY of a plan or @all if not the latest run is meant.
    """
    named = [sources] if isinstance(sources, str | Path) else list(sources)
    return merge([run for source in named for run in _runs_of(str(source))])


def _runs_of(source: str) -> Iterator[Run]:
    """Yield the run that a source names, or every run of it, the latest first."""
    name, _, key = source.rpartition("@")
    if not name or Path(source).exists():  # a folder's name may hold an @
        name, key = source, ""
    path = Path(name)
    store = Store(path)
    if path.is_file():
        scratch = Path(tempfile.mkdtemp(prefix="results-"))
        atexit.register(shutil.rmtree, scratch, ignore_errors=True)
        store = unpack(path, scratch / path.name)
    latest, *others = store.plan_keys()
    chosen = [latest, *others] if key == ALL else [key or latest]
    messages: tuple[str, ...] = ()
    if others and not key:
        more = f"{path} holds {len(others)} more, not shown: {listed(others)}"
        messages = (f"{more}; {path}@KEY shows one, {path}@{ALL} all that compare",)
    for plan_key in chosen:
        run = run_of(store, store.load_plan(plan_key), path)
        yield replace(run, messages=messages, is_archive=path.is_file())


def merge(runs: Sequence[Run]) -> Run:
    """Merge the first run and those of the same settings and data; the others are named in its messages."""
    merged: list[Run] = []
    messages = [line for run in runs for line in run.messages]
    for run in runs:
        differences: list[str] = []
        for other in merged:
            differences = differences or incompatible(run, other)
        if differences:
            titles = and_text(list(run.plan.variants.values()))
            messages.append(f"not put together: {run.name} ({titles}): {listed(differences)}")
        else:
            merged.append(run)
    first, *others = merged
    if not others:
        return replace(first, messages=tuple(messages))
    messages.insert(0, f"put together: {', '.join(run.name for run in merged)}")
    rows = _first_of(run.rows for run in merged)
    plans = [run.plan for run in merged]
    cells: dict[tuple[Any, ...], PlannedCell] = {}
    config = dict(first.plan.config)
    for plan in plans:
        for cell in plan.cells:
            planned = cells.setdefault(coordinates(cell), cell)
            if planned.key not in rows:
                cells[coordinates(cell)] = cell
    for name in MERGED:
        config[name] = _union(plan.config[name] for plan in plans)
    plan = replace(
        first.plan,
        config=config,
        variants=_first_of(plan.variants for plan in plans),
        datasets=_first_of(plan.datasets for plan in plans),
        roles=_first_of(plan.roles for plan in plans),
        cells=list(cells.values()),
        warnings=_union([*(plan.warnings for plan in plans), _warnings(cells.values())]),
    )
    return Run(
        name=" + ".join(run.name for run in merged),
        plan=replace(plan, key=digest([run.plan.key for run in merged])),
        rows=rows,
        failures=_first_of(run.failures for run in merged),
        damaged=_first_of(run.damaged for run in merged),
        stores=tuple(store for run in merged for store in run.stores),
        messages=tuple(messages),
        parts=tuple(merged),
        marks=marks_of(first, others),
    )


def _first_of(mappings: Iterable[Mapping[str, T]]) -> dict[str, T]:
    """Merge mappings; a key that several have keeps its first value."""
    values: dict[str, T] = {}
    for mapping in mappings:
        for key, value in mapping.items():
            values.setdefault(key, value)
    return values


def _union(lists: Iterable[Iterable[Any]]) -> list[Any]:
    """Merge lists, each value once."""
    return list(dict.fromkeys(value for values in lists for value in values))


def _warnings(cells: Iterable[PlannedCell]) -> list[str]:
    """Warn where not every row has every seed."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.variant, set()).add(cell.seed)
    every = set().union(*seeds.values())
    fewer = []
    for name, present in seeds.items():
        if present < every:
            numbers = ", ".join(map(str, sorted(present)))
            fewer.append(f"{name} has {numbers}")
    return [f"not every row has every seed: {listed(fewer)}"] if fewer else []


def incompatible(run: Run, other: Run) -> list[str]:
    """Say why two runs do not belong into one table, one phrase each: settings, data, versions; empty where they do.

    Config keys must agree but for those in `CHOICE`, the facts in `COMPARED_WHERE_KNOWN` where both runs state them.
    """
    free = (DATA, ROWS, *(f"{choice}." for choice in CHOICE))
    reasons = []
    for name, values in differing_facts(run, other).items():
        is_known = UNSET not in values and name.startswith(COMPARED_WHERE_KNOWN)
        if is_known or not f"{name}.".startswith(free):
            title = name.replace(f"{ROWS}results_versions.", "the results version of ")
            reasons.append(f"{title} is {values.first}, not {values.second}")
    return reasons


def differing_facts(run: Run, other: Run) -> dict[str, Values]:
    """Return config keys, data and provenance in which two runs differ, with the value of each; `UNSET` for none."""
    facts = facts_of(run)
    other_facts = facts_of(other)
    differing = {}
    for name in facts | other_facts:
        values = Values(facts.get(name, UNSET), other_facts.get(name, UNSET))
        if values.first != values.second:
            differing[name] = values
    return differing


def facts_of(results: Run) -> dict[str, str]:
    """Name a run's config keys, data, and the provenance of its rows; several values of a name are joined."""
    plan = results.plan
    facts = {name: shown(value) for name, value in flat(plan.config).items()}
    sources = plan.datasets | {"the pretraining corpus": plan.pretraining}
    for name, data in sources.items():
        facts[DATA + name] = f"{data['recordings']} recordings, fingerprint {data['fingerprint']}"
    values: dict[str, set[str]] = {}
    for row in results.rows.values():
        provenance = {name: value for name, value in row.provenance.items() if name not in NOT_COMPARED}
        if row.evaluation in CLASSICAL_TITLES:  # without an encoder nothing depends on precision
            provenance.pop("precision")
        for name, value in flat(provenance, ROWS).items():
            values.setdefault(name, set()).add(shown(value))
    for name in sorted(values):
        facts[name] = ", ".join(sorted(values[name]))
    return facts


def shown(value: Any) -> str:
    """Return a stored value as text, an absolute path as its last part, since paths differ between machines."""
    if isinstance(value, str):
        return Path(value).name if value.startswith(("/", "~")) else value
    if isinstance(value, list):
        return json.dumps([shown(item) if isinstance(item, str) else item for item in value])
    return UNSET if value is None else json.dumps(value)


def listed(names: Sequence[str]) -> str:
    """Return the first `MAX_LISTED` names, and the number of the rest."""
    text = "; ".join(names[:MAX_LISTED])
    rest = len(names) - MAX_LISTED
    if rest > 0:
        text += f"; and {rest} more"
    return text


def pack(results: Run, file: Path, *, weights: bool = False) -> None:
    """Write a run's finished cells, failures and pretraining records to a zip file. Damaged rows are left out.

    weights: with the weights of its encoders.
    """
    contents = {LATEST_PLAN: results.plan.key.encode()}
    contents[f"plans/{results.plan.key}.json"] = digested_json(asdict(results.plan))
    files = [f"cells/{key}{suffix}" for key in results.rows for suffix in (".json", ".npz")]
    files += [f"cells/{key}.error.json" for key in results.failures]
    of_encoders = (RECORD_FILE, WEIGHTS) if weights else (RECORD_FILE,)
    for row in results.rows.values():
        files += [f"pretrained/{key}/{name}" for key, name in product(row.encoders, of_encoders)]
    for store, name in product(results.stores, files):
        path = store.root / name
        if path.is_file():
            contents.setdefault(name, path.read_bytes())
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, content in sorted(contents.items()):
            compression = ZIP_STORED if name.endswith((".npz", WEIGHTS)) else ZIP_DEFLATED
            archive.writestr(ZipInfo(name), content, compression)  # ZipInfo dates a file to 1980
    write_atomic(file, buffer.getvalue())


def unpack(file: Path, folder: Path) -> Store:
    """Extract the results store of a zip to a folder and return it; other files of the zip are left where they are.

    Raises Damaged if the file is no zip of one store, or too large.
    """
    with reading(file, "pack it again with `report --archive`"), ZipFile(file) as archive:
        members = store_members(archive)
        size = sum(member.file_size for member in members.values())
        if size > MOST_TIMES * file.stat().st_size:
            raise ValueError(f"it unpacks to {size:,} bytes, more than an archive of a run")
        for name, member in members.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(archive.read(member))
    return Store(folder)


def store_members(archive: ZipFile) -> dict[str, ZipInfo]:
    """Return the files of the store in a zip by their names in it; it may lie in a folder of the zip.

    Raises ValueError for none and for several.
    """
    plans = [name for name in archive.namelist() if name.endswith(LATEST_PLAN)]
    if len(plans) != 1:
        raise ValueError(f"it holds several stores: {', '.join(plans)}" if plans else "it holds no plan")
    top = plans[0].removesuffix(LATEST_PLAN)
    inside = [member for member in archive.infolist() if member.filename.startswith(top)]
    names = {member.filename.removeprefix(top): member for member in inside}
    return {name: member for name, member in names.items() if MEMBER.fullmatch(name)}
