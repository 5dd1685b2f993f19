"""The config of a run; where a preset is `tuned`, with the knobs that `tune` chose."""

from __future__ import annotations

import shlex
from argparse import Namespace

from benchmark.config.command_line.values import config_of
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.results.names import command
from benchmark.results.tuned import Tuning
from benchmark.run.tuning.chosen import PRESET, changes, found_tunings, search_words, with_chosen
from benchmark.screen.console import Console, note

SAME = (
    "--config", "--set", "--methods", "--encoder", "--datasets", "--pretrain-dataset", "--protocol", "--labels",
    "--preset", "--data-root", "--data", "--results",
)  # fmt: skip
"""Flags of a run that say what is tuned, and where the data and results are."""


def tuned_config(arguments: Namespace, console: Console) -> tuple[Config, tuple[Tuning, ...]]:
    """The config of the flags, and the tunings that its knobs are from; none where no preset is `tuned`.

    Raises ConfigError if a tuning is missing.
    """
    config = config_of(arguments)
    if config.pretrain.tuned:
        raise ConfigError("pretrain.tuned is filled in from what `tune` found; leave it out")
    if PRESET not in (config.pretrain.preset, *config.pretrain.presets):
        return config, ()
    if config.encoders:
        raise ConfigError("preset tuned: the knobs are those of one encoder, and several are named; name one")
    tunings = found_tunings(config, arguments.results, command_of(arguments))
    if tunings:
        note(console, f"preset tuned: per method {search_words(tunings[0])}, judged on validation patients")
    for tuning in tunings:
        note(console, f"  {tuning.method}: {changes(tuning)}")
    return with_chosen(config, tunings), tuple(tunings)


def command_of(arguments: Namespace) -> str:
    """The `tune` command with the flags of a run that `tune` takes too."""
    words = [*command().split(), "tune"]
    for flag in SAME:
        value = vars(arguments)[flag[2:].replace("-", "_")]
        if value in (None, []):
            continue
        given = value if isinstance(value, list) else [value]
        words += [flag, *map(str, given[:1] if flag == "--preset" else given)]  # the search has no further presets
    return shlex.join(words)
