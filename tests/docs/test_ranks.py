"""The commands of docs/MACHINES.md: torchrun takes its own part of each, and `run_benchmark.py` the rest."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from torch.distributed.run import parse_args

from benchmark.cli import VERBS
from benchmark.config.command_line import parse, refuse_unknown
from benchmark.config.flags import config_of
from tests.docs.pages import text_of

ROOT = Path(__file__).resolve().parents[2]
COMMANDS = re.findall(r"^torchrun (.*)$", text_of("MACHINES.md", "## Pretraining on several devices"), re.MULTILINE)
SETTINGS = ("pretrain.batch_norm=per-rank", "methods.moco.head=v2", "methods.moco.predictor=false")


def test_there_are_commands() -> None:
    assert COMMANDS


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_is_understood(command: str) -> None:
    given = parse_args(shlex.split(command))
    assert given.training_script == "run_benchmark.py"
    assert int(given.nproc_per_node) == 2
    verb, arguments = parse(VERBS, given.training_script_args)
    refuse_unknown(verb, arguments)
    assert config_of(arguments).methods == ["pmq", "moco"]


def test_the_settings_that_the_page_names_are_taken() -> None:
    page = text_of("MACHINES.md", "## Pretraining on several devices")
    assert all(setting in page for setting in SETTINGS)
    _, arguments = parse(VERBS, [word for setting in SETTINGS for word in ("--set", setting)])
    config = config_of(arguments)
    assert config.pretrain.batch_norm == "per-rank"
    assert (config.knobs["moco"]["head"], config.knobs["moco"]["predictor"]) == ("v2", False)
