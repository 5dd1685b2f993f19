"""`data new-card FOLDER`: look at a folder of ECGs and write a first card for it."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from benchmark.config.command_line.paths import file_to_write
from benchmark.config.command_line.verb import OK, Flag, Verb
from benchmark.config.errors import ConfigError
from benchmark.results.names import command
from benchmark.screen.console import Console, note

WRITTEN = "what is written"


def new_card(arguments: Namespace, console: Console) -> int:
    """Write the card, and print its open questions and the next command. Raises ConfigError for a file that exists."""
    from benchmark.data.readers.cards.draft.write import (
        draft,
        name_of,
        questions_in,
    )  # here, because pandas loads slowly

    folder = Path(arguments.word).expanduser()
    file = arguments.card or folder / f"{name_of(folder)}.yaml"
    if file.exists():
        raise ConfigError(f"{file} exists and is not overwritten: name another by --card FILE, or remove it")
    text = draft(folder, str(file))
    file.write_text(text, encoding="utf-8")
    questions = list(questions_in(text))
    note(console, f"wrote {file}: {len(questions)} questions are open" if questions else f"wrote {file}")
    for question in questions:
        note(console, f"  {question}")
    if file.resolve().parent != folder.resolve():
        note(console, f"the card is not in the folder: add --data {name_of(folder)}={folder} to every command")
    then = "answer them in the file, then" if questions else "read it, then"
    note(console, f"{then}: {command()} data check --datasets {file}")
    return OK


NEW_CARD = Verb(
    "look at a folder of your own ECGs and write a first card for it (docs/OWN_DATA.md)",
    new_card,
    {"--card": Flag(WRITTEN, "the card (FOLDER/NAME.yaml)", how={"type": file_to_write, "metavar": "FILE"})},
    word="FOLDER",
    word_help="folder of the ECG files, with their table if there is one",
    examples={"data new-card ./my-ecgs": "a card to begin with"},
)
