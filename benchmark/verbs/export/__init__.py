"""The verb `export`: an encoder of the store, or a published checkpoint, as a folder that stands for itself."""

from __future__ import annotations

from argparse import Namespace

from benchmark.config.command_line.flags import shared
from benchmark.config.command_line.numbers import seed
from benchmark.config.command_line.paths import file_to_read, folder
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.config.errors import ConfigError
from benchmark.screen.console import Console, note

WHICH_ENCODER, WHAT_IS_WRITTEN = "which encoder", "what is written"


def export(arguments: Namespace, console: Console) -> int:
    """Write the folder and say what is in it. Raises ConfigError in one line, NoResults where the store has no run."""
    from benchmark.verbs.export.write import export_found, export_released  # here, because torch loads slowly

    if arguments.to is None:
        raise ConfigError("`export` needs --to FOLDER, e.g. `export pmq --to pmq`")
    if (arguments.word is None) == (arguments.released is None):
        raise ConfigError("`export` takes either NAME, a row of the tables, or --released FILE, a published checkpoint")
    if arguments.released is not None and (arguments.seed is not None or arguments.code is not None):
        raise ConfigError("--released FILE takes neither --seed nor --code")
    if arguments.released is not None:
        lines = export_released(arguments.released, arguments.to, onnx=arguments.onnx)
    else:
        lines = export_found(
            arguments.results,
            arguments.word,
            arguments.to,
            seed=arguments.seed,
            code=arguments.code,
            onnx=arguments.onnx,
        )
    for line in lines:
        note(console, line)
    return OK


EXPORT = Verb(
    "an encoder as a folder of its own: weights, config, model card, ONNX",
    export,
    {
        "--seed": Flag(
            WHICH_ENCODER, "seed of its pretraining, where a row has several", how={"type": seed, "metavar": "N"}
        ),
        "--released": Flag(
            WHICH_ENCODER,
            "a checkpoint published by the authors of PMQ or COMET",
            how={"type": file_to_read, "metavar": "FILE"},
        ),
        "--to": Flag(WHAT_IS_WRITTEN, "the folder", how={"type": folder, "metavar": "FOLDER"}),
        "--onnx": Flag(
            WHAT_IS_WRITTEN,
            "encoder.onnx too, checked by onnxruntime; needs the extra `onnx`",
            how={"action": "store_true"},
        ),
        **shared("--results", "--code"),
    },
    word="NAME",
    word_help="a row of the tables, e.g. pmq or 'pmq:w/o queue', or the key of a pretraining",
    word_needed=False,
    examples={
        "export pmq --to pmq": "the encoder of a row, with its model card",
        "export pmq --to pmq --onnx": "and as ONNX",
        "export random --seed 41 --to untrained": "one of several pretrainings of a row",
        "export --released checkpoint.pth --to theirs": "published weights",
    },
)
