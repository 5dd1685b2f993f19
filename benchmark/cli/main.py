"""The command line: argv -> a command and its arguments, the help, and one line for what cannot be meant.

A flag that sets a config key takes type, choices and help from the field of the key in `benchmark.config.schema`. The
function of a command is imported where it runs.
"""

from __future__ import annotations

import argparse
import difflib
import re
import typing
from collections.abc import Sequence
from importlib import import_module, metadata
from types import UnionType
from typing import Any

from benchmark.cli.commands import COMMANDS, COMMON, KEYS, NO_GATE, SEVERAL
from benchmark.config.errors import ConfigError, unknown
from benchmark.results.names import INSTALLED, command, program
from benchmark.screen import Console

OK, FAILED, USAGE, INTERRUPTED = 0, 1, 2, 130
"""Exit statuses. FAILED: part of the work failed; USAGE: refused before any work; after SIGTERM: 143."""
ABOUT = "Compare contrastive pretraining methods for ECG: pretrain, fine-tune, tabulate."
DEFAULT_COMMAND = "run"
FEW_EXAMPLES = 3
"""Of the overview."""


class Parser(argparse.ArgumentParser):
    """argparse that reports an error in one line, with the nearest flag or value."""

    def error(self, message: str) -> typing.NoReturn:
        """Raise ConfigError with argparse's message."""
        if wrong := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
            choices = wrong[2].replace("'", "").split(", ")
            near = difflib.get_close_matches(wrong[1].lower(), choices, n=1)
            message += f" (did you mean {near[0]!r}?)" if near else ""
        if re.search(r"invalid (int|float) value: '[^',]+,[^']+'", message):
            message += ": separate several by spaces"
        raise ConfigError(message)


def field_of(key: str) -> Any:
    """The pydantic field of a dotted config key."""
    from benchmark.config.schema import Settings  # here, because pydantic loads slowly

    kinds: Sequence[Any] = [Settings]
    *sections, last = key.split(".")
    for section in sections:
        fields = next(kind.model_fields for kind in kinds if section in kind.model_fields)
        kinds = alternatives(fields[section].annotation)
    fields = [kind.model_fields[last] for kind in kinds if last in kind.model_fields]
    choices = tuple(name for one in fields for name in literals(one.annotation))
    return fields[0], choices


def alternatives(annotation: Any) -> list[Any]:
    """The members of a union, and the annotation alone without its metadata; None is left out."""
    if typing.get_origin(annotation) is typing.Annotated:
        return alternatives(typing.get_args(annotation)[0])
    if typing.get_origin(annotation) in (typing.Union, UnionType):
        return [kind for part in typing.get_args(annotation) for kind in alternatives(part)]
    return [] if annotation is type(None) else [annotation]


def literals(annotation: Any) -> list[str]:
    """The names that an annotation takes, or the members of its list; none where it takes any."""
    kinds = [kind for one in alternatives(annotation) for kind in elements(one)]
    return [name for kind in kinds if typing.get_origin(kind) is typing.Literal for name in typing.get_args(kind)]


def elements(kind: Any) -> list[Any]:
    """The types of the elements of a list, or a type alone."""
    return alternatives(typing.get_args(kind)[0]) if typing.get_origin(kind) is list else [kind]


def arguments_of(flag: str) -> dict[str, Any]:
    """What argparse is to know of a flag that sets a config key."""
    key = KEYS[flag]
    field, choices = field_of(key)
    kinds = alternatives(field.annotation)
    is_list = any(typing.get_origin(kind) is list for kind in kinds)
    types = [kind for one in kinds for kind in elements(one) if kind in (int, float)]
    meaning = " ".join((field.description or "").split()).replace("%", "%%")
    arguments: dict[str, Any] = {"dest": key, "help": meaning, "metavar": "N" if types else "NAME"}
    if choices:
        arguments["choices"] = [*choices, NO_GATE] if key == "gates" else choices
        arguments["metavar"] = "|".join(choices) if not is_list else "NAME"
    if types:
        arguments["type"] = types[0]
    return arguments | ({"nargs": "+"} if is_list or key in SEVERAL else {})


def config_help() -> str:
    """The shipped configs, for the help of `--config`."""
    from benchmark.config.load import config_names  # here, because pydantic loads slowly

    return f"{', '.join(config_names())}, or a .yaml file (demo; own where --datasets, --data or --data-root name data)"


def parser_of(name: str) -> Parser:
    """The parser of a command."""
    one = COMMANDS[name]
    lines = {f"{command()} {line}".rstrip(): text for line, text in one.examples.items()}
    width = max(map(len, lines), default=0)
    parser = Parser(
        prog=f"{program()} {name}",
        description=one.help,
        epilog="\n".join(["examples:", *(f"  {line:<{width}}  {text}" for line, text in lines.items())]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for flag, arguments in one.further.items():
        parser.add_argument(flag, **arguments)
    for flag in one.flags:
        parser.add_argument(flag, **COMMON[flag] | ({"help": config_help()} if flag == "--config" else {}))
    keys = parser.add_argument_group("config keys")
    for flag in one.keys:
        keys.add_argument(flag, **arguments_of(flag))
    return parser


def overview() -> str:
    """The commands, a line each, and a few examples."""
    lines = {name: one.help + " (the default)" * (name == DEFAULT_COMMAND) for name, one in COMMANDS.items()}
    width = max(map(len, lines))
    examples = [line for one in COMMANDS.values() for line in one.examples][:FEW_EXAMPLES]
    return "\n".join(
        [
            f"usage: {program()} [COMMAND] [FLAG ...]",
            "",
            ABOUT,
            "",
            "commands; `COMMAND --help` shows the flags of each:",
            *(f"  {name:<{width}}  {text}" for name, text in lines.items()),
            "",
            "examples:",
            *(f"  {command()} {line}".rstrip() for line in examples),
        ]
    )


def version() -> str:
    """The program with its version, which a checkout that was never installed does not know."""
    try:
        return f"{program()} {metadata.version(INSTALLED)}"
    except metadata.PackageNotFoundError:
        return f"{program()} of a checkout that is not installed"


def split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Name of the command, of one word or two, and the other arguments. Raises ConfigError for an unknown one."""
    words = list(argv)
    if not words or words[0].startswith("-"):
        return DEFAULT_COMMAND, words
    if " ".join(words[:2]) in COMMANDS:
        return " ".join(words[:2]), words[2:]
    if words[0] in COMMANDS:
        return words[0], words[1:]
    actions = [name.split()[1] for name in COMMANDS if name.startswith(f"{words[0]} ")]
    if actions and (len(words) == 1 or words[1].startswith("-")):
        return f"{words[0]} {actions[0]}", words[1:]
    if actions:
        raise ConfigError(unknown(f"action of `{words[0]}`", words[1], actions))
    raise ConfigError(unknown("command", words[0], list(COMMANDS)))


def parse(argv: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """The name of a command and its arguments. Raises ConfigError in one line; `--help` prints the help and exits."""
    if argv[:1] in (["--help"], ["-h"], ["--version"]):
        print(version() if argv[0] == "--version" else overview())
        raise SystemExit(OK)
    name, rest = split(argv)
    arguments, extra = parser_of(name).parse_known_args(rest)
    if not extra:
        return name, arguments
    flag = next((word.partition("=")[0] for word in extra if word.startswith("-")), None)
    if flag is None:
        raise ConfigError(f"`{name}` takes no {extra[0]!r}; a command comes before its flags")
    takers = [f"`{other}`" for other, one in COMMANDS.items() if flag in (*one.keys, *one.flags, *one.further)]
    if takers:
        raise ConfigError(f"`{name}` takes no {flag}; {', '.join(takers)} {'does' if len(takers) == 1 else 'do'}")
    one = COMMANDS[name]
    raise ConfigError(unknown(f"flag of `{name}`", flag, [*one.keys, *one.flags, *one.further]))


def run(argv: Sequence[str], console: Console) -> int:
    """Run a command line; returns the exit status. Raises ConfigError for one that cannot be meant."""
    name, arguments = parse(argv)
    module, _, function = COMMANDS[name].function.partition(":")
    status: int = getattr(import_module(module), function)(arguments, console)
    return status
