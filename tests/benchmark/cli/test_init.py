"""The table of verbs: each shows and takes its own flags alone, one flag means one thing, documents are right."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli import VERBS
from benchmark.config.command_line import parse
from benchmark.config.flags import FLAGS, config_of

ROOT = Path(__file__).resolve().parents[3]
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
MY_METHOD = "import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'my_method'\n    title = 'Mine'\n"
ALL_FLAGS = sorted({flag for verb in VERBS.values() for flag in verb.flags})


def commands_of(text: str) -> Iterator[list[str]]:
    """Each `python run_benchmark.py ...` of a document, in a block or inline, without its comment."""
    for command in re.findall(r"python run_benchmark\.py([^\n`]*)", text.replace("\\\n", " ")):
        yield shlex.split(command, comments=True)


CARDS = {
    name: text
    for path in DOCUMENTS
    for text, name in re.findall(r"```yaml\n((?:.*\n)*?name: (\S+)\n(?:.*\n)*?)```", path.read_text())
}
"""Name -> card, of those that the documents show."""
CARDS["tuned"] = "methods: [pmq]"
"""The config that `tune` writes."""


def test_the_commands_of_the_documents_are_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("my_method.py").write_text(MY_METHOD)  # the file that CONTRIBUTING.md names
    Path("docs").symlink_to(ROOT / "docs")  # METHODS.md names its examples
    Path("theirs.py").symlink_to(ROOT / "docs" / "elsewhere" / "theirs.py")
    for words in (words for path in DOCUMENTS for words in commands_of(path.read_text())):
        for card in (Path(word) for word in words if word.endswith(".yaml") and word[:5] != "docs/"):
            card.parent.mkdir(exist_ok=True)
            card.write_text(CARDS[card.stem])  # the file that OWN_DATA.md has written before
        verb, arguments = parse(VERBS, words)
        if "--config" in verb.flags:
            assert config_of(arguments).methods, words


@pytest.mark.parametrize("name", VERBS)
def test_a_verbs_own_examples_are_its_own(name: str) -> None:
    assert VERBS[name].examples
    for line in VERBS[name].examples:
        assert parse(VERBS, shlex.split(line))[0] is VERBS[name]


@pytest.mark.parametrize("name", VERBS)
def test_help_shows_what_a_verb_takes_and_nothing_else(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse(VERBS, [*name.split(), "--help"])
    assert ended.value.code == 0
    shown, _, examples = capsys.readouterr().out.partition("\nexamples:\n")
    assert set(re.findall(r"--[a-z-]+", shown)) == {"--help", *VERBS[name].flags}
    assert examples.count("python run_benchmark.py") == len(VERBS[name].examples)
    assert VERBS[name].summary in shown


def test_a_flag_means_the_same_for_every_verb() -> None:
    """Three have a second definition: `report` takes several results; of `embed`, the encoder and what is written are a
    folder and a file."""
    for flag in ALL_FLAGS:
        takers = {name: verb.flags[flag] for name, verb in VERBS.items() if flag in verb.flags}
        for name in {"--results": ["report"], "--encoder": ["embed"], "--out": ["embed"]}.get(flag, []):
            del takers[name]
        meant = FLAGS.get(flag, next(iter(takers.values())))
        assert all(own is meant for own in takers.values()), flag
        assert flag in FLAGS or len(takers) == 1
