"""The verb `embed`: recordings in, a table of embeddings out."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import CONFIG, DATA, shared
from benchmark.config.command_line.numbers import positive
from benchmark.config.command_line.paths import file_to_write, folder
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.config.errors import ConfigError
from benchmark.screen.console import Console, note
from benchmark.verbs.export import WHAT_IS_WRITTEN

WHAT_IS_EMBEDDED = "what is embedded, and by what"


def embed(arguments: Namespace, console: Console) -> int:
    """Write the table and say how many recordings have no embedding. Raises ConfigError, DatasetError."""
    for flag, value in (("--encoder", arguments.folder), ("--out", arguments.out)):
        if value is None:
            raise ConfigError(f"`embed` needs {flag}, e.g. `embed recordings/ --encoder pmq --out features.parquet`")
    from benchmark.verbs.embed.table import check_out  # here, because torch loads slowly

    check_out(arguments.out)
    from benchmark.verbs.embed.recordings import write_embeddings

    for line in write_embeddings(arguments, console):
        note(console, line)
    return OK


EMBED = Verb(
    "embeddings of recordings or of a dataset, by an exported encoder",
    embed,
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
        "--per-window": Flag(
            WHAT_IS_WRITTEN, "a row per window instead of one per recording", how={"action": "store_true"}
        ),
        **shared(*DATA, *CONFIG, "--cache", "--device", "--workers", "--code"),
    },
    word="RECORDINGS|DATASET",
    word_help="WFDB records or folders of them; a .npy of (n, samples, leads); or the name of a dataset",
    several=True,
    examples={
        "embed recordings/ --encoder pmq --out features.parquet": "every WFDB record in a folder",
        "embed mine.npy --rate 500 --leads I II III aVR aVL aVF V1 V2 V3 V4 V5 V6 --encoder pmq --out features.npy": (
            "an array of one's own"
        ),
        "embed ptb-xl --data-root /data --encoder pmq --out features.parquet": "a dataset, with its splits and labels",
    },
)
