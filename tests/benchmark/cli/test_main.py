"""argv to a command, its flags, config and machine: what is meant, what is refused in one line, the help."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from pkgutil import resolve_name

import pytest
import torch

from benchmark.cli.commands import COMMANDS
from benchmark.cli.main import SIZES_BY_RECORDINGS, USAGE, config_of, machine_of, parse
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config
from run_benchmark import main

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MY_METHOD = "import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'my_method'\n    title = 'Mine'\n"
CARD = "name: {}\nsignals: {{files: '{{recording}}.hea'}}\ntable: {{file: labels.csv, recording: id, patient: who}}\n"
LABELS = "labels: {column: rhythm, classes: [SR, AF]}\n"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tun", "unknown command 'tun' (did you mean 'tune'?); there are: run, status,"),
        ("run --methds pmq", "unknown flag of `run` '--methds' (did you mean '--methods'?)"),
        ("--workers 3 tune", "`run` takes no 'tune'; write it behind its flag, and a command before all flags"),
        ("export pmq", "the following arguments are required: --to"),
        (
            "--protocol stric",
            "argument --protocol: unknown choice 'stric' (did you mean 'strict'?); there are: paper, strict",
        ),
        ("--seeds 1,2", "argument --seeds: invalid int value: '1,2': separate several by spaces"),
        ("--workers 0", "argument --workers: '0' is not a whole number of 1 or more"),
        ("--engine slrum", "argument --engine: 'slrum' is neither local nor tcp://HOST:PORT"),
        ("check --jobs 2", "unknown flag of `check` '--jobs'; there are: none"),
        ("--set pretrain.epochs", "--set 'pretrain.epochs' is not KEY=VALUE"),
        ("--data ptb-xl", "argument --data: 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
        ("--device cuda:300", "--device 'cuda:300' is not supported; use auto, cpu, cuda or cuda:N"),
        ("tune --methods random", "random trains nothing"),
        ("embed x --encoder y --out f.txt", "--out f.txt: .txt is no form of a table; use .parquet, .csv, .npy"),
        ("report --compare a b --beside pmq", "--compare takes none of --results, --archive, --beside"),
        ("report --weights", "--weights stands beside --archive FILE"),
    ],
)
def test_what_cannot_be_meant_is_one_line_before_any_work(
    line: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(line.split()) == USAGE
    shown = capsys.readouterr()
    assert (shown.out, shown.err.count("\n"), shown.err[:7]) == ("", 1, "error: ")
    assert message in shown.err
    assert list(tmp_path.iterdir()) == []


def help_of(argv: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(argv)
    assert ended.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("name", COMMANDS)
def test_examples_of_a_commands_help_are_valid(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    command = COMMANDS[name]
    shown = help_of([*name.split(), "--help"], capsys).partition("\nexamples:\n")[0]
    flags = {*command.flags, *command.further} - {"word"}
    assert set(re.findall(r"^  (--[a-z-]+)", shown, re.MULTILINE)) == flags
    for line in command.examples:
        assert parse(shlex.split(line, comments=True))[0] == name
    assert callable(resolve_name(command.function))


def commands_of(text: str) -> Iterator[list[str]]:
    """Each `python run_benchmark.py ...` of a document, in a block or inline, without its comment."""
    for command in re.findall(r"python run_benchmark\.py([^`]*?)(?:`|\n(?! ))", text.replace("\\\n", " ")):
        yield shlex.split(command, comments=True)


def test_the_commands_of_the_documents_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_method.py").write_text(MY_METHOD)  # the file that CONTRIBUTING.md names
    Path("docs").symlink_to(ROOT / "docs")  # METHODS.md names its examples
    for file in (ROOT / "docs" / "elsewhere" / "theirs.py", *(ROOT / "docs" / "released").glob("*.py")):
        Path(file.name).symlink_to(file)
    made = set()
    for words in (words for path in DOCUMENTS for words in commands_of(path.read_text())):
        for card in (Path(word) for word in words if word.endswith(".yaml") and word[:5] != "docs/"):
            card.parent.mkdir(exist_ok=True)
            tuned = card.stem == "tuned"  # what `tune` writes; the others are cards of own data
            card.write_text("methods: [pmq]" if tuned else CARD.format(card.stem) + LABELS)
        name, arguments = parse(words)
        if "--config" in COMMANDS[name].flags and str(arguments) not in made:
            made.add(str(arguments))
            assert config_of(arguments).methods, words


def config_from(line: str) -> Config:
    return config_of(parse(line.split())[1])


def test_folders_are_no_part_of_the_config() -> None:
    assert config_from("--results r --cache c --workers 3 --jobs 7 --device cpu") == load_config("demo")


def test_set_overrides_other_flags() -> None:
    config = config_from(
        "--config paper --methods pmq moco --datasets chapman ptb-xl --pretrain-dataset cpsc2018 --ratios 0.5 1 "
        "--seeds 1 2 --protocol strict --labels multi --evaluate linear finetune --preset unified --precision bf16 "
        "--baselines none --ablations --queue-sizes 64 256 --segmentation recordings --encoder resnet1d --leads 2 "
        "--set ratios=[0.5] methods.pmq.momentum=0.5 data.segmentation.seconds=2.5 "
        "encoder.output=32"
    )
    assert (config.name, config.methods, config.baselines, config.ablate) == ("paper", ["pmq", "moco"], [], ["all"])
    assert (config.data.datasets, config.data.pretrain) == (["chapman", "ptb-xl"], "cpsc2018")
    assert config.sweeps["pmq"] == {"queue_size": [64, 256]}
    assert (config.ratios, config.seeds) == ([0.5], [1, 2])
    assert (config.protocol, config.data.labels, config.evaluate) == ("strict", "multi", ["linear", "finetune"])
    assert (config.pretrain.preset, config.precision) == ("unified", "bf16")
    assert (config.data.cut().kind, config.data.cut().seconds) == ("recordings", 2.5)
    assert config.encoder == {"name": "resnet1d", "output": 32}
    assert config.data.leads == ["I", "II"]
    assert config.method_config("pmq").momentum == 0.5  # type: ignore[attr-defined]


@pytest.mark.parametrize(("recordings", "size"), [(3, SIZES_BY_RECORDINGS[0]), (2_500, SIZES_BY_RECORDINGS[1])])
def test_own_data_without_a_config_get_one_by_their_size(
    recordings: int, size: tuple[float, dict[str, int], int], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    card = {
        "name": "ours",
        "signals": {"files": "{recording}.hea"},
        "table": {"file": "labels.csv", "recording": "id", "patient": "who"},
        "labels": {"column": "rhythm", "classes": ["SR", "AF"]},
    }
    (tmp_path / "ours.yaml").write_text(json.dumps(card))
    lines = [f"r{n},p{n},{'AF' if n % 2 else 'SR'}" for n in range(recordings)]
    (tmp_path / "labels.csv").write_text("\n".join(["id,who,rhythm", *lines]))
    for n in range(recordings):
        (tmp_path / f"r{n}.hea").touch()
    datasets = f"--datasets {tmp_path / 'ours.yaml'}"
    config = config_from(datasets)
    shown = " ".join(capsys.readouterr().out.split())
    assert shown.startswith("config own, as no --config is named: encoder dilated with hidden ")
    assert f"{size[2]} epochs of PMQ, or as many encoder passes of another method, for {recordings} recordings" in shown
    assert (config.name, config.data.pretrain, config.protocol) == ("own", "ours", "strict")
    assert config.data.folds == (5 if recordings < 500 else None)
    assert ("5 parts" in shown) == (recordings < 500)
    assert config_from(f"{datasets} --set data.folds=null").data.folds is None
    assert config_from(f"{datasets} --protocol paper").data.folds is None
    assert config.encoder.items() >= size[1].items()
    assert (config.pretrain.epochs, len(config.seeds)) == (size[2], 5)
    other = config_from(f"{datasets} --encoder resnet1d --set pretrain.epochs=2")
    assert (other.encoder, other.pretrain.epochs) == ({"name": "resnet1d", "output": 128}, 2)
    assert config_from(f"--config demo {datasets} --pretrain-dataset {tmp_path / 'ours.yaml'}").name == "demo"


@pytest.mark.parametrize(
    ("there", "visible", "line", "expected"),
    [
        (2, "", "", (1, ())),
        (2, "", "--devices 0 1", (2, ("0", "1"))),
        (2, "4,7", "--devices 1", (1, ("7",))),
        (0, "", "--devices 0", "--devices 0: name devices once each; torch sees none"),
        (2, "", "--devices 0 0", "--devices 0 0: name devices once each"),
        (
            0,
            "",
            "--engine tcp://a:1 --devices 0",
            "--devices needs --engine local; elsewhere start a worker for each GPU",
        ),
        (0, "", "--engine s.json --device cuda", "--engine s.json: name what the workers compute on and in"),
    ],
)
def test_devices_count_among_the_visible_ones(
    there: int, visible: str, line: str, expected: str | tuple[int, tuple[str, ...]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "device_count", lambda: there)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: there > 0)
    monkeypatch.setattr(torch.cuda, "is_bf16_supported", lambda including_emulation: True)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    _, arguments = parse([*line.split(), "--precision", "auto"])
    if isinstance(expected, str):
        with pytest.raises(ConfigError, match=expected):
            machine_of(arguments, config_of(arguments))
        return
    machine = machine_of(arguments, config_of(arguments))
    assert (machine.jobs, machine.devices) == expected
    assert (machine.device.type, machine.precision) == ("cuda", "bf16")
