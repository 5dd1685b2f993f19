"""The verb `data`: download, summarise, audit and draw datasets before a run. Implemented in `download` and `look`."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from benchmark.config.command_line.flags import CONFIG, DATA, HOW, SIGNALS, WHAT, WHERE, shared
from benchmark.config.command_line.numbers import count
from benchmark.config.command_line.paths import file_to_read
from benchmark.config.command_line.values import config_of, place_of, words_of
from benchmark.config.command_line.verb import FAILED, OK, Flag, Known, Verb
from benchmark.results.names import DATASETS
from benchmark.screen.console import Console, note

if TYPE_CHECKING:
    from benchmark.verbs.data.look import DataCommand


def command_of(arguments: Namespace) -> DataCommand:
    """The command from its flags. Raises ConfigError."""
    from benchmark.config.cards import names_of  # here, because the readers load slowly
    from benchmark.verbs.data.look import DataCommand

    return DataCommand(
        config=config_of(arguments),
        asked=tuple(dict.fromkeys(names_of(words_of(arguments)))),
        place=place_of(arguments),
        subject=vars(arguments).get("word", ""),
    )


def check(arguments: Namespace, console: Console) -> int:
    """`data check`."""
    from benchmark.verbs.data.look import print_check

    return OK if print_check(command_of(arguments), console) else FAILED


def summary(arguments: Namespace, console: Console) -> int:
    """`data summary`."""
    from benchmark.verbs.data.look import print_summary

    return OK if print_summary(command_of(arguments), console) else FAILED


def show(arguments: Namespace, console: Console) -> int:
    """`data show`: draw one recording as a 12-lead sheet."""
    from benchmark.verbs.data.look import look_up
    from reports.figures.draw import twelve_lead_sheet

    found = look_up(command_of(arguments), console)
    path = arguments.out / found.file_name
    twelve_lead_sheet(found.signal, found.fs, found.title, found.r_peaks, path)
    note(console, f"wrote {path}")
    return OK


def download(arguments: Namespace, console: Console) -> int:
    """`data download`."""
    from benchmark.verbs.data.download import orders_of, print_downloads

    return print_downloads(orders_of(arguments), dry_run=arguments.dry_run, console=console)


WHOSE = (*CONFIG, "--datasets", "--pretrain-dataset", *DATA)
"""Flags that select and locate datasets."""
CHECK = Verb(
    "prepare and audit every dataset, and say whether a run would refuse it",
    check,
    shared(*WHOSE, "--tasks", "--labels", "--protocol", *SIGNALS, "--cache", "--workers"),
    examples={"data check --data-root /data": "leaks, copies, damaged files, before a run"},
)
SUMMARY = Verb(
    "what every dataset holds, without reading a signal",
    summary,
    shared(*WHOSE, "--protocol", *SIGNALS, "--cache"),
    examples={"data summary --data-root /data": "what the datasets hold"},
)
SHOW = Verb(
    "draw a recording as a 12-lead sheet with the heartbeats found",
    show,
    shared(*WHOSE, *SIGNALS, "--out"),
    word="RECORDING",
    word_help="its name, e.g. A0001",
    examples={"data show A0001 --datasets cpsc2018": "one recording, drawn"},
)
DOWNLOAD = Verb(
    "fetch datasets from their public homes, resumed and verified",
    download,
    {
        "--subset": Flag(
            WHAT, "part of a dataset: paper (what the paper uses), all, records100", how={"metavar": "NAME"}
        ),
        "--patients": Flag(WHAT, "the first so many patients alone", how={"type": count, "metavar": "N"}),
        **shared(*DATA),
        "--from": Flag(WHERE, "one home alone: physionet, aws or figshare", how={"metavar": "NAME"}),
        "--mirrors": Flag(
            WHERE, "another file of homes; docs/DOWNLOAD.md has its form", how={"type": file_to_read, "metavar": "FILE"}
        ),
        "--connections": Flag(HOW, "at a time, 1 to 8 (4)", how={"type": count, "metavar": "N"}),
        "--verify": Flag(HOW, "read and compare what is there, also if it was before", how={"action": "store_true"}),
        **shared("--dry-run"),
    },
    word="DATASET",
    word_help="mimic-iv-ecg, ptb-xl, chapman, cpsc2018 or ningbo; several are fetched one after the other",
    several=True,
    examples={
        "data download ptb-xl --data-root /data": "a dataset, verified",
        "data download mimic-iv-ecg --subset paper --data-root /data": "the tenth that the paper uses",
    },
    known=Known("dataset", DATASETS, other=""),
)
