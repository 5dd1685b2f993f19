"""Opens the results folders and capsules that a user names as one store with one run.

    DIR or FILE        the latest run of a results folder, or the run of a capsule
    DIR@KEY            that run
    DIR@all            every run of the folder, the latest first

Other runs and unused rows of a store are reported, so that a part is not mistaken for the whole.

Runs comparable with the first (`compatible`) are merged cell by cell; the others are reported with the reason. Two
computations of a cell are never averaged: under different keys, the first run's is used; under one key with different
outcomes, the cell is left out.

They are when their configs differ in the choice of cells only, shared datasets have the same fingerprint and test
windows, and their rows have the same precision and results version of each stage.

A results capsule: one zip with all inputs of a report, for publication. No signals, no weights.

    contents.json                 format, description, digest of each file and of all files
    plans/KEY.json, plans/latest  the run
    cells/KEY.json, KEY.npz       its rows and their predictions; KEY.error.json: error of a failed cell
    pretrained/KEY/pretraining.json    how each encoder was trained

Recordings and patients keep the ids of the dataset's own tables: these link a prediction to its recording and fall
under the dataset's licence. Absolute paths are shortened to their last part. The same run gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from benchmark.results.files import (
    MEBIBYTE,
    digested_json,
    unfit_members,
    write_atomic,
)
from benchmark.results.names import CARD, CLASSICAL_TITLES, name_on_any
from benchmark.results.schema import digest, flat
from benchmark.results.store import (
    ARRAYS,
    BadCard,
    NoResults,
    Plan,
    PlannedCell,
    Row,
    Store,
    card_bytes,
    row_bytes,
)
from reports.runs import Run, open_run, role_of

PART = r"[^\s/\\'\"<>|:;,()\[\]{}]+"
ROOT = r"(?:file://)?(?:~[\w.-]*|[A-Za-z]:)?"
START = rf"(?<![\w.:/\\~-]){ROOT}"
QUOTED = re.compile(rf"(?<=['\"]){ROOT}(?:[/\\][^/\\'\"\n]+){{2,}}[/\\]?(?=['\"])")
"""Between quotes, as in Python's errors, a path may contain spaces."""
BARE = re.compile(rf"{START}(?:[/\\]{PART}){{2,}}[/\\]?")
WHOLE = re.compile(rf"{START}(?:[/\\][^/\\\n]+){{2,}}[/\\]?")


def portable(value: Any) -> Any:
    """A JSON-like value with every absolute path in its texts and keys shortened to its last part.

    '/home/ann/mine.py' becomes 'mine.py', '~/data/ecg' 'ecg'; '/part' alone, URLs and relative paths are kept.
    """
    if isinstance(value, dict):
        return {portable(key): portable(own) for key, own in value.items()}
    if isinstance(value, list | tuple):
        return [portable(own) for own in value]
    if not isinstance(value, str):
        return value
    if WHOLE.fullmatch(value):
        return _last(value)
    for pattern in (QUOTED, BARE):
        value = pattern.sub(lambda found: _last(found[0]), value)
    return value


def _last(path: str) -> str:
    return re.split(r"[/\\]", path.rstrip("/\\"))[-1]


CHOICE = (
    "name", "caption", "methods", "ablate", "ablations", "sweeps", "gates", "evaluate", "ratios", "seeds",
    "data.datasets", "data.task", "data.cards", "data.simulation", "precision",
)  # fmt: skip
"""Config keys that may differ: they choose cells, or their effect (ablations, data, precision) is compared
itself."""


def comparable(runs: Iterable[Run]) -> tuple[list[Run], list[tuple[Run, tuple[str, ...]]]]:
    """The first run and those comparable with all kept before them; the rest, each with its reasons."""
    pooled: list[Run] = []
    apart: list[tuple[Run, tuple[str, ...]]] = []
    for run in runs:
        reasons = next(filter(None, (why_not(run, other) for other in pooled)), ())
        if reasons:
            apart.append((run, reasons))
        else:
            pooled.append(run)
    return pooled, apart


def why_not(run: Run, other: Run) -> tuple[str, ...]:
    """Why a run is not comparable with another, one phrase each; empty where it is."""
    return tuple(_reasons(run, other))


def _reasons(run: Run, other: Run) -> Iterator[str]:
    """Settings that differ, overrides, data, test windows, and how the rows were computed."""
    one, two = run.plan, other.plan
    for key, value, others in config_differences(one, two):
        if not any(key == choice or key.startswith(f"{choice}.") for choice in CHOICE):
            yield f"{key} is {shown(value)}, not {shown(others)}"
    for variant in one.variants:
        overrides = _overrides(one, variant), _overrides(two, variant)
        if variant in two.variants and overrides[0] != overrides[1]:
            yield f"{variant} is {shown(overrides[0])}, not {shown(overrides[1])}"
    sources = [
        (facts, two.datasets[name], str(facts.get("title") or name))
        for name, facts in one.datasets.items()
        if name in two.datasets
    ]
    for facts, others, title in (*sources, (one.pretraining, two.pretraining, "the pretraining corpus")):
        if facts.get("fingerprint") != others.get("fingerprint"):
            yield f"{title} is other data ({size_text(facts)}, not {size_text(others)})"
    windows, other_windows = tested_on(run), tested_on(other)
    for dataset, sha256 in windows.items():
        if sha256 != other_windows.get(dataset, sha256):
            yield f"{dataset} was tested on other windows"
    values, other_values = made(run), made(other)
    for name, own in values.items():
        others = other_values.get(name, own)
        if own != others:
            yield f"{name} is {' and '.join(sorted(own))}, not {' and '.join(sorted(others))}"


def config_differences(one: Plan, two: Plan) -> list[tuple[str, Any, Any]]:
    """(dotted key, value of the first, of the second) where two configs differ; None where a key is not set."""
    first, second = (flat(portable(plan.config)) for plan in (one, two))
    keys = sorted(first.keys() | second.keys())
    return [(key, first.get(key), second.get(key)) for key in keys if first.get(key) != second.get(key)]


def shown(value: Any) -> str:
    """A config value as text; 'unset' for None."""
    if value is None:
        return "unset"
    return value if isinstance(value, str) else json.dumps(value)


def windows_digest(store: Store, row: Row) -> str:
    """SHA-256 of the test windows of a row: recording, patient and label of each, in order."""
    found = store.predictions(row.key)
    content = hashlib.sha256()
    for names in (found.recording, found.patient):
        content.update(json.dumps(names.tolist()).encode())
    content.update(json.dumps(found.truth.tolist()).encode())
    return content.hexdigest()


def tested_on(run: Run) -> dict[str, str]:
    """Dataset -> digest of the test windows of its first finished cell."""
    first: dict[str, Row] = {}
    for row in run.rows.values():
        first.setdefault(row.dataset, row)
    return {dataset: windows_digest(run.store, row) for dataset, row in first.items()}


def same_outcome(one: Run, key: str, other: Run, other_key: str) -> bool:
    """Whether two finished cells have bit-identical scores and predictions; times and machines may differ."""
    first, second = one.rows[key], other.rows[other_key]
    if (first.scores, first.undefined) != (second.scores, second.undefined):
        return False
    if one.store.root == other.store.root and key == other_key:
        return True
    pair = one.store.predictions(key), other.store.predictions(other_key)
    arrays = ([getattr(predictions, name) for name in ARRAYS] for predictions in pair)
    return all(a.shape == b.shape and a.tobytes() == b.tobytes() for a, b in zip(*arrays, strict=True))


def made(run: Run) -> dict[str, set[str]]:
    """Precision and results version of each stage -> their values among the finished cells."""
    values: dict[str, set[str]] = {}
    for row in run.rows.values():
        stages = row.provenance.get("results_versions", {})
        facts = {f"results version of {stage}": number for stage, number in stages.items()}
        if row.evaluation not in CLASSICAL_TITLES:  # without an encoder nothing depends on precision
            facts["precision"] = row.provenance.get("precision")
        for name, fact in facts.items():
            values.setdefault(name, set()).add(shown(fact))
    return values


def _overrides(plan: Plan, variant: str) -> Any:
    role = role_of(plan, variant)
    method, _, name = name_on_any(variant, str(role.get("encoder", ""))).partition(":")
    return plan.config.get("ablations", {}).get(method, {}).get(name)


def size_text(facts: Mapping[str, Any]) -> str:
    """How many recordings a dataset has, and its fingerprint."""
    count = f"{facts.get('recordings')} recordings"
    return f"{count}, fingerprint {facts['fingerprint']}" if facts.get("fingerprint") else count


NAMED = 3
"""Items that a line names; the rest are counted."""
Place = tuple[str, str, str, float, int, int]
"""Evaluation, variant, dataset, ratio, seed and labelled subset of a cell."""
Problem = tuple[str, str]
"""Why the row of a key is not used, without paths, as printed under the tables; and which stores disagree, if any."""


def merge(runs: Sequence[Run], folder: Path) -> tuple[Run, list[str]]:
    """The first run and those comparable with it as one run in a new store; and messages, one line each.

    folder: of the new store, which links to the runs' files. Unused where no other run is comparable.
    """
    pooled, apart = comparable(runs)
    said = [f"put together: {', '.join(run.name for run in pooled)}"] if len(pooled) > 1 else []
    said += [f"not put together: {run.name}: {some(reasons)}" for run, reasons in apart]
    if len(pooled) == 1:
        return pooled[0], said
    found = {key: _find(key, pooled) for key in dict.fromkeys(cell.key for run in pooled for cell in run.plan.cells)}
    cells, twice = _chosen(pooled, {key for key, source in found.items() if isinstance(source, Run)})
    plan, store = _plan_of(pooled, cells), Store(folder)
    _fill(store, plan, found, pooled)
    merged = replace(open_run(folder, plan.key), name=" + ".join(run.name for run in pooled))
    if twice:
        names = [f"{plan.variants[c.variant]}, {c.dataset}, ratio {c.ratio:g}, seed {c.seed}" for c in twice]
        number = counted(len(twice), "cell")
        said.append(f"{number} computed twice in different ways, the first run's shown: {some(names)}")
    damaged = [line for run in pooled for line in run.damaged.values()]
    conflicts = [source[1] for cell in cells if not isinstance(source := found[cell.key], Run) and source[1]]
    return merged, said + [f"left out: {line}" for line in dict.fromkeys([*damaged, *conflicts])]


def _find(key: str, runs: Sequence[Run]) -> Run | Problem:
    """The first run with an undamaged row of a key; a problem where none has one or two hold different outcomes."""
    holders = [run for run in runs if key in run.rows]
    if not holders:
        return "left out, the stored row is damaged" if any(key in run.damaged for run in runs) else "", ""
    first = holders[0]
    for run in holders[1:]:
        if not same_outcome(first, key, run, key):
            stores = f"{first.name} and {run.name} hold different outcomes of it; name one of the two alone"
            return "left out, two stores hold different outcomes", f"cell {key}: {stores}"
    return first


def place_of(cell: PlannedCell) -> Place:
    """The cell's coordinates, independent of its key."""
    return cell.evaluation, cell.variant, cell.dataset, cell.ratio, cell.seed, cell.subset


def _chosen(runs: Sequence[Run], finished: Collection[str]) -> tuple[list[PlannedCell], list[PlannedCell]]:
    """One cell per place, the first finished one; and finished duplicates under another key."""
    cells: dict[Place, PlannedCell] = {}
    twice = []
    for cell in (cell for run in runs for cell in run.plan.cells):
        chosen = cells.setdefault(place_of(cell), cell)
        if chosen.key == cell.key or cell.key not in finished:
            continue
        if chosen.key in finished:
            twice.append(cell)
        else:
            cells[place_of(cell)] = cell
    return list(cells.values()), twice


def _plan_of(runs: Sequence[Run], cells: list[PlannedCell]) -> Plan:
    """The first run's plan with the rows, columns and cells of all."""
    plans = [run.plan for run in runs]
    config = dict(plans[0].config)
    for name in ("methods", "ablate", "gates", "evaluate", "ratios", "seeds"):
        if name in config:
            config[name] = _union(plan.config.get(name, []) for plan in plans)
    datasets = _first_wins(plan.datasets for plan in plans)
    tasks = {name: facts for name, facts in datasets.items() if facts.get("task")}
    named = list(dict.fromkeys(tasks.get(name, {}).get("of", name) for name in datasets))
    config["data"] = config.get("data", {}) | {"datasets": named}
    if tasks:
        default = ["default"] if len(tasks) < len(datasets) else []
        config["data"]["task"] = _union([default, [str(facts["task"]) for facts in tasks.values()]])
    variants = _first_wins(plan.variants for plan in plans)
    warnings = _union([*(plan.warnings for plan in plans), _devices(runs), _seeds(cells, variants)])
    return replace(
        plans[0],
        key=digest([config, variants, warnings, [cell.key for cell in cells]]),
        config=config,
        variants=variants,
        datasets=datasets,
        roles=_first_wins(plan.roles for plan in plans),
        cells=cells,
        warnings=warnings,
    )


def _devices(runs: Sequence[Run]) -> list[str]:
    """A warning where cells were computed on several types of device."""
    rows = (row for run in runs for row in run.rows.values())
    types = sorted({str(row.provenance["device"]["type"]) for row in rows if row.provenance.get("device")})
    return [f"the cells were computed on several types of device: {', '.join(types)}"] if len(types) > 1 else []


def _seeds(cells: Sequence[PlannedCell], variants: Mapping[str, str]) -> list[str]:
    """A warning where some rows have fewer planned seeds than others."""
    seeds: dict[str, set[int]] = {}
    for cell in cells:
        seeds.setdefault(cell.variant, set()).add(cell.seed)
    every = set().union(*seeds.values())
    fewer = [f"{variants[name]} has {', '.join(map(str, sorted(own)))}" for name, own in seeds.items() if own < every]
    return [f"not every row has every seed: {some(fewer)}"] if fewer else []


def _union(lists: Iterable[list[Any]]) -> list[Any]:
    return list(dict.fromkeys(value for values in lists for value in values))


def _first_wins(tables: Iterable[dict[str, Any]]) -> dict[str, Any]:
    union: dict[str, Any] = {}
    for table in tables:
        union = union | {name: value for name, value in table.items() if name not in union}
    return union


def _fill(store: Store, plan: Plan, found: Mapping[str, Run | Problem], runs: Sequence[Run]) -> None:
    """Add plan, failures and links to rows, predictions and cards to a new store."""
    store.save_plan(plan)
    for key in dict.fromkeys(cell.key for cell in plan.cells):
        source = found[key]
        if isinstance(source, Run):
            _link(store, source.store, f"cells/{key}.json", f"cells/{key}.npz")
            if encoder := source.rows[key].pretrain_key:
                _link(store, source.store, f"pretrained/{encoder}/{CARD}")
        elif source[0]:
            store.save_failure(key, "merge", source[0])
        elif failures := [run.failures[key] for run in runs if key in run.failures]:
            store.save_failure(key, "merge", failures[0].error, failures[0].traceback)


def _link(store: Store, source: Store, *names: str) -> None:
    """Links to files of another store, but for those that are there already or that it lacks."""
    for name in names:
        target, original = store.root / name, source.root / name
        if original.is_file() and not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(original.resolve())


def counted(number: int, word: str) -> str:
    """'1 row', '2 rows'."""
    return f"{number} {word}{'' if number == 1 else 's'}"


def some(names: Sequence[str]) -> str:
    """The first `NAMED` names, and the number of the rest."""
    rest = len(names) - NAMED
    return "; ".join(names[:NAMED]) + (f"; and {rest} more" if rest > 0 else "")


FORMAT = 1
CONTENTS = "contents.json"
WHAT = "Results of an ECG pretraining benchmark: rows and test-set predictions, by the datasets' own ids; no signals."
LARGEST = 8192 * MEBIBYTE
"""Bytes of a capsule, unpacked."""
FILE_MODE = 0o644 << 16


class BadCapsule(NoResults):
    """A capsule cannot be written or read; the message is one line with the file, the error and the remedy."""


def pack(run: Run, file: Path) -> str:
    """Write a run's finished cells, failures and cards as a capsule; returns the digest of its contents.

    Damaged rows are left out. Raises BadCapsule where an id is an absolute path.
    """
    _refuse_paths(run)
    members = dict(sorted(_members(run)))
    files = {name: hashlib.sha256(body).hexdigest() for name, body in members.items()}
    sha256 = _digest(files)
    contents = {"format": FORMAT, "what": WHAT, "digest": sha256, "files": files}
    buffer = BytesIO()
    with ZipFile(buffer, "w") as archive:
        for name, body in {CONTENTS: _json(contents), **members}.items():
            entry = ZipInfo(name)  # dated 1980, so that the same contents are the same bytes
            entry.external_attr, entry.create_system = FILE_MODE, 3
            archive.writestr(entry, body, ZIP_STORED if name.endswith(".npz") else ZIP_DEFLATED)
    write_atomic(file, buffer.getvalue())
    return sha256


def unpack(file: Path, folder: Path) -> Store:
    """Check every file of a capsule, its digest first, extract to a new folder, return its store. Raises BadCapsule."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder.parent) as scratch:
        unpacked = Path(scratch) / "unpacked"
        try:
            with ZipFile(file) as archive:
                problem = unfit_members(archive.infolist(), LARGEST) or _extract(archive, unpacked)
        except (BadZipFile, OSError, EOFError, zlib.error, LookupError, ValueError, TypeError, RuntimeError) as error:
            problem = f"it cannot be read ({' '.join(str(error).split())})"
        if problem:
            raise BadCapsule(f"{file} is no whole results capsule: {problem}; copy it anew, or pack it with --capsule")
        unpacked.rename(folder)
    return Store(folder)


def _extract(archive: ZipFile, folder: Path) -> str:
    """Write the members of a zip to a new folder, each checked; the error, '' for none."""
    contents = json.loads(archive.read(CONTENTS))
    if contents["format"] != FORMAT:
        return f"its format is {contents['format']!r}, this version reads {FORMAT}"
    files = contents["files"]
    if sorted(archive.namelist()) != sorted([CONTENTS, *files]):
        return "its files are not those of its contents"
    if _digest(files) != contents["digest"]:
        return "its contents do not match their digest"
    for name, sha256 in files.items():
        if hashlib.sha256(archive.read(name)).hexdigest() != sha256:
            return f"{name} does not match its digest"
        archive.extract(name, folder)
    return ""


def _digest(files: Mapping[str, str]) -> str:
    return hashlib.sha256(json.dumps(files, sort_keys=True).encode()).hexdigest()


def _members(run: Run) -> Iterator[tuple[str, bytes]]:
    """Name and content of every file."""
    yield f"plans/{run.plan.key}.json", digested_json(portable(asdict(run.plan)))
    yield "plans/latest", run.plan.key.encode()
    for key, row in run.rows.items():
        predictions = (run.store.cells / f"{key}.npz").read_bytes()
        yield f"cells/{key}.npz", predictions
        yield f"cells/{key}.json", row_bytes(Row(**portable(asdict(row))), predictions)
    for key, failure in run.failures.items():
        yield f"cells/{key}.error.json", _json({"key": key, **portable(asdict(failure))})
    for key in {row.pretrain_key for row in run.rows.values() if row.pretrain_key}:
        try:
            card = portable(run.store.card(key))
        except BadCard:  # named by the run's `left_out`
            continue
        if card:
            yield f"pretrained/{key}/{CARD}", card_bytes(card)


def _refuse_paths(run: Run) -> None:
    """Raise BadCapsule where an id of a recording or patient is an absolute path: an id cannot be shortened."""
    checked: set[str] = set()
    for key in run.rows:
        found = run.store.predictions(key)
        ids = {*found.recording.tolist(), *found.patient.tolist()} - checked
        paths = sorted(name for name in ids if portable(name) != name)
        if paths:
            raise BadCapsule(f"cell {key}: the id {paths[0]!r} is a path of this machine; give recordings relative ids")
        checked |= ids


def _json(value: Any) -> bytes:
    return json.dumps(value, indent=1).encode()


ALL = "all"


@dataclass(frozen=True)
class Opened:
    """The run to report."""

    run: Run
    said: tuple[str, ...]
    """Messages on merging, left-out rows and other runs, one line each."""


@contextmanager
def open_results(sources: Sequence[str]) -> Iterator[Opened]:
    """The run that the sources name, several merged; unpacked capsules are deleted on exit.

    Raises NoResults, in one line, where a source holds no run or a capsule is damaged.
    """
    with TemporaryDirectory(prefix="results-") as scratch:
        by_store: dict[Path, dict[str, Run]] = {}
        for number, source in enumerate(sources):
            for run in runs_of(source, Path(scratch) / str(number)):
                by_store.setdefault(run.store.root.resolve(), {}).setdefault(run.plan.key, run)
        runs = [run for opened in by_store.values() for run in opened.values()]
        besides = [line for opened in by_store.values() for line in _besides(list(opened.values()))]
        run, said = merge(runs, Path(scratch) / "merged")
        yield Opened(run, (*said, *besides))


def runs_of(source: str, scratch: Path) -> list[Run]:
    """The runs that a source names, the latest first; a capsule is unpacked to `scratch`. Raises NoResults."""
    name, _, key = source.rpartition("@")
    if not name or Path(source).exists():  # a folder's name may hold an @
        name, key = source, ""
    path = Path(name)
    store = unpack(path, scratch) if path.is_file() else Store(path)
    if key == ALL:
        return every_run(path, store)
    return [open_run(store.root, key or None, source=path)]


def every_run(path: Path, store: Store) -> list[Run]:
    """All runs of a store with a readable plan, the latest first. Raises NoResults where there is none."""
    runs = []
    keys = store.plan_keys()
    for key in keys:
        with suppress(NoResults):  # a damaged plan is named by `_besides`
            runs.append(open_run(store.root, key, source=path))
    if not runs:
        raise NoResults(f"no results in {path}: none of its {counted(len(keys), 'plan')} can be read")
    return runs


def _besides(runs: Sequence[Run]) -> Iterator[str]:
    """Messages on a store's other runs, unreadable plans and rows that belong to no run."""
    path, store = runs[0].source, runs[0].store
    plans = {run.plan.key: run.plan for run in runs}
    others, known = [], {cell.key for plan in plans.values() for cell in plan.cells}
    for key in store.plan_keys():
        if key in plans:
            continue
        try:
            known |= {cell.key for cell in store.load_plan(key).cells}
            others.append(key)
        except NoResults as error:
            yield f"left out: {error}"
    if others:
        yield (
            f"{path} holds {counted(len(others), 'other run')}, not shown: {some(others)}; --results {path}@KEY shows "
            f"one, --results {path}@{ALL} all that compare"
        )
    if stale := [key for key in store.row_keys() if key not in known]:
        yield f"{path} holds {counted(len(stale), 'row')} that no run's plan names, not shown: {some(stale)}"
