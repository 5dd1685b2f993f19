"""The commands: each with its flags, its function and examples; the flags that several share."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark.data.datasets import DATASETS
from benchmark.results.names import BOTH, UNITS
from benchmark.results.printed import sources
from methods.encoders import ENCODERS


def folder(text: str) -> Path:
    """A folder that is there or can be made. Raises ArgumentTypeError for a file."""
    path = Path(text).expanduser()
    if not text or (path.exists() and not path.is_dir()):
        raise argparse.ArgumentTypeError(f"{text!r} is a file: name a folder" if text else "'' names no folder")
    return path


def file(text: str) -> Path:
    """A file that is there or can be made. Raises ArgumentTypeError for a folder."""
    path = Path(text).expanduser()
    if not text or path.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is a folder: name a file in it" if text else "'' names no file")
    return path


def count(text: str) -> int:
    """A whole number, 1 or more."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def engine(text: str) -> str:
    """`local`, or the address or the file of a Dask scheduler. Raises ArgumentTypeError for another word."""
    if text != "local" and "://" not in text and not text.endswith(".json"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither local nor tcp://HOST:PORT nor a scheduler's .json file")
    return text


def key_start(text: str) -> str:
    """The start of the key of a cell or a pretraining, from four digits on."""
    if not re.fullmatch(r"[0-9a-f]{4,16}", text):
        raise argparse.ArgumentTypeError(f"{text!r} begins no key; use 4 to 16 of the digits 0 to 9 and a to f")
    return text


def further_metric(text: str) -> str:
    """A metric that reports compute from stored predictions."""
    from benchmark.results.metrics import FURTHER  # here, because other commands need no scikit-learn

    if text not in FURTHER:
        raise argparse.ArgumentTypeError(f"no further score {text!r}; there are {', '.join(FURTHER)}")
    return text


def flag(meaning: str, **arguments: Any) -> dict[str, Any]:
    """Return what argparse is to know of a flag or a positional argument: its help, and `arguments`."""
    return {"help": meaning, **arguments}


KEYS = {
    "--methods": "methods",
    "--datasets": "data.datasets",
    "--tasks": "data.task",
    "--pretrain-dataset": "data.pretrain",
    "--ratios": "ratios",
    "--seeds": "seeds",
    "--subsets": "subsets",
    "--protocol": "protocol",
    "--labels": "data.labels",
    "--segmentation": "data.segmentation.kind",
    "--standardise": "data.standardise",
    "--leads": "data.leads",
    "--evaluate": "evaluate",
    "--preset": "pretrain.preset",
    "--gates": "gates",
    "--ablate": "ablate",
    "--precision": "precision",
}
"""Flag -> the config key that it sets; any other key by --set."""
SEVERAL = ("data.pretrain",)
"""Keys whose flag takes several values, which are joined."""
NO_GATE = "none"
"""`--gates none` is an empty list of gates."""
COMMON: dict[str, dict[str, Any]] = {
    "--config": {"metavar": "NAME|FILE"},
    "--set": flag(
        "any config key, e.g. finetune.lr=1e-3; methods.NAME.KNOB is the knob of a method",
        nargs="+",
        action="extend",
        default=[],
        metavar="KEY=VALUE",
    ),
    "--encoder": flag(
        f"what all methods pretrain: {', '.join(ENCODERS)} or a .py file; several: all rows with each",
        nargs="+",
        metavar="NAME|FILE",
    ),
    "--data-root": flag("folder that holds the datasets", type=folder, metavar="DIR"),
    "--data": flag("a dataset's folder", nargs="+", action="extend", default=[], metavar="NAME=DIR"),
    "--results": flag("results store (runs)", type=folder, default=Path("runs"), metavar="DIR"),
    "--out": flag("tables and figures (out)", type=folder, default=Path("out"), metavar="DIR"),
    "--cache": flag("prepared recordings (cache)", type=folder, default=Path("cache"), metavar="DIR"),
    "--device": flag("auto, cpu, cuda or cuda:N (auto)", default="auto", metavar="NAME"),
    "--workers": flag("processes that prepare data (one a core)", type=count, metavar="N"),
    "--jobs": flag("tasks at a time (CPU: one a core; GPU: one each)", type=count, metavar="N"),
    "--engine": flag(
        "local (default), or the workers of a Dask scheduler: tcp://HOST:PORT or its scheduler file",
        type=engine,
        default="local",
        metavar="NAME",
    ),
    "--devices": flag("GPUs that share the work, e.g. 0 1", nargs="+", metavar="N"),
    "--code": flag("the file of an encoder of your own", type=file, metavar="FILE"),
    "--dry-run": flag("list what there is to do, hours and disk, and do nothing", action="store_true"),
    "--unit": flag("what is scored (default: as the protocol)", choices=[*UNITS, BOTH]),
    "--scores": flag(
        "further columns of the main table, e.g. auprc", nargs="+", type=further_metric, default=[], metavar="NAME"
    ),
}
CONFIG, DATA, STORE = ("--config", "--set"), ("--data-root", "--data"), ("--results", "--out", "--cache")
ENGINE = ("--device", "--jobs", "--engine", "--devices", "--workers")
NAMES = ("--datasets", "--pretrain-dataset", "--tasks", "--labels", "--protocol", "--segmentation", "--standardise")
"""Flags of keys that say what data there are."""


@dataclass(frozen=True)
class Command:
    """A command of the command line."""

    help: str
    """One line for the list of commands."""
    function: str
    """`module:function`."""
    keys: Sequence[str] = ()
    """Flags of `KEYS`."""
    flags: Sequence[str] = ()
    """Flags of `COMMON`."""
    further: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    """Flags of this command alone, and its positional argument `word`."""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Arguments after the program's name -> description."""


COMMANDS = {
    "run": Command(
        "run the unfinished part of the grid, then print and write its tables",
        "benchmark.cli.run:run",
        tuple(KEYS),
        (*CONFIG, "--encoder", *DATA, *STORE, *ENGINE, "--dry-run", "--unit", "--scores"),
        {
            "--ablations": flag("every ablation of the compared methods; see `list`", action="store_true"),
            "--queue-sizes": flag(
                "PMQ with each of these queue sizes, at the smallest ratio", nargs="+", type=int, metavar="M"
            ),
            "--only": flag(
                "these cells alone, with their pretrainings: starts of keys of out/cells.csv",
                nargs="+",
                type=key_start,
                default=[],
                metavar="KEY",
            ),
            "--allow-leak": flag("run on data that the audit refuses; tables will say so", action="store_true"),
            "--tensorboard": flag(
                "also loss and health per epoch as event files in OUT/tensorboard", action="store_true"
            ),
        },
        {
            "": "simulated cohorts, minutes on a laptop",
            "--methods pmq moco --ratios 0.3 0.1 0.01": "choose methods and label ratios",
            "--config laptop --dry-run": "what it would do, in hours and disk",
            "--config paper --data-root /data": "the paper's grid on the real datasets",
            "--encoder resnet1d --evaluate linear": "all methods around another encoder",
            "--ablations": "the ablation table: PMQ without each of its parts",
            "--queue-sizes 256 1024 4096": "the queue-size figure",
            "--config out/tuned.yaml": "every method with the knobs that `tune` chose",
            "--config small --only 3f2a91 --results again": "one cell again, to be compared",
            "--set methods.pmq.momentum=0.99": "any knob of any method",
            "--devices 0 1 --jobs 4": "two GPUs, two tasks at a time on each",
            "--engine tcp://host:8786 --device cuda --precision bf16": "the workers of a Dask scheduler",
        },
    ),
    "status": Command(
        "show the progress of a grid, also while other shells or a cluster work on it",
        "benchmark.cli.look:status",
        flags=("--results",),
        examples={"status": "what is done, runs, waits and has failed"},
    ),
    "report": Command(
        "write the tables of the latest run again from the results store",
        "benchmark.cli.report:report",
        flags=("--out", "--unit", "--scores"),
        further={
            "--results": flag(
                "results store (runs), archive, or DIR@KEY for one run; several are put together",
                nargs="+",
                metavar="DIR|FILE",
            ),
            "--archive": flag("pack the results reported into a zip, without signals", type=file, metavar="FILE"),
            "--beside": flag("hold the run against the numbers that a paper prints", choices=[*sources()]),
            "--compare": flag("hold two results stores, archives or runs together", nargs=2, metavar="RUN"),
        },
        examples={
            "report --unit recording": "the tables again, per recording",
            "report --scores auprc ece": "further columns of the main table, from the stored predictions",
            "report --archive mine.zip": "results to send around, without signals",
            "report --compare runs theirs.zip": "two of them side by side",
            "report --beside pmq": "the run beside the tables of the PMQ paper",
        },
    ),
    "explain": Command(
        "show what a number was made from: settings, encoder, data, code, machine, files",
        "benchmark.cli.explain:explain",
        flags=("--results",),
        further={
            "word": flag(
                "row, evaluation, dataset, ratio and seed in any order, or the start of a key",
                nargs="+",
                metavar="CELL",
            ),
            "--all": flag("the whole config, code, libraries, machine and files too", action="store_true"),
        },
        examples={
            "explain pmq finetune chapman 0.1 seed 41": "by the names of the tables",
            "explain 3f2a91": "by the start of its key",
        },
    ),
    "tune": Command(
        "choose the knobs of each method by random search on validation patients",
        "benchmark.cli.tune:tune",
        ("--methods", "--datasets", "--pretrain-dataset", "--protocol", "--labels", "--preset", "--precision"),
        (*CONFIG, "--encoder", *DATA, *STORE, *ENGINE, "--dry-run"),
        {
            "--trials": flag("settings tried per method (8)", type=count, default=8, metavar="N"),
            "--ratio": flag("label ratio of the probes (the config's middle one)", type=float, metavar="R"),
            "--search-seed": flag("seed of the draws (1)", type=int, default=1, metavar="N"),
        },
        {
            "tune --config small --dry-run": "what it would do, in hours and disk",
            "tune --config small --trials 8": "then `--config out/tuned.yaml` compares tuned methods",
            "tune --methods pmq moco --trials 16": "a longer search keeps the trials of a shorter one",
        },
    ),
    "export": Command(
        "write an encoder as a folder: weights, config, model card",
        "benchmark.cli.export:export",
        flags=("--results", "--code"),
        further={
            "word": flag("a row of the tables, e.g. pmq or 'pmq:w/o queue', or a key", metavar="NAME"),
            "--seed": flag("seed of its pretraining, where a row has several", type=int, metavar="N"),
            "--to": flag("the folder to write", type=folder, required=True, metavar="FOLDER"),
        },
        examples={
            "export pmq --to pmq": "the encoder of a row, with its model card",
            "export random --seed 41 --to untrained": "one of several pretrainings of a row",
        },
    ),
    "embed": Command(
        "compute embeddings of WFDB records with an exported encoder",
        "benchmark.cli.embed:embed",
        flags=("--device", "--code"),
        further={
            "word": flag("WFDB records, or folders of them", nargs="+", metavar="RECORDS"),
            "--encoder": flag(
                "the folder that `export` wrote", type=folder, required=True, dest="folder", metavar="FOLDER"
            ),
            "--out": flag(
                "the table, .parquet or .csv, a row per recording; or .npy, the embeddings alone",
                type=file,
                required=True,
                metavar="FILE",
            ),
        },
        examples={"embed recordings/ --encoder pmq --out features.parquet": "every WFDB record in a folder"},
    ),
    "list": Command(
        "list methods, datasets, tasks, configs, evaluations and ablations",
        "benchmark.cli.look:list_all",
        examples={"list": "what there is"},
    ),
    "data check": Command(
        "prepare and audit every dataset, and report what a run would refuse",
        "benchmark.cli.data:check",
        NAMES,
        (*CONFIG, *DATA, "--cache", "--workers"),
        examples={"data check --data-root /data": "leaks, copies, damaged files, before a run"},
    ),
    "data show": Command(
        "draw a recording as a 12-lead sheet with the heartbeats found",
        "benchmark.cli.data:show",
        NAMES,
        (*CONFIG, *DATA, "--out"),
        {"word": flag("its name, e.g. A0001", metavar="RECORDING")},
        {"data show A0001 --datasets cpsc2018": "one recording, drawn"},
    ),
    "data download": Command(
        "fetch datasets from PhysioNet's open releases, verified",
        "benchmark.extras.download:download",
        flags=(*DATA, "--dry-run"),
        further={
            "word": flag(f"{', '.join(DATASETS)}", nargs="+", choices=list(DATASETS), metavar="DATASET"),
            "--subset": flag("part of a dataset: paper (what the paper uses), all, records100", metavar="NAME"),
            "--from": flag("the home: physionet (default) or aws", metavar="NAME"),
            "--connections": flag("at a time, 1 to 8 (4)", type=count, metavar="N"),
            "--verify": flag("read and compare what is there", action="store_true"),
        },
        examples={
            "data download ptb-xl --data-root /data": "a dataset, verified",
            "data download mimic-iv-ecg --subset paper --data-root /data": "the tenth that the paper uses",
        },
    ),
    "data new-card": Command(
        "look at a folder of your own ECGs and write a first card for it (docs/OWN_DATA.md)",
        "benchmark.extras.new_card:new_card",
        further={
            "word": flag("folder of the ECG files, with their table if there is one", metavar="FOLDER"),
            "--card": flag("the card (FOLDER/NAME.yaml)", type=file, metavar="FILE"),
        },
        examples={"data new-card ./my-ecgs": "a card to begin with"},
    ),
    "speed": Command(
        "time updates, fine-tuning and preparation on this machine, and the hours of a grid",
        "benchmark.cli.speed:speed",
        ("--methods", "--preset", "--precision", "--segmentation", "--datasets", "--pretrain-dataset"),
        (*CONFIG, "--encoder", *DATA, "--results", "--cache", *ENGINE),
        {"--quick": flag("measure at small sizes: a minute instead of many", action="store_true")},
        {"speed --config laptop": "how fast this machine is"},
    ),
    "check": Command(
        "test a method or an encoder, or one defined in a file, against its contract",
        "benchmark.cli.check:check",
        further={"word": flag("a method or an encoder of `list`, or a .py file of one", metavar="NAME|FILE")},
        examples={"check ./mine.py": "what a method or an encoder of one's own has to hold to"},
    ),
}
"""In the order of the help."""
