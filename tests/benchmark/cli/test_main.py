"""argv to a command and its flags: what is meant, what is refused in one line, what the help shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from benchmark.cli.arguments import config_of
from benchmark.cli.commands import COMMANDS
from benchmark.cli.main import USAGE, parse
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
        ("--workers 3 tune", "`run` takes no 'tune'; a command comes before its flags"),
        ("export pmq", "the following arguments are required: --to"),
        ("--protocol stric", "argument --protocol: invalid choice: 'stric' (choose from 'paper', 'strict')"),
        ("--seeds 1,2", "argument --seeds: invalid int value: '1,2': separate several by spaces"),
        ("--ratios 30%", "argument --ratios: invalid float value: '30%': write a share, 0.3"),
        ("--workers 0", "argument --workers: '0' is not a whole number of 1 or more"),
        ("--scores f2", "argument --scores: no further score 'f2'; there are auprc,"),
        ("--engine slrum", "argument --engine: 'slrum' is neither local nor tcp://HOST:PORT"),
        ("--set pretrain.epochs", "--set 'pretrain.epochs' is not KEY=VALUE"),
        ("--config dmo", "unknown config 'dmo' (did you mean 'demo'?); there are: demo, laptop"),
        ("--data ptb-xl", "--data 'ptb-xl' is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl"),
        ("--device nonsense", "--device 'nonsense' is not supported; use auto, cpu, cuda or cuda:N"),
        (
            "--data ptb-xl=nowhere --pretrain-dataset ptb-xl",
            "PTB-XL: no folder nowhere: use --data-root DIR or --data ptb-xl=DIR. Get PTB-XL",
        ),
        ("tune --methods random", "random trains nothing"),
        ("embed x --encoder y --out f.txt", "--out f.txt: .txt is no form of a table; use .parquet, .csv, .npy"),
        ("report --compare a b --beside pmq", "--compare takes none of --results, --archive, --beside"),
        ("--config paper --dry-run", "use --data-root DIR or --data mimic-iv-ecg=DIR"),
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
def test_a_commands_help_shows_its_flags_and_its_examples_are_taken(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    command = COMMANDS[name]
    shown = help_of([*name.split(), "--help"], capsys).partition("\nexamples:\n")[0]
    flags = {*command.flags, *command.further} - {"word"}
    assert set(re.findall(r"^  (--[a-z-]+)", shown, re.MULTILINE)) == flags
    for line in command.examples:
        assert parse(shlex.split(line, comments=True))[0] == name
    module, _, function = command.function.partition(":")
    assert callable(getattr(import_module(module), function))


def commands_of(text: str) -> Iterator[list[str]]:
    """Each `python run_benchmark.py ...` of a document, in a block or inline, without its comment."""
    for command in re.findall(r"python run_benchmark\.py([^`]*?)(?:`|\n(?! ))", text.replace("\\\n", " ")):
        yield shlex.split(command, comments=True)


def test_the_commands_of_the_documents_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_method.py").write_text(MY_METHOD)  # the file that CONTRIBUTING.md names
    Path("docs").symlink_to(ROOT / "docs")  # METHODS.md names its examples
    Path("theirs.py").symlink_to(ROOT / "docs" / "elsewhere" / "theirs.py")
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
