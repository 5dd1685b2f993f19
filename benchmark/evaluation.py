"""Judge encoders that Python code holds as the command line judges its rows: the same cells, keys, store, statistics.

    reads = SignalFormat(rate=500, leads=("I", "II", "V2"), unit="mV", seconds=10.0, standardise="window")
    results = evaluate({"mine": network}, ["ptb-xl"], signals=reads, data_root="/data")
    results.verdict()   # ['Better than the untrained encoder (mine, untrained) ...', ...]
    results.figure()    # Matplotlib axes

A call is a command line: its arguments are the flags of `run`, so that rows of both stand in one table, and what one
has computed the other does not compute again. Nothing is read of the process's own command line, the working directory
stays, and an error is an exception of one line. An interrupted call keeps what is finished.
"""

from __future__ import annotations

import json
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext, redirect_stdout
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

import torch
from torch import nn

from benchmark.cli.check import checks_of, line_of
from benchmark.cli.main import config_of, parse
from benchmark.cli.refusals import refusals
from benchmark.cli.run import request_of, run_missing, sole_command
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.data.datasets.arrays import Arrays
from benchmark.embedding import SavedEncoder, load_encoder
from benchmark.results.names import RECORDING, UNTRAINED, counted, reason_of
from benchmark.results.store import Store
from benchmark.screen import open_console
from methods import METHODS, NAME, get_method
from methods.base import External, PretrainMethod
from methods.encoders import ENCODERS
from methods.encoders.base import Encoder
from methods.encoders.pretrained import PretrainedEncoder, SignalFormat
from methods.in_memory import FunctionOfArrays, ObjectEncoder, known_by_name, object_encoder
from methods.twins import twin_of
from reports.answer import RunResults
from reports.results import run_of

ARRAYS = "arrays"
"""Folder of the cache for recordings that came from memory."""
TWIN = "twin"
"""Baseline of the untrained twins."""
Word = str | Path
Untrained = bool | Mapping[str, Callable[[], nn.Module]]


def evaluate(
    encoders: Any,
    data: Sequence[Word | Arrays] | Word | Arrays = (),
    *,
    signals: SignalFormat | None = None,
    pretrained_on: Sequence[str] | None = None,
    untrained: Untrained = True,
    baselines: Sequence[str] = (UNTRAINED,),
    evaluations: Sequence[str] = (),
    ratios: Sequence[float] = (),
    seeds: Sequence[int] = (),
    protocol: str = "",
    config: Word = "",
    settings: Mapping[str, Any] | None = None,
    data_root: Word = "",
    results: Word = "runs",
    cache: Word = "cache",
    device: str = "auto",
    jobs: int = 1,
    progress: bool = True,
) -> RunResults:
    """Judge encoders on labelled ECGs beside baselines; return scores with their statistics, per recording.

    encoders: one, or name -> one, of
      - a torch module of windows (B, leads, samples) -> (B, K), or a function of arrays (n, samples, leads) -> (n, K),
        which reads what `signals` says, or an attribute of it with this name;
      - a `PretrainedEncoder`, its class, or the path of the .py file that defines one;
      - an `Encoder` of the suite, or the folder of an exported one: they read the windows of the run;
      - the name of a method, or the path of the .py file that defines one: it is pretrained first.
    data: names of datasets, files of cards, or `Arrays`; by default those of the config.
    pretrained_on: names of datasets that the encoders saw, () for none; None: not known, which the tables mark.
    untrained: whether each encoder from outside has its untrained twin beside it, its architecture with weights that
      each seed draws anew; name -> function that builds the network, where its layers do not draw every weight.
    baselines: as --baselines, e.g. `features`.
    evaluations, ratios, seeds, protocol: as --evaluate, --ratios, --seeds, --protocol; by default those of the config.
    config, settings: as --config, and --set with dotted keys as a dict; by default the config `own`.
    data_root, results, cache, device, jobs: as on the command line. An encoder that is an object stays in this process,
      whatever `jobs` says.

    Raises ConfigError (a ValueError) and DatasetError, in one line, before any work. Cells that fail are a warning, and
    the same call tries them again; without `progress`, so is what is doubtful in the data.

    >>> from benchmark.data.simulate import simulate
    >>> labels = ["NORM", "AFIB"] * 10
    >>> signals = np.stack([simulate(label, seed=seed) for seed, label in enumerate(labels)])  # (20, 5000, 12)
    >>> ours = Arrays(name="ours", x=signals, y=labels, patient=range(20), rate=500)
    >>> reads = SignalFormat(rate=100, leads=ours.leads, unit="mV", seconds=5.0, standardise="none")
    >>> def heights(windows): return np.ptp(windows, axis=1)  # (n, samples, leads) -> (n, leads)
    >>> results = evaluate(heights, ours, signals=reads, baselines=[], seeds=[41], progress=False)
    >>> results.tables
    ['linear-recording']
    """
    listed = [data] if isinstance(data, str | Path | Arrays) else list(data)
    quiet = nullcontext() if progress else redirect_stdout(StringIO())
    gpu = [torch.cuda.current_device()] if torch.cuda.is_available() else []
    with quiet, torch.random.fork_rng(devices=gpu):
        try:
            named = opened(encoders)
            rows = [row_of(name, given, signals, pretrained_on) for name, given in named.items()]
            objects = [row for row in rows if not isinstance(row, str)]
            twins = list(twins_of(objects, untrained))
            cards = [one.write(Path(cache) / ARRAYS) if isinstance(one, Arrays) else one for one in listed]
        except ValueError as problem:
            raise ConfigError(str(problem)) from None
        methods = [row if isinstance(row, str) else row.name for row in rows]
        is_multi = any(isinstance(one, Arrays) and one.multi for one in listed)
        with known_by_name([*objects, *twins]):
            words = flags({
                "--methods": methods, "--baselines": [*baselines, *([TWIN] if untrained else [])] or ["none"],
                "--datasets": cards, "--labels": ["multi" if is_multi else ""], "--protocol": [protocol],
                "--evaluate": evaluations, "--ratios": ratios, "--seeds": seeds, "--config": [config],
                "--set": [f"{key}={json.dumps(value)}" for key, value in (settings or {}).items()],
                "--data-root": [data_root], "--results": [results], "--out": [Path(results) / "out"],
                "--cache": [cache], "--device": [device], "--workers": [jobs], "--jobs": [1 if objects else jobs],
            })  # fmt: skip
            _, arguments = parse(["run", *words])
            for given in named.values():
                if isinstance(given, SavedEncoder):
                    refuse_other_windows(given, config_of(arguments))
            judged = run(arguments)
    for line in () if progress else judged.plan.warnings:
        warnings.warn(line, stacklevel=2)
    return judged


def opened(encoders: Any) -> dict[str, Any]:
    """Return name -> encoder, '' for one without a name; folders of exported encoders are loaded."""
    named = dict(encoders) if isinstance(encoders, Mapping) else {"": encoders}
    if not named:
        raise ValueError("no encoder is named")
    for name, given in named.items():
        if isinstance(given, str | Path) and str(given) not in METHODS and Path(given).is_dir():
            named[name] = load_encoder(given)
    return named


def flags(values: Mapping[str, Sequence[Any]]) -> Iterator[str]:
    """Yield flags and their values as words, without flags that have no value or an empty one."""
    for flag, of_flag in values.items():
        words = [str(value) for value in of_flag]
        if any(words):
            yield from (flag, *words)


def run(arguments: Namespace) -> RunResults:
    """Run the missing part of a grid and return its results. Raises ConfigError and DatasetError before any work."""
    console = open_console()
    request = request_of(arguments, console)
    problems = list(refusals(request))
    if problems:
        raise ConfigError("; ".join(problems))
    store = Store(arguments.results)
    with sole_command(store):
        plan, failures = run_missing(request, console)
    whole = run_of(store, plan, store.root)
    if failures:
        first = next(iter(whole.failures.values())).line
        warnings.warn(
            f"{counted(failures, 'task')} failed, the first: {first}; the same call tries again", stacklevel=3
        )
    return RunResults.from_run(whole, RECORDING)


def row_of(
    name: str, given: Any, signals: SignalFormat | None, pretrained_on: Sequence[str] | None
) -> str | type[ObjectEncoder]:
    """Return the word of a method or of a .py file, or the class of an object's row. Raises ValueError for others."""
    if isinstance(given, str | Path):
        word = str(given)
        title = get_method(word).name
        if name not in ("", title):
            raise ValueError(f"{name!r}: the row of {word} has the name {title!r}; name it so, or leave the name out")
        return word
    if isinstance(given, type) and issubclass(given, PretrainMethod):
        raise ValueError(f"{given.__name__}: write the class into a .py file (%%writefile mine.py), and give its path")
    if isinstance(given, type) and issubclass(given, PretrainedEncoder):
        given = given.loaded()
    refuse_name(name or "mine")
    facts: dict[str, Any] = {"name": name or "mine", "pretrained_on": pretrained_on}
    if isinstance(given, SavedEncoder):
        about = given.description
        facts |= {"name": name or f"exported {about.name}", "title": name or f"{about.title}, exported"}
        return object_encoder(given.encoder, None, **facts)
    if isinstance(given, PretrainedEncoder):
        facts |= {key: getattr(given, key) for key in ("title", "licence", "pretrained_on")}
        facts["name"] = name or given.name
        return object_encoder(EncodeOf(given), given.signals, **facts)
    return object_encoder(given, getattr(given, "signals", signals), **facts)


def refuse_name(name: str) -> None:
    """Raise ValueError for what cannot name a row."""
    if name in (*METHODS, *ENCODERS) or not NAME.fullmatch(name) or "+" in name:
        raise ValueError(
            f"{name!r} cannot name an encoder: use letters, digits, blanks and _ . -, and no name of `list`"
        )


class EncodeOf(nn.Module):
    """The network of a `PretrainedEncoder`: its `encode`."""

    def __init__(self, encoder: PretrainedEncoder) -> None:
        super().__init__()
        self.encoder = encoder

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Compute features of windows: (B, L, S) -> (B, K)."""
        return self.encoder.encode(x)


def twins_of(kinds: Sequence[type[ObjectEncoder]], untrained: Untrained) -> Iterator[type[ObjectEncoder]]:
    """Yield the untrained twin of each encoder; a function has none. Raises ValueError as `twin_of`."""
    for kind in kinds if untrained else ():
        make = untrained.get(kind.name) if isinstance(untrained, Mapping) else None
        if make or not isinstance(kind.given, FunctionOfArrays):
            yield twin_of(kind, make)


def refuse_other_windows(encoder: SavedEncoder, config: Config) -> None:
    """Raise ConfigError where an exported encoder was trained on other windows than those of a run."""
    about = encoder.description
    spec = config.column_spec()
    trained: dict[str, Any] = {"leads": about.leads, "per_trial": about.per_trial, "scaled": about.scale is not None}
    here = {"leads": spec.leads, "per_trial": spec.per_trial, "scaled": spec.standardise == "dataset"}
    trained |= asdict(about.segmentation)
    here |= asdict(config.data.cut())
    differing = [f"{name} {here[name]}, not {value}" for name, value in trained.items() if here[name] != value]
    if differing:
        raise ConfigError(
            f"{about.name}: the windows of this run are others than those that it was trained on: "
            f"{'; '.join(differing)}; set data.segmentation, data.rate, data.leads or finetune.beats_per_trial in "
            "`settings`"
        )


def check(given: Any, *, signals: SignalFormat | None = None) -> dict[str, str]:
    """Check a method or an encoder against its contract: what it promises -> 'ok', or what is wrong. Raises nothing.

    given: as an encoder of `evaluate`, or the class of a method. It takes at most a minute.

    >>> problem = check(torch.nn.Flatten())["takes windows"]
    >>> problem.partition(",")[0]
    'mine: say what it reads'
    """
    try:
        kind = given if isinstance(given, type) and issubclass(given, PretrainMethod | Encoder) else None
        if kind is None:
            (encoder,) = opened(given).values()
            row = row_of("", encoder, signals, None)
            kind = get_method(row) if isinstance(row, str) else row
        if issubclass(kind, External):
            kind = kind.encoder_class
        word = kind.word() if issubclass(kind, PretrainedEncoder) else kind.name
        checks = checks_of(kind, word)
    except Exception as problem:  # of anyone's code
        return {"takes windows": reason_of(problem)}
    lines = {}
    with known_by_name([kind] if issubclass(kind, ObjectEncoder) else []):
        for name, promise in checks.items():
            line = line_of(name, promise)
            lines[name] = line.partition(": ")[2] if line.startswith("FAILED") else "ok"
    return lines
