"""The command line as data: every verb with its flags, examples and the function that does it.

Functions are named as `module:function` and imported where a verb runs, so that the help needs none of them. Flags that
verbs share stand in `benchmark.config.flags`. A new verb is an entry here and its file.
"""

from __future__ import annotations

from benchmark.config.command_line import Flag, Known, Verb, file_to_write, folder, results_named, switch
from benchmark.config.errors import count, key_start, positive, seed
from benchmark.config.flags import (
    COMPUTE,
    CONFIG,
    DATA,
    ENCODER,
    ENGINE,
    GRID,
    HOW,
    METHOD,
    REPORTED,
    RESULTS,
    SIGNALS,
    WHAT,
    WHERE,
    shared,
)
from benchmark.data.datasets import DATASETS
from benchmark.results.printed import sources

WHOSE = (*CONFIG, "--datasets", "--pretrain-dataset", *DATA)
"""Flags that select and locate datasets."""
WHAT_IS_EMBEDDED = "what is embedded, and by what"
CELL = "CELL"
CELL_HELP = "row, evaluation, dataset, ratio and seed in any order, as far as they are needed, or the start of a key"
WHICH_ENCODER, WHAT_IS_WRITTEN = "which encoder", "what is written"
TRIALS, SEARCH_SEED = 8, 1
WRITTEN = "what is written"

VERBS: dict[str, Verb] = {
    "run": Verb(
        "run the unfinished part of the grid, then print and write its tables",
        "benchmark.cli.run:run",
        {
            **shared(*CONFIG, *GRID, *DATA, "--results", "--out", "--cache", *COMPUTE, *ENGINE, "--workers"),
            **shared("--dry-run"),
            "--only": Flag(
                WHAT,
                "these cells alone, with their pretrainings: starts of keys of out/cells.csv",
                how={"nargs": "+", "type": key_start, "default": [], "metavar": "KEY"},
            ),
            "--allow-leak": switch(HOW, "run on data that the audit refuses; every table will say so"),
            **shared("--unit", "--scores", "--latex-landscape"),
            "--tensorboard": switch(WRITTEN, "also loss and health per epoch as event files in OUT/tensorboard"),
        },
        examples={
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
    "status": Verb(
        "show the progress of a grid, also while other shells or a cluster work on it",
        "benchmark.cli.look:status",
        {
            **shared("--results"),
            "--watch": switch(HOW, "look again and again, until nothing is left"),
        },
        examples={"status": "what is done, runs, waits and has failed", "status --watch": "the same, live"},
    ),
    "report": Verb(
        "write the tables of the latest run again from the results store",
        "benchmark.cli.report:report",
        {
            "--results": Flag(
                WHERE,
                f"results store ({RESULTS}), archive, or DIR@KEY for one run; several are put together",
                how={"nargs": "+", "type": results_named, "metavar": "DIR|FILE"},
            ),
            **shared("--out", "--unit", "--scores", "--latex-landscape"),
            "--archive": Flag(
                REPORTED,
                "pack the results reported into a zip, without signals",
                how={"type": file_to_write, "metavar": "FILE"},
            ),
            "--beside": Flag(
                REPORTED, "hold the run against the numbers that a paper prints", how={"choices": tuple(sources())}
            ),
            "--compare": Flag(
                REPORTED,
                "hold two results stores, archives or runs together",
                how={"nargs": 2, "type": results_named, "metavar": "RUN"},
            ),
        },
        examples={
            "report --unit recording": "the tables again, per recording",
            "report --scores auprc ece": "further columns of the main table, from the stored predictions",
            "report --archive mine.zip": "results to send around, without signals",
            "report --compare runs theirs.zip": "two of them side by side",
            "report --beside pmq": "the run beside the tables of the PMQ paper",
        },
    ),
    "explain": Verb(
        "show what a number was made from: settings, encoder, data, code, machine, files",
        "benchmark.cli.explain:explain",
        {
            **shared("--results"),
            "--all": switch(HOW, "the whole config, keys, card, data, code, libraries, machine and files too"),
        },
        word=CELL,
        word_help=CELL_HELP,
        several=True,
        examples={
            "explain pmq finetune chapman 0.1 seed 41": "by the names of the tables",
            "explain pmq chapman 10% 41": "in any order, with parts left out",
            "explain 3f2a91": "by the start of its key",
        },
    ),
    "tune": Verb(
        "choose the knobs of each method by random search on validation patients",
        "benchmark.cli.tune:tune",
        {
            **shared(*CONFIG, "--methods", "--encoder", "--datasets", "--pretrain-dataset", "--protocol", "--labels"),
            **shared("--preset"),
            "--trials": Flag(
                WHAT,
                f"settings tried per method, the first the config's own ({TRIALS})",
                how={"type": count, "default": TRIALS, "metavar": "N"},
            ),
            "--ratio": Flag(
                WHAT, "label ratio of the probes (the middle one of the config)", how={"type": float, "metavar": "R"}
            ),
            **shared("--dry-run"),
            "--search-seed": Flag(
                HOW, f"seed of the draws ({SEARCH_SEED})", how={"type": seed, "default": SEARCH_SEED, "metavar": "N"}
            ),
            **shared(*DATA, "--results", "--out", "--cache", *COMPUTE, *ENGINE, "--workers"),
        },
        examples={
            "tune --config small --dry-run": "what it would do, in hours and disk",
            "tune --config small --trials 8": "then `--config out/tuned.yaml` compares tuned methods",
            "tune --methods pmq moco --trials 16": "a longer search keeps the trials of a shorter one",
        },
    ),
    "export": Verb(
        "write an encoder as a folder: weights, config, model card",
        "benchmark.cli.export:export",
        {
            "--seed": Flag(
                WHICH_ENCODER, "seed of its pretraining, where a row has several", how={"type": seed, "metavar": "N"}
            ),
            "--to": Flag(WHAT_IS_WRITTEN, "the folder", how={"type": folder, "metavar": "FOLDER"}),
            **shared("--results", "--code"),
        },
        word="NAME",
        word_help="a row of the tables, e.g. pmq or 'pmq:w/o queue', or the key of a pretraining",
        examples={
            "export pmq --to pmq": "the encoder of a row, with its model card",
            "export random --seed 41 --to untrained": "one of several pretrainings of a row",
        },
    ),
    "embed": Verb(
        "compute embeddings of recordings or of a dataset with an exported encoder",
        "benchmark.cli.embed:embed",
        {
            "--encoder": Flag(
                WHAT_IS_EMBEDDED,
                "the folder that `export` wrote",
                how={"type": folder, "metavar": "FOLDER", "dest": "folder"},  # `encoder` is the config's
            ),
            "--rate": Flag(WHAT_IS_EMBEDDED, "sampling rate of a .npy, Hz", how={"type": positive, "metavar": "HZ"}),
            **shared("--leads"),
            "--out": Flag(
                WHAT_IS_WRITTEN,
                "the table, .parquet; or .npy, with a .csv beside it that says whose each row is",
                how={"type": file_to_write, "metavar": "FILE"},
            ),
            "--per-window": switch(WHAT_IS_WRITTEN, "a row per window instead of one per recording"),
            **shared(*DATA, *CONFIG, "--cache", "--device", "--workers", "--code"),
        },
        word="RECORDINGS|DATASET",
        word_help="WFDB records or folders of them; a .npy of (n, samples, leads); or the name of a dataset",
        several=True,
        examples={
            "embed recordings/ --encoder pmq --out features.parquet": "every WFDB record in a folder",
            "embed mine.npy --rate 500 --leads I II V1 V5 --encoder pmq --out features.npy": ("an array of one's own"),
            "embed ptb-xl --data-root /data --encoder pmq --out features.parquet": "a dataset, its splits and labels",
        },
    ),
    "list": Verb(
        "list methods, datasets, tasks, configs, evaluations and ablations",
        "benchmark.cli.look:list_all",
        examples={"list": "what there is"},
    ),
    "data check": Verb(
        "prepare and audit every dataset, and report what a run would refuse",
        "benchmark.cli.data:check",
        shared(*WHOSE, "--tasks", "--labels", "--protocol", *SIGNALS, "--cache", "--workers"),
        examples={"data check --data-root /data": "leaks, copies, damaged files, before a run"},
    ),
    "data show": Verb(
        "draw a recording as a 12-lead sheet with the heartbeats found",
        "benchmark.cli.data:show",
        shared(*WHOSE, *SIGNALS, "--out"),
        word="RECORDING",
        word_help="its name, e.g. A0001",
        examples={"data show A0001 --datasets cpsc2018": "one recording, drawn"},
    ),
    "data download": Verb(
        "fetch datasets from PhysioNet's open releases, verified",
        "benchmark.extras.download:download",
        {
            "--subset": Flag(
                WHAT, "part of a dataset: paper (what the paper uses), all, records100", how={"metavar": "NAME"}
            ),
            **shared(*DATA),
            "--from": Flag(WHERE, "the home: physionet (default) or aws", how={"metavar": "NAME"}),
            "--connections": Flag(HOW, "at a time, 1 to 8 (4)", how={"type": count, "metavar": "N"}),
            "--verify": switch(HOW, "read and compare what is there"),
            **shared("--dry-run"),
        },
        word="DATASET",
        word_help="mimic-iv-ecg, ptb-xl, chapman, cpsc2018 or ningbo; several are fetched one after the other",
        several=True,
        examples={
            "data download ptb-xl --data-root /data": "a dataset, verified",
            "data download mimic-iv-ecg --subset paper --data-root /data": "the tenth that the paper uses",
        },
        known=Known("dataset", tuple(DATASETS), other=""),
    ),
    "data new-card": Verb(
        "look at a folder of your own ECGs and write a first card for it (docs/OWN_DATA.md)",
        "benchmark.extras.new_card:new_card",
        {"--card": Flag(WRITTEN, "the card (FOLDER/NAME.yaml)", how={"type": file_to_write, "metavar": "FILE"})},
        word="FOLDER",
        word_help="folder of the ECG files, with their table if there is one",
        examples={"data new-card ./my-ecgs": "a card to begin with"},
    ),
    "speed": Verb(
        "time this machine against plain implementations",
        "benchmark.extras.speed:speed",
        {
            **shared(*CONFIG, *GRID, *DATA, *COMPUTE),
            "--quick": switch(HOW, "measure at small sizes: a minute instead of many"),
        },
        examples={"speed --config laptop": "how fast this machine is"},
    ),
    "check": Verb(
        "test a method or an encoder, or one defined in a file, against its contract",
        "benchmark.cli.check:check",
        word="NAME|FILE",
        word_help="a method or an encoder of `list`, or a .py file that defines one",
        known=Known("method or encoder", (*METHOD.names, *ENCODER.names)),
        examples={"check ./mine.py": "what a method or an encoder of one's own has to hold to"},
    ),
}
"""In the order of the help. The first is the default; so is the first of a group (`data`) within it."""
