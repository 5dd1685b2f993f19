"""argv: what each flag sets, and one line for everything that cannot be meant."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import torch

from benchmark.config import command_line as cli
from benchmark.config.command_line import VERBS, parse
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config

WRONG = [
    (["bogus"], "unknown verb 'bogus'; there are: run, report, list"),
    (["reprot"], "unknown verb 'reprot' (did you mean 'report'?)"),
    (["run", "report"], "unrecognized arguments: report"),
    (["data", "chek"], "unknown action of `data` 'chek' (did you mean 'check'?); there are: check, summary, show"),
    (["data", "check", "A0001"], "unrecognized arguments: A0001"),
    (["data", "show"], "data show: which recording?"),
    (["data", "show", "A0001", "A0002"], "unrecognized arguments: A0002"),
    (["check-method"], "check-method: which method?"),
    (["check-method", "pmq", "moco"], "unrecognized arguments: moco"),
    (["--ablate", "w/o queu"], "unknown ablation 'w/o queu' (did you mean 'pmq:w/o queue'?)"),
    (["--methods", "moco", "--ablations"], "ablate: no compared method has an ablation; compare pmq too"),
    (["--queue-sizes", "-1"], "methods.pmq: queue_size = -1: give a number at least 0"),
    (["--queue-sizes", "many"], "argument --queue-sizes: invalid int value: 'many'"),
    (["--methods", "pmqq"], "unknown method 'pmqq': did you mean 'pmq'?"),
    (["--methods", "missing.py"], "missing.py does not exist"),
    (["--methods"], "argument --methods: expected at least one argument"),
    (["--datasets", "ptbxl"], "unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)"),
    (["--pretrain-dataset", "mimic"], "unknown dataset 'mimic'"),
    (["--config", "papr"], "unknown config 'papr' (did you mean 'paper'?)"),
    (["--set", "pretrain.epoch=3"], "unknown config key 'pretrain.epoch' (did you mean 'pretrain.epochs'?)"),
    (["--set", "pretrain.epochs"], "--set 'pretrain.epochs' is not KEY=VALUE"),
    (["--set", "=3"], "--set '=3' is not KEY=VALUE"),
    (["--set", "ratios=[0.5"], "--set: '[0.5' is not a YAML value"),
    (["--ratios", "0"], "ratios.0: input should be greater than 0, got 0.0"),
    (["--ratios", "0.5", "1.5"], "ratios.1: input should be less than or equal to 1, got 1.5"),
    (["--ratios", "half"], "argument --ratios: invalid float value: 'half'"),
    (["--ratios", "nan"], "ratios.0"),
    (["--ratios", "0.1", "0.1"], "ratios: [0.1, 0.1] names a value twice"),
    (["--seeds", "one"], "argument --seeds: invalid int value: 'one'"),
    (["--seeds", "-1"], "seeds.0: input should be greater than or equal to 0, got -1"),
    (["--seeds", "1", "1"], "seeds: [1, 1] names a value twice"),
    (["--protocol", "loose"], "protocol: input should be 'paper' or 'strict', got 'loose'"),
    (["--labels", "many"], "data.labels: input should be 'single' or 'multi', got 'many'"),
    (["--evaluate", "probe"], "evaluate.0: input should be 'finetune' or 'linear', got 'probe'"),
    (["--preset", "own"], "pretrain.preset: input should be 'unified' or 'paper', got 'own'"),
    (["--precision", "fp16"], "precision: input should be 'auto', 'float32' or 'bf16', got 'fp16'"),
    (["--data", "ptb-xl"], "--data 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
    (["--data", "ptb-xl="], "--data 'ptb-xl=' is not NAME=DIR"),
    (
        ["--data", "ptb=/x"],
        "--data: unknown dataset 'ptb' (did you mean 'ptb-xl'?); there are: mimic-iv-ecg, ptb-xl, chapman, cpsc2018",
    ),
    (["--workers", "0"], "--workers 0 is not a count; use 1 or more"),
    (["--workers", "two"], "argument --workers: invalid int value: 'two'"),
    (["--jobs-per-device", "-1"], "--jobs-per-device -1 is not a count; use 1 or more"),
    (["report", "--unit", "beat"], "argument --unit: invalid choice: 'beat'"),
    (["check-encoder"], "check-encoder: which encoder?"),
    (["check-encoder", "dilated", "resnet1d"], "unrecognized arguments: resnet1d"),
    (["--encoder", "resnet"], "unknown encoder 'resnet': did you mean 'resnet1d'?"),
    (["--method", "pmq"], "unrecognized arguments: --method"),  # no abbreviation: a flag means one thing
]


@pytest.mark.parametrize(("argv", "message"), WRONG, ids=[" ".join(argv) for argv, _ in WRONG])
def test_a_wrong_command_is_one_line(argv: list[str], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(argv)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_jobs_at_all_is_refused() -> None:
    with pytest.raises(ConfigError, match="--jobs-per-device 0 is not a count"):
        parse(["--jobs-per-device", "0"])


@pytest.mark.parametrize("device", ["nonsense", "mps", "cuda:99"])
def test_a_device_that_is_not_there_is_refused(device: str) -> None:
    with pytest.raises(ConfigError, match=f"--device '{device}'"):
        parse(["--device", device])


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_takes_the_same_flags(verb: str) -> None:
    subject = {"check-method": ["pmq"], "check-encoder": ["dilated"]}.get(verb, [])
    command = parse([verb, *subject, "--results", "r", "--out", "o", "--unit", "both"])
    assert (command.verb, command.place.results, command.place.out, command.unit) == (
        verb,
        Path("r"),
        Path("o"),
        "both",
    )


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("data", ("data", "check", "")),
        ("data summary --out o", ("data", "summary", "")),
        ("--out o data show A1", ("data", "show", "A1")),
        ("data --datasets ptb-xl --out o show A1", ("data", "show", "A1")),
        ("check-encoder --out o mine.py", ("check-encoder", "", "mine.py")),
    ],
)
def test_words_may_stand_among_flags(words: str, meant: tuple[str, str, str]) -> None:
    command = parse(words.split())
    assert (command.verb, command.action, command.subject) == meant


def test_datasets_named_by_flags_are_told_from_those_of_the_config() -> None:
    assert parse([]).asked == ()
    named = parse(["--datasets", "chapman", "ptb-xl", "--pretrain-dataset", "ptb-xl"])
    assert named.asked == ("ptb-xl", "chapman")


def test_a_leak_is_allowed_by_its_flag_alone() -> None:
    assert not parse([]).allow_leak
    assert parse(["--allow-leak"]).allow_leak


def test_a_bare_command_is_the_demo_here() -> None:
    command = parse([])
    assert (command.verb, command.dry_run, command.unit) == ("run", False, None)
    assert command.config == load_config("demo")
    place = command.place
    assert (place.results, place.out, place.cache) == (Path("runs"), Path("out"), Path("cache"))
    assert (place.data_root, place.paths, place.workers) == (None, {}, os.cpu_count())


def test_flags_set_the_config() -> None:
    line = (
        "--config paper --methods pmq moco --datasets chapman ptb-xl --pretrain-dataset cpsc2018 --ratios 0.5 1 "
        "--seeds 1 2 --protocol strict --labels multi --evaluate linear finetune --preset unified --precision bf16 "
        "--compile"
    )
    config = parse(line.split()).config
    assert (config.name, config.compare) == ("paper", ["pmq", "moco"])
    assert (config.data.datasets, config.data.pretrain) == (["chapman", "ptb-xl"], "cpsc2018")
    assert (config.ratios, config.seeds) == ([0.5, 1.0], [1, 2])
    assert (config.protocol, config.data.labels, config.evaluate) == ("strict", "multi", ["linear", "finetune"])
    assert (config.pretrain.preset, config.precision, config.compile) == ("unified", "bf16", True)


def test_set_reaches_any_knob_and_is_laid_over_the_flags() -> None:
    config = parse(
        ["--ratios", "0.3", "--set", "ratios=[0.5]", "methods.pmq.momentum=0.5", "--set", "pretrain.recipe.lr=1e-4"]
    ).config
    assert config.ratios == [0.5]
    assert config.pretrain.recipe.lr == 1e-4
    assert config.method_config("pmq").momentum == 0.5  # type: ignore[attr-defined]


def test_an_encoder_is_chosen_by_its_flag_and_its_knobs_by_set() -> None:
    argv = ["--config", "demo", "--set", "encoder.output=32", "--encoder", "resnet1d"]
    assert parse(argv).config.encoder == {"name": "resnet1d", "output": 32}


def test_a_value_may_hold_an_equals_sign() -> None:
    assert parse(["--set", "caption=a=b"]).config.caption == "a=b"
    assert parse(["--data", "ptb-xl=/a=b"]).place.paths == {"ptb-xl": Path("/a=b")}


@pytest.mark.parametrize("flag", [["--data-root", "/data"], ["--data", "ptb-xl=/x", "chapman=~/y"]])
def test_a_folder_of_real_data_ends_the_simulation(flag: list[str]) -> None:
    assert parse([]).config.data.simulation is not None
    assert parse(flag).config.data.simulation is None


def test_folders_of_datasets_add_up() -> None:
    place = parse(["--data", "ptb-xl=/x", "--data", "chapman=~/y", "--data-root", "/z"]).place
    assert place.paths == {"ptb-xl": Path("/x"), "chapman": Path.home() / "y"}
    assert place.data_root == Path("/z")


def test_the_place_is_no_part_of_the_config() -> None:
    elsewhere = "--results r --out o --cache c --workers 3 --jobs-per-device 7 --device cpu --dry-run"
    command = parse(elsewhere.split())
    assert command.config == parse([]).config
    assert (command.place.workers, command.place.jobs, command.dry_run) == (3, 7, True)


def test_cells_at_a_time_follow_the_device(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {0, 1, 2}, raising=False)
    assert parse(["--device", "cpu"]).place.jobs == 3
    monkeypatch.setattr(cli, "pick_device", lambda name: torch.device("cuda"))
    assert parse(["--device", "cuda"]).place.jobs == 1


def test_a_system_without_affinity_counts_its_cores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    assert parse([]).place.jobs == os.cpu_count()


def test_help_names_every_verb(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    assert [verb for verb in VERBS if verb not in shown] == []
