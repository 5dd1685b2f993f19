"""The command line: argv to a command and its arguments, the help, and one line for what cannot be meant.

A flag that sets a config key takes type, choices and help from the field of the key in `benchmark.config.schema`. The
function of a command is imported where it runs, so that help and mistyped flags do not wait for torch.
"""

from __future__ import annotations

import argparse
import difflib
import re
from collections.abc import Sequence
from importlib import import_module, metadata
from typing import Any, NoReturn, get_args, get_origin

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
    """argparse that reports an error in one line, with the nearest value."""

    def error(self, message: str) -> NoReturn:
        """Raise ConfigError with argparse's message."""
        if wrong := re.search(r"invalid choice: '([^']*)' \(choose from (.*)\)", message):
            near = difflib.get_close_matches(wrong[1].lower(), wrong[2].replace("'", "").split(", "), n=1)
            message += f" (did you mean {near[0]!r}?)" if near else ""
        if re.search(r"invalid (int|float) value: '[^',]+,[^']+'", message):
            message += ": separate several by spaces"
        if percent := re.search(r"invalid float value: '([\d.]+)%'", message):
            message += f": write a share, {float(percent[1]) / 100:g}"
        raise ConfigError(message)


def parts_of(annotation: Any) -> list[Any]:
    """List an annotation and all that it is made of: members of a union, elements of a list, names of a Literal."""
    return [annotation, *(part for inner in get_args(annotation) for part in parts_of(inner))]


def fields_of(key: str) -> list[Any]:
    """List the pydantic fields of a dotted config key; several where the members of a union have it."""
    from benchmark.config.schema import Settings  # here, because pydantic loads slowly

    sections, fields = [Settings], list[Any]()
    for name in key.split("."):
        fields = [section.model_fields[name] for section in sections if name in section.model_fields]
        sections = [part for one in fields for part in parts_of(one.annotation) if hasattr(part, "model_fields")]
    return fields


def arguments_of(key: str) -> dict[str, Any]:
    """Return the arguments of `add_argument` for a flag that sets a config key."""
    fields = fields_of(key)
    parts = [part for field in fields for part in parts_of(field.annotation)]
    choices = [part for part in parts if isinstance(part, str)]
    numbers = [part for part in parts if part in (int, float)]
    is_list = any(get_origin(part) is list for part in parts)
    meaning = " ".join(fields[0].description.split()).replace("%", "%%")
    arguments: dict[str, Any] = {"dest": key, "help": meaning, "metavar": "N" if numbers else "NAME"}
    if choices:
        arguments["choices"] = [*choices, NO_GATE] if key == "gates" else choices
        arguments["metavar"] = "NAME" if is_list else "|".join(choices)
    if numbers:
        arguments["type"] = numbers[0]
    return arguments | ({"nargs": "+"} if is_list or key in SEVERAL else {})


def config_help() -> str:
    """Return the help of `--config`, which names the shipped configs."""
    from benchmark.config.load import config_names  # here, because pydantic loads slowly

    return f"{', '.join(config_names())}, or a .yaml file (demo; own where flags name real data)"


def parser_of(name: str) -> Parser:
    """Make the parser of a command."""
    one = COMMANDS[name]
    parser = Parser(
        prog=f"{program()} {name}",
        description=one.help,
        epilog="\n".join(["examples:", *(f"  {command()} {line}" for line in one.examples)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    for flag, arguments in one.further.items():
        parser.add_argument(flag, **arguments)
    keys = parser.add_argument_group("config keys")
    for flag in one.flags:
        if flag in KEYS:
            keys.add_argument(flag, **arguments_of(KEYS[flag]))
        else:
            parser.add_argument(flag, **COMMON[flag] | ({"help": config_help()} if flag == "--config" else {}))
    return parser


def overview() -> str:
    """Return the commands, a line each, and a few examples."""
    lines = {name: one.help + " (the default)" * (name == DEFAULT_COMMAND) for name, one in COMMANDS.items()}
    width = max(map(len, lines))
    examples = [line for one in COMMANDS.values() for line in one.examples][:FEW_EXAMPLES]
    return "\n".join(
        [
            f"usage: {program()} [COMMAND] [FLAG ...]\n\n{ABOUT}\n",
            "commands; `COMMAND --help` shows the flags of each:",
            *(f"  {name:<{width}}  {text}" for name, text in lines.items()),
            "\nexamples:",
            *(f"  {command()} {line}" for line in examples),
        ]
    )


def version() -> str:
    """Return the version of the installed program."""
    try:
        return metadata.version(INSTALLED)
    except metadata.PackageNotFoundError:
        return "of a checkout that is not installed"


def split(argv: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command, of one word or two, and the other arguments. Raises ConfigError."""
    words = list(argv)
    if not words or words[0].startswith("-"):
        return DEFAULT_COMMAND, words
    count = 2 if words[0] in {name.split()[0] for name in COMMANDS if " " in name} else 1
    name = " ".join(words[:count])
    if name not in COMMANDS:
        raise ConfigError(unknown("command", name, COMMANDS))
    return name, words[count:]


def parse(argv: Sequence[str]) -> tuple[str, argparse.Namespace]:
    """Return the name of a command and its arguments. Raises ConfigError; `--help` and `--version` print and exit."""
    if argv[:1] in (["--help"], ["-h"], ["--version"]):
        print(f"{program()} {version()}" if argv[0] == "--version" else overview())
        raise SystemExit(OK)
    name, rest = split(argv)
    arguments, extra = parser_of(name).parse_known_args(rest)
    if not extra:
        return name, arguments
    flag = next((word.partition("=")[0] for word in extra if word.startswith("-")), None)
    if flag is None:
        raise ConfigError(f"`{name}` takes no {extra[0]!r}; a command comes before its flags")
    raise ConfigError(unknown(f"flag of `{name}`", flag, [*COMMANDS[name].flags, *COMMANDS[name].further]))


def run(argv: Sequence[str], console: Console) -> int:
    """Run a command line; returns the exit status. Raises ConfigError for one that cannot be meant."""
    name, arguments = parse(argv)
    module, _, function = COMMANDS[name].function.partition(":")
    status: int = getattr(import_module(module), function)(arguments, console)
    return status
