"""argv -> a verb and its flags, on a small table of verbs: what is meant, what is refused, what the help shows."""

from __future__ import annotations

import sys
from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from benchmark.config import command_line
from benchmark.config.command_line import Flag, Known, Verb, parse, refuse_unknown
from benchmark.config.errors import ConfigError

nothing = "kitchen:nothing"


SIZE = Flag("sizes", "how many", how={"type": int, "default": 1})
NAMES = Flag("names", "which", how={"nargs": "+"})
SALT = Flag("sizes", "grains")
VERBS = {
    "cook": Verb("cook a dish", nothing, {"--names": NAMES, "--size": SIZE}, examples={"--size 2": "two"}),
    "taste": Verb("taste one", nothing, {"--salt": SALT}, "DISH", "its name", {"taste soup": "soup"}),
    "shop list": Verb("say what is missing", nothing, {"--size": SIZE}, examples={"shop list": "missing"}),
    "shop buy": Verb("buy it", nothing, {"--names": NAMES}, examples={"shop buy --names eggs": "eggs"}),
    "shop haul": Verb("haul some", nothing, {"--size": SIZE}, "BAG", examples={"shop haul a b": "two"}, several=True),
}


@pytest.mark.parametrize(
    ("argv", "name", "values"),
    [
        ("", "cook", {"names": None, "size": 1}),
        ("--size 3 --names a b", "cook", {"names": ["a", "b"], "size": 3}),
        ("taste soup", "taste", {"word": "soup", "salt": None}),
        ("taste --salt 9 soup", "taste", {"word": "soup", "salt": "9"}),
        ("shop", "shop list", {"size": 1}),
        ("shop buy --names eggs", "shop buy", {"names": ["eggs"]}),
        ("shop haul a", "shop haul", {"word": ["a"], "size": 1}),
        ("shop haul a b --size 2", "shop haul", {"word": ["a", "b"], "size": 2}),
    ],
)
def test_a_command_is_a_verb_and_its_flags_and_no_others(argv: str, name: str, values: dict[str, object]) -> None:
    verb, arguments = parse(VERBS, argv.split())
    assert verb is VERBS[name]
    assert vars(arguments) == values


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        ("bake", "unknown verb 'bake'; there are: cook, taste, shop"),
        ("tase soup", "unknown verb 'tase' (did you mean 'taste'?); there are: cook, taste, shop"),
        ("shop bye", "unknown action of `shop` 'bye' (did you mean 'buy'?); there are: list, buy, haul"),
        ("cook --salt 3", "`cook` takes no --salt; `taste` does"),
        ("shop haul --size 3", "`shop haul` needs BAG, e.g. `shop haul a b`"),
        ("cook --name x", "unknown flag '--name' (did you mean '--names'?); `python run_benchmark.py cook --help` has"),
        ("cook --wine", "unknown flag '--wine'; `python run_benchmark.py cook --help` has those of `cook`"),
        ("--size 3 taste", "`cook` takes no 'taste': a verb comes before its flags"),
        ("taste soup salad", "`taste` takes no 'salad'"),
        ("taste", "`taste` needs DISH, e.g. `taste soup`"),
        ("cook --size two", "argument --size: invalid int value: 'two'"),
        ("cook --size 2,3", "argument --size: invalid int value: '2,3': separate several by spaces"),
    ],
)
def test_what_cannot_be_meant_is_one_line(argv: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(VERBS, argv.split())
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)
    shown = capsys.readouterr()
    assert (shown.out, shown.err) == ("", "")


def helped(argv: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as ended:
        parse(VERBS, argv.split())
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_help_of_no_verb_lists_all_with_three_examples(capsys: pytest.CaptureFixture[str]) -> None:
    shown = helped("--help", capsys)
    assert shown.startswith("usage: run_benchmark.py [VERB] [FLAG ...]\n")
    assert "  cook       cook a dish (the default)\n  taste      taste one\n  shop list  say what is missing\n" in shown
    assert "--salt" not in shown
    assert shown.count("python run_benchmark.py") == 3
    assert "python run_benchmark.py --size 2    two\n" in shown
    assert helped("-h", capsys) == helped("--size 3 --help", capsys) == shown


def test_help_of_a_verb_is_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    shown = helped("taste --help", capsys)
    assert shown.startswith("usage: run_benchmark.py taste DISH [FLAG ...]\n\ntaste one\n")
    assert "its name" in shown
    assert "--salt" in shown
    assert "--size" not in shown
    assert "python run_benchmark.py taste soup  soup\n" in shown
    assert "cook" not in shown


@pytest.mark.parametrize("started", ["/env/bin/ecg-pretrain-bench", "ecg-pretrain-bench.exe"])
def test_the_installed_program_shows_its_own_name(
    started: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", [started])
    shown = helped("taste --help", capsys)
    assert shown.startswith("usage: ecg-pretrain-bench taste DISH [FLAG ...]\n")
    assert "  ecg-pretrain-bench taste soup  soup\n" in shown
    with pytest.raises(ConfigError, match=r"; `ecg-pretrain-bench cook --help` has those of `cook`$"):
        parse(VERBS, ["cook", "--wine"])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--kinds", "soup", "sop"], "unknown kind 'sop' (did you mean 'soup'?); there are: soup, stew"),
        (["sop"], "unknown kind 'sop' (did you mean 'soup'?); there are: soup, stew, or a .py file"),
        (["SOUP"], "unknown kind 'SOUP' (did you mean 'soup'?); there are: soup, stew, or a .py file"),
        (["--kinds", "soup,stew"], "'soup,stew' is no name of a kind: separate several by spaces, soup stew"),
    ],
)
def test_a_name_that_is_not_known_is_refused(given: list[str], message: str) -> None:
    kinds = Flag("names", "which", how={"nargs": "+"}, known=Known("kind", ("soup", "stew"), other=""))
    word = Known("kind", ("soup", "stew"))
    cook = Verb("cook", nothing, {"--kinds": kinds}, "KIND", known=word)
    verb, arguments = parse({"cook": cook}, ["cook", "stew", *given] if given[0] == "--kinds" else ["cook", *given])
    with pytest.raises(ConfigError) as refused:
        refuse_unknown(verb, arguments)
    assert str(refused.value) == message
    for fine in ("soup", "./own.py"):
        refuse_unknown(*parse({"cook": cook}, ["cook", fine, "--kinds", "soup"]))


def test_what_is_there_or_can_be_made_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert command_line.folder(f"{tmp_path}/new/deep") == tmp_path / "new" / "deep"
    assert command_line.folder("~/new") == tmp_path / "new"
    assert command_line.folder("new") == Path("new")
    assert command_line.folder(f"{tmp_path}/link") == tmp_path / "link"
    assert command_line.file_to_read("~/file") == tmp_path / "file"
    assert command_line.file_to_write(f"{tmp_path}/file") == tmp_path / "file"
    assert command_line.file_to_write(f"{tmp_path}/new/file") == tmp_path / "new" / "file"
    assert command_line.results_named("runs@3f2a") == "runs@3f2a"


def test_a_path_through_a_file_or_a_dead_link_names_what_is_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("nothing")
    with pytest.raises(ArgumentTypeError, match=r"cannot be made: .*/file is a file, not a folder"):
        command_line.folder(f"{tmp_path}/file/a/b")
    with pytest.raises(ArgumentTypeError, match="/link' is a link to nothing"):
        command_line.file_to_write(f"{tmp_path}/link/a")
