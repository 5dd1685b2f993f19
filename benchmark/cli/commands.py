"""The commands as a table: each with a line of help, its function, its flags and examples; a flag is declared once."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmark.config.load import CONFIGS
from benchmark.data.datasets import DATASETS
from benchmark.results.names import BOTH, UNITS, sources
from methods.encoders import ENCODERS


def count(text: str) -> int:
    """Parse a whole number of 1 or more. Raises ArgumentTypeError."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def engine(text: str) -> str:
    """Parse `local`, or the address or the file of a Dask scheduler. Raises ArgumentTypeError."""
    if text != "local" and "://" not in text and not text.endswith(".json"):
        raise argparse.ArgumentTypeError(f"{text!r} is neither local nor tcp://HOST:PORT nor a scheduler's .json file")
    return text


def folder_of(text: str) -> tuple[str, Path]:
    """Parse a dataset and its folder, NAME=DIR. Raises ArgumentTypeError."""
    name, _, folder = text.partition("=")
    if not name or not folder:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl")
    return name, Path(folder).expanduser()


def metric(text: str) -> str:
    """Parse the name of a score that reports compute from stored predictions. Raises ArgumentTypeError."""
    from benchmark.results.metrics import FURTHER  # here, because scikit-learn loads slowly

    if text not in FURTHER:
        raise argparse.ArgumentTypeError(f"no further score {text!r}; there are {', '.join(FURTHER)}")
    return text


def flag(meaning: str, **arguments: Any) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a flag or a positional argument; choices are `a|b` in the help."""
    metavar = {"metavar": "|".join(arguments["choices"])} if "choices" in arguments else {}
    return {"help": meaning, **metavar, **arguments}


def names(meaning: str, metavar: str, **arguments: Any) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a flag of several values."""
    return {"help": meaning, "nargs": "+", "metavar": metavar, **arguments}


def file(meaning: str, metavar: str, default: str | None = None, **arguments: Any) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a flag that names a file or a folder."""
    path = None if default is None else Path(default)
    return {"help": meaning, "type": Path, "metavar": metavar, "default": path, **arguments}


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
    "--baselines": "baselines",
    "--ablate": "ablate",
    "--precision": "precision",
}
"""Flag -> the config key that it sets; any other key by --set."""
NO_BASELINE = "none"
"""`--baselines none` is an empty list of baselines."""
COMMON: dict[str, dict[str, Any]] = {
    "--config": flag(
        f"{', '.join(CONFIGS)}, or a .yaml file (demo; own where flags name real data)", metavar="NAME|FILE"
    ),
    "--set": names(
        "any config key, e.g. finetune.lr=1e-3; methods.NAME.FIELD is a hyperparameter of a method",
        "KEY=VALUE",
        action="extend",
        default=[],
    ),
    "--encoder": names(
        f"what all methods pretrain: {', '.join(ENCODERS)} or a .py file; several: all rows with each", "NAME|FILE"
    ),
    "--data-root": file("folder that holds the datasets", "DIR"),
    "--data": names("a dataset's folder", "NAME=DIR", type=folder_of, action="extend", default=[]),
    "--results": file("results store (runs)", "DIR", "runs"),
    "--out": file("tables and figures (out)", "DIR", "out"),
    "--cache": file("prepared recordings (cache)", "DIR", "cache"),
    "--device": flag("auto, cpu, cuda or cuda:N (auto)", default="auto", metavar="NAME"),
    "--workers": flag("processes that prepare data (default: one per core)", type=count, metavar="N"),
    "--jobs": flag("tasks at a time (default: one per core, or one per GPU)", type=count, metavar="N"),
    "--engine": flag(
        "local (default), or the workers of a Dask scheduler: tcp://HOST:PORT or its scheduler file",
        type=engine,
        default="local",
        metavar="NAME",
    ),
    "--devices": names("GPUs that share the work, e.g. 0 1", "N"),
    "--code": file("the file of an encoder of your own", "FILE"),
    "--dry-run": flag("print what is to do, its hours and disk space, and do nothing", action="store_true"),
    "--unit": flag("unit that is scored (default: that of the protocol)", choices=[*UNITS, BOTH]),
    "--scores": names("further columns of the main table, e.g. auprc", "NAME", type=metric, default=[]),
}
CONFIG, DATA, STORE = ("--config", "--set"), ("--data-root", "--data"), ("--results", "--out", "--cache")
ENGINE = ("--device", "--jobs", "--engine", "--devices", "--workers")
OF_DATA = ("--datasets", "--pretrain-dataset", "--tasks", "--labels", "--protocol", "--segmentation", "--standardise")


class Command(NamedTuple):
    """A command of the command line."""

    help: str
    """One line for the list of commands."""
    function: str
    """`module:function`."""
    flags: Sequence[str]
    """Flags of `KEYS` and `COMMON`."""
    further: Mapping[str, dict[str, Any]]
    """Flags of this command alone, and its positional argument `word`."""
    examples: Sequence[str]
    """Arguments after the program's name, each with a comment."""


COMMANDS: dict[str, Command] = {}
"""Name -> command, in the order of the help."""
COMMANDS["run"] = Command(
    help="run the unfinished part of the grid, then print and write its tables",
    function="benchmark.cli.run:run",
    flags=(*KEYS, *CONFIG, "--encoder", *DATA, *STORE, *ENGINE, "--dry-run", "--unit", "--scores"),
    further={
        "--ablations": flag("every ablation of the compared methods; see `list`", action="store_true"),
        "--queue-sizes": names("PMQ with each of these queue sizes, at the smallest ratio", "M", type=int),
        "--only": names(
            "run only the cells or pretrainings whose keys begin so (keys: out/cells.csv)", "KEY", default=[]
        ),
        "--allow-leak": flag("run on data that the audit refuses; the tables say so", action="store_true"),
        "--tensorboard": flag("loss and health per epoch as event files in OUT/tensorboard", action="store_true"),
    },
    examples=(
        "# simulated cohorts, minutes on a laptop",
        "--methods pmq moco --ratios 0.3 0.1 0.01  # choose methods and label ratios",
        "--config laptop --dry-run  # what it would do, in hours and disk",
        "--config paper --data-root /data  # the paper's grid on the real datasets",
        "--ablations  # the ablation table: PMQ without each of its parts",
        "--queue-sizes 256 1024 4096  # the queue-size figure",
        "--config out/tuned.yaml  # every method with the hyperparameters that `tune` chose",
        "--set methods.pmq.momentum=0.99  # any hyperparameter of any method",
        "--devices 0 1 --jobs 4  # two GPUs, two tasks at a time on each",
        "--engine tcp://host:8786 --device cuda --precision bf16  # the workers of a Dask scheduler",
    ),
)
COMMANDS["status"] = Command(
    help="show the progress of a grid, also while other shells or a cluster work on it",
    function="benchmark.cli.explain:status",
    flags=("--results",),
    further={},
    examples=("status  # what is done, runs, waits and has failed",),
)
COMMANDS["runs"] = Command(
    help="list the runs of a results store: date, key, rows, cells, size and command line",
    function="benchmark.cli.runs:runs",
    flags=("--results",),
    further={},
    examples=("runs  # the latest first",),
)
COMMANDS["clean"] = Command(
    help="remove results and prepared data that no run uses, also candidates of `tune`; try --dry-run first",
    function="benchmark.cli.runs:clean",
    flags=("--results", "--cache", "--dry-run"),
    further={"word": flag("earlier runs to forget, by the keys that `runs` prints", nargs="*", metavar="KEY")},
    examples=("clean --dry-run  # how much would go",),
)
COMMANDS["report"] = Command(
    help="write the tables of the latest run again from the results store",
    function="benchmark.cli.report:report",
    flags=("--out", "--unit", "--scores"),
    further={
        "--results": names("results store (runs), archive, or DIR@KEY for one run; several together", "DIR|FILE"),
        "--archive": file("pack the results reported into a zip, without signals", "FILE"),
        "--weights": flag("with the weights of its encoders", action="store_true"),
        "--verify": flag(
            "compute N random cells of each row of an archive again, one by default",
            type=count,
            nargs="?",
            const=1,
            metavar="N",
        ),
        "--beside": flag("compare the run with the numbers that a paper prints", choices=[*sources()]),
        "--compare": flag("compare two results stores, archives or runs", nargs=2, metavar="RUN"),
        "--predictions": file("compare models of others: columns recording, patient, label, score, model", "CSV"),
        "--with": names(
            "beside --predictions: rows of the store, e.g. pmq moco linear chapman 0.1", "ROW", dest="rows"
        ),
    },
    examples=(
        "report --scores auprc ece  # further columns of the main table, from the stored predictions",
        "report --archive mine.zip  # results to send around, without signals",
        "report --compare runs theirs.zip  # two of them side by side",
        "report --results runs theirs.zip --verify 2  # two cells of each of their rows, computed again",
        "report --predictions theirs.csv  # the same statistics for anyone's predictions",
    ),
)
COMMANDS["explain"] = Command(
    help="show what a number was made from: encoder, labels, machine, code, files",
    function="benchmark.cli.explain:explain",
    flags=("--results",),
    further={
        "word": names("row, evaluation, dataset, ratio and seed in any order, or the start of a key", "CELL"),
    },
    examples=("explain pmq chapman 0.1 seed 41  # by the names of the tables",),
)
COMMANDS["tune"] = Command(
    help="choose the hyperparameters of each method by random search on validation patients",
    function="benchmark.cli.tune:tune",
    flags=(
        *("--methods", "--datasets", "--pretrain-dataset", "--protocol", "--labels", "--preset", "--precision"),
        *(*CONFIG, "--encoder", *DATA, *STORE, *ENGINE, "--dry-run"),
    ),
    further={
        "--candidates": flag("settings tried per method (8)", type=count, default=8, metavar="N"),
        "--ratio": flag("label ratio of the probes (the config's middle one)", type=float, metavar="R"),
        "--search-seed": flag("seed of the draws (1)", type=int, default=1, metavar="N"),
    },
    examples=("tune --config small --candidates 8  # then `--config out/tuned.yaml` compares tuned methods",),
)
COMMANDS["export"] = Command(
    help="write an encoder as a folder: weights, config, model card",
    function="benchmark.cli.export:export",
    flags=("--results", "--code"),
    further={
        "word": flag("a row of the tables, e.g. pmq or 'pmq:w/o queue', or a key", metavar="NAME"),
        "--seed": flag("seed of its pretraining; by default that of the best validation score", type=int, metavar="N"),
        "--to": file("the folder to write", "FOLDER", required=True),
    },
    examples=("export pmq --to pmq  # the encoder of a row, with its model card",),
)
COMMANDS["embed"] = Command(
    help="compute embeddings of WFDB records with an exported encoder",
    function="benchmark.cli.export:embed",
    flags=("--device", "--code"),
    further={
        "word": names("WFDB records, or folders of them", "RECORDS", type=Path),
        "--encoder": file("the folder that `export` wrote", "FOLDER", required=True, dest="folder"),
        "--out": file("a table, .parquet or .csv; or .npy, the embeddings alone", "FILE", required=True),
    },
    examples=("embed recordings/ --encoder pmq --out features.parquet  # every WFDB record in a folder",),
)
COMMANDS["list"] = Command(
    help="list methods, datasets, tasks, configs, evaluations and ablations",
    function="benchmark.cli.check:list_all",
    flags=(),
    further={},
    examples=("list  # what there is",),
)
COMMANDS["data check"] = Command(
    help="prepare and audit every dataset, and report what a run would refuse",
    function="benchmark.cli.data:check",
    flags=(*OF_DATA, *CONFIG, *DATA, "--cache", "--workers"),
    further={},
    examples=("data check --data-root /data  # leaks, copies, damaged files, before a run",),
)
COMMANDS["data show"] = Command(
    help="draw a recording as a 12-lead sheet with the heartbeats found",
    function="benchmark.cli.data:show",
    flags=(*OF_DATA, *CONFIG, *DATA, "--out"),
    further={"word": flag("its name, e.g. A0001", metavar="RECORDING")},
    examples=("data show A0001 --datasets cpsc2018  # one recording, drawn",),
)
COMMANDS["data download"] = Command(
    help="fetch datasets from PhysioNet's open releases, verified",
    function="benchmark.cli.download:download",
    flags=(*DATA, "--dry-run"),
    further={
        "word": names(", ".join(DATASETS), "DATASET", choices=list(DATASETS)),
        "--subset": flag("part of a dataset: paper (what the paper uses), all, records100", metavar="NAME"),
        "--from": flag("server: physionet (default) or aws", metavar="NAME"),
        "--verify": flag("compare files that are already there with their checksums", action="store_true"),
    },
    examples=("data download ptb-xl --data-root /data  # a dataset, verified",),
)
COMMANDS["data new-card"] = Command(
    help="look at a folder of your own ECGs and write a first card for it (page 'Your own ECGs')",
    function="benchmark.cli.new_card:new_card",
    flags=(),
    further={
        "word": flag("folder of the ECG files, with their table if there is one", metavar="FOLDER"),
        "--card": file("file to write (FOLDER/NAME.yaml)", "FILE"),
    },
    examples=("data new-card ./my-ecgs  # a card to begin with",),
)
COMMANDS["check"] = Command(
    help="test a method or an encoder, or one defined in a file, against its contract",
    function="benchmark.cli.check:check",
    flags=(),
    further={"word": flag("a method or an encoder of `list`, or a .py file of one", metavar="NAME|FILE")},
    examples=("check ./mine.py  # what a method or an encoder of one's own has to hold to",),
)
