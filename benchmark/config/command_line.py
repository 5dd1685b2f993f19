"""Parse argv into a verb and its flags; every error is one line.

The verb comes first, its flags after it. Without a verb the first of all is used; with only the first word of several
(`data`), the first of those. Unknown and abbreviated flags are refused.

Paths that flags take, checked as they are read: what cannot be a folder or a file is refused before any work.

Each function is the `type` of a flag's argparse arguments: text of the command line -> path, `~` expanded. They raise
ArgumentTypeError in one line, before which argparse says the flag. A default given as text is checked as well.
"""

from __future__ import annotations

import argparse
import difflib
import re
import shutil
import sys
import textwrap
from argparse import ArgumentTypeError
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module, metadata
from pathlib import Path
from typing import Any, NoReturn

from benchmark.config.errors import ConfigError, unknown
from benchmark.results.names import INSTALLED, command, program
from benchmark.screen import Console

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses. FAILED: part of the work failed; USAGE: refused before any work; after SIGTERM: 143."""
SPACES = "separate several by spaces"
LISTED = re.compile(r"invalid (int|float) value: '[^',]+,[^']+'")
"""An error of argparse for numbers that are separated by commas."""
ABOUT = "Compare contrastive pretraining methods for ECG: pretrain, fine-tune, tabulate."


FEW_EXAMPLES = 3
"""Of the overview of the verbs."""


@dataclass(frozen=True)
class Known:
    """The names that a flag or a verb's word takes, besides other words, e.g. the paths of files."""

    what: str
    names: Sequence[str]
    other: str = "a .py file"
    """What the other words are; '' for none."""
    is_other: Callable[[str], bool] = lambda word: word.endswith(".py")
    declared: bool = False
    """Whether such a word, or a config file, declares further names: then all names are left to the config."""

    def refuse(self, given: str) -> None:
        """Raise ConfigError for another name."""
        if given in self.names or (self.other and self.is_other(given)):
            return
        parts = [part for part in given.split(",") if part]
        if len(parts) > 1 and all(part in self.names for part in parts):
            raise ConfigError(f"{given!r} is no name of a {self.what}: {SPACES}, {' '.join(parts)}")
        raise ConfigError(unknown(self.what, given, self.names) + (f", or {self.other}" if self.other else ""))


@dataclass(frozen=True)
class Flag:
    """A flag; its meaning is the same for every verb that takes it."""

    group: str
    """Heading in the help."""
    help: str
    key: str = ""
    """Config key that it sets; '' for none."""
    how: Mapping[str, Any] = field(default_factory=dict)
    """Arguments of argparse's add_argument: nargs, type, default."""
    known: Known | None = None
    """The names that it takes; None for any value."""


def switch(group: str, text: str) -> Flag:
    """A flag without a value: it is given or not."""
    return Flag(group, text, how={"action": "store_true"})


@dataclass(frozen=True)
class Verb:
    """A verb of the command line."""

    summary: str
    """One line for the list of verbs."""
    do: str
    """`module:function` of (flag values, console) -> exit status, imported where the verb runs."""
    flags: Mapping[str, Flag] = field(default_factory=dict)
    word: str = ""
    """Placeholder in the help of the positional argument; '' for none."""
    word_help: str = ""
    examples: Mapping[str, str] = field(default_factory=dict)
    """Arguments after the program's name -> description."""
    known: Known | None = None
    """The names that the positional argument can be; None for any."""
    several: bool = False
    """Whether it takes several words; then their value is a list."""

    def run(self, arguments: argparse.Namespace, console: Console) -> int:
        """Do it; returns the exit status."""
        status: int = function_named(self.do)(arguments, console)
        return status


def function_named(name: str) -> Callable[..., Any]:
    """The function of `module:function`, whose module is imported now."""
    module, _, function = name.partition(":")
    found: Callable[..., Any] = getattr(import_module(module), function)
    return found


class _Parser(argparse.ArgumentParser):
    """argparse that reports an error in one line."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message + (f": {SPACES}" if LISTED.search(message) else ""))


def parse(verbs: Mapping[str, Verb], argv: Sequence[str]) -> tuple[Verb, argparse.Namespace]:
    """The verb of a command line and its flag values. `--help`, or `help` before a verb, prints the help and exits.

    Raises ConfigError in one line.
    """
    if argv[:1] == ["help"] and "help" not in verbs:
        argv = [*argv[1:], "--help"]
    said, name, rest = split(verbs, argv)
    verb = verbs[name]
    if said != name:
        overview_parser(said, name, verbs).parse_known_args(rest)  # ends for --help and --version
    arguments, extra = verb_parser(name, verb).parse_known_args(rest)
    if extra:
        raise ConfigError(not_taken(verbs, name, extra))
    if verb.word and "" in (arguments.word if verb.several else [arguments.word]):
        raise ConfigError(f"`{name}`: '' names no {verb.word}, e.g. `{next(iter(verb.examples))}`")
    if verb.word and not arguments.word:
        raise ConfigError(f"`{name}` needs {verb.word}, e.g. `{next(iter(verb.examples))}`")
    return verb, arguments


def refuse_unknown(verb: Verb, arguments: argparse.Namespace) -> None:
    """Raise ConfigError for a name that a flag or the word of the verb does not know."""
    given = vars(arguments)
    values = [(flag.known, given.get(name[2:].replace("-", "_"))) for name, flag in verb.flags.items()]
    words: dict[Known, list[str]] = {}
    for known, value in [*values, (verb.known, given.get("word"))]:
        if known and value:
            words.setdefault(known, []).extend([value] if isinstance(value, str) else value)
    for known, names in words.items():
        if known.declared and any(known.is_other(name) for name in [*names, given.get("config", "")]):
            continue
        for name in names:
            known.refuse(name)


def split(verbs: Mapping[str, Verb], argv: Sequence[str]) -> tuple[str, str, Sequence[str]]:
    """(words given, name of the verb, remaining arguments). Raises ConfigError for an unknown verb."""
    said, rest = "", list(argv)
    while said not in verbs:
        group = group_of(verbs, said)
        if not rest or rest[0].startswith("-"):
            return said, next(iter(group)), rest
        words = list(dict.fromkeys(name.removeprefix(said).split()[0] for name in group))
        if rest[0] not in words:
            raise ConfigError(unknown(f"action of `{said}`" if said else "verb", rest[0], words))
        said, rest = f"{said} {rest[0]}".strip(), rest[1:]
    return said, said, rest


def group_of(verbs: Mapping[str, Verb], said: str) -> dict[str, Verb]:
    """Verbs whose names begin with the words `said`; all verbs for ''."""
    return {name: verb for name, verb in verbs.items() if name.startswith(f"{said} " if said else "")}


def verb_parser(name: str, verb: Verb) -> argparse.ArgumentParser:
    """The parser of a verb given by its full name."""
    word = f"{verb.word} ..." if verb.several else verb.word
    parser = _empty_parser(name, word, verb.summary, verb.examples)
    _add(parser, verb)
    return parser


def overview_parser(said: str, name: str, verbs: Mapping[str, Verb]) -> argparse.ArgumentParser:
    """The parser of --help before any verb, or after the first word of several: the verbs, and a few examples."""
    group = group_of(verbs, said)
    width = max(map(len, group))
    lines = [f"  {own:<{width}}  {verb.summary}{' (the default)' * (own == name)}" for own, verb in group.items()]
    title = (
        f"`{said} ACTION --help` shows the flags of each:" if said else "verbs; `VERB --help` shows the flags of each:"
    )
    about = "\n".join([*([] if said else [ABOUT, ""]), title, *lines])
    examples = [own for verb in group.values() for own in verb.examples.items()]
    parser = _empty_parser(said, "[ACTION]" if said else "[VERB]", about, dict(examples[:FEW_EXAMPLES]))
    if not said:
        parser.add_argument("--version", action="version", version=version_line(), help="print the version and exit")
    return parser


def version_line() -> str:
    """The program with its version, which a checkout that was never installed does not know."""
    try:
        return f"{program()} {metadata.version(INSTALLED)}"
    except metadata.PackageNotFoundError:
        return f"{program()} of a checkout that is not installed"


def _empty_parser(said: str, word: str, about: str, examples: Mapping[str, str]) -> argparse.ArgumentParser:
    name = " ".join(filter(None, [program(), said]))
    shown = {f"{command()} {line}": text for line, text in examples.items()}
    width = max(map(len, shown), default=0)
    lines = [f"  {line:<{width}}  {text}" for line, text in shown.items()]
    return _Parser(
        prog=name,
        usage=" ".join(filter(None, [name, word, "[FLAG ...]"])),
        description=_fitted(about),
        epilog="\n".join(["examples:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _fitted(text: str) -> str:
    """A text whose lines are broken between words on a terminal, two columns deeper than each begins."""
    if not sys.stdout.isatty():
        return text
    width = shutil.get_terminal_size().columns - 2  # as argparse
    lines = [
        textwrap.wrap(line, width, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 2)) or [""]
        for line in text.splitlines()
    ]
    return "\n".join(part for parts in lines for part in parts)


def _add(parser: argparse.ArgumentParser, verb: Verb) -> None:
    """Add a verb's positional argument and its flags by group."""
    if verb.word:
        parser.add_argument("word", nargs="*" if verb.several else "?", metavar=verb.word, help=verb.word_help)
    for title in dict.fromkeys(flag.group for flag in verb.flags.values()):
        group = parser.add_argument_group(title)
        for name, flag in verb.flags.items():
            if flag.group == title:
                group.add_argument(name, help=flag.help, **flag.how)


def not_taken(verbs: Mapping[str, Verb], name: str, extra: Sequence[str]) -> str:
    """Message for the first flag, else word, that the verb does not take."""
    flag = next((word.partition("=")[0] for word in extra if word.startswith("-")), None)
    if flag is None:
        first = {word for own in verbs for word in own.split()}
        return f"`{name}` takes no {extra[0]!r}" + (": a verb comes before its flags" if extra[0] in first else "")
    takers = [f"`{own}`" for own, verb in verbs.items() if flag in verb.flags]
    if takers:
        return f"`{name}` takes no {flag}; {', '.join(takers)} {'does' if len(takers) == 1 else 'do'}"
    known = [*verbs[name].flags, *(own for verb in verbs.values() for own in verb.flags)]
    near = difflib.get_close_matches(flag.lstrip("-"), [own[2:] for own in known], n=1)
    hint = f" (did you mean '--{near[0]}'?)" if near else ""
    return f"unknown flag {flag!r}{hint}; `{command()} {name} --help` has those of `{name}`"


def folder(text: str) -> Path:
    """A folder that is there or can be made; who reads it says what it has to hold."""
    path = _path(text, "folder")
    if not path.is_dir():
        _refuse_blocked(path)
        if path.exists():
            raise ArgumentTypeError(f"{text!r} is a file: name a folder")
    return path


def file_to_read(text: str) -> Path:
    """A file; who reads it says what it has to hold, also where there is none."""
    path = _path(text, "file")
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    return path


def file_to_write(text: str) -> Path:
    """A file that is there or can be made; no device, which a rename over it would remove."""
    path = _path(text, "file")
    if path.is_dir():
        raise ArgumentTypeError(f"{text!r} is a folder: name a file in it")
    _refuse_blocked(path)
    if path.exists() and not path.is_file():
        raise ArgumentTypeError(f"{text!r} is a device or a pipe: name a file")
    return path


def results_named(text: str) -> str:
    """A results store, an archive or DIR@KEY, as it was written; what is there says whether it is one."""
    _path(text, "folder of results or an archive")
    return text


def _path(text: str, what: str) -> Path:
    """The path of a text. Raises ArgumentTypeError where it can be none."""
    if not text.strip():
        raise ArgumentTypeError(f"{text!r} names nothing: name a {what}")
    try:
        path = Path(text).expanduser()
        path.exists()
    except (OSError, RuntimeError, ValueError) as error:  # too long, no such user, a null character
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise ArgumentTypeError(f"{text[:40]!r} cannot be a path ({reason}): name another {what}") from None
    return path


def _refuse_blocked(path: Path) -> None:
    """Raise ArgumentTypeError where a file or a link to nothing stands in the way of making a path."""
    for own in (path, *path.parents):
        if own.is_symlink() and not own.exists():
            raise ArgumentTypeError(f"'{own}' is a link to nothing: remove it or name another place")
        if own != path and own.exists() and not own.is_dir():
            raise ArgumentTypeError(f"'{path}' cannot be made: {own} is a file, not a folder")
