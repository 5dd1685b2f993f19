"""The one form of what people type: names, patients, labels, numbers, yes and no, whoever wrote them with whatever.

Cells of tables, names of files, cards and predictions are brought into it before they are compared, so that two texts
that look alike are one. `spellings` says which were different before.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

BYTES = re.compile(r"""b(['"]).*\1""", re.DOTALL)
"""Bytes as Python writes them into a text."""
UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Signs of no width, e.g. the soft hyphen and what chooses between forms of the letter ahead."""
LOOK_ALIKE = str.maketrans("\u2010\u2012\u2013\u2212\u2019", "----'")
"""Hyphens and the apostrophe of typesetting -> those of a keyboard."""
WHOLE_NUMBER = re.compile(r"0*(\d{1,18})(?:\.0*)?", re.ASCII)
SHORTENED = re.compile(r"\d([.,]\d+)?E\+\d+", re.ASCII | re.IGNORECASE)
NOT_STATED = re.compile(
    r"(nan?|n/a|n\.a\.|#n/a|<na>|nat|none|null|nil|unknown|not known|unk|missing|-|\?)?", re.IGNORECASE
)
"""Cells that state nothing."""
TRUTHS = {**dict.fromkeys(("true", "t", "yes", "y", "1"), True), **dict.fromkeys(("false", "f", "no", "n", "0"), False)}
SPREADSHEET_DIGITS = 15
"""A spreadsheet writes zeros for the digits of a number beyond these."""
LONG_NUMBER = re.compile(rf"(\d{{{SPREADSHEET_DIGITS}}})(\d+)(?:\.0*)?", re.ASCII)
CHANCE_DIGITS = 3
"""Zeros beyond those digits that cannot be chance."""
AT_THOUSANDS = {mark: re.compile(rf"[-+]?[1-9]\d{{0,2}}(\{mark}\d{{3}})+", re.ASCII) for mark in ",."}
"""Mark -> a number that has it at each thousand."""
BELOW_THOUSAND = re.compile(r"([-+]?\d{1,3})?", re.ASCII)


class TwoReadings(ValueError):
    """A number can be read in two ways; the message names both."""


def decoded(written: object) -> str:
    """Return bytes, or the `b'...'` that Python wrote of them, as the text they hold; another text or number as it is.

    Bytes that are no UTF-8 are Latin-1.
    """
    content: Any = written
    if not isinstance(written, bytes):
        line = str(written)
        if not BYTES.fullmatch(line):
            return line
        with suppress(SyntaxError, ValueError):
            content = ast.literal_eval(line)
        if not isinstance(content, bytes):
            return line
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("latin-1")


def text(written: object) -> str:
    """Return a text in composed letters of one width (NFKC) with the hyphens of a keyboard.

    Signs of no width and outer blanks are left out, inner blanks are one each.
    """
    line = decoded(written)
    if not line.isascii():
        line = unicodedata.normalize("NFKC", UNSEEN.sub("", line)).translate(LOOK_ALIKE)
    return " ".join(line.split())


def identifier(written: object) -> str:
    """Return a text without the point of a whole number: '15709' of '15709.0', as float columns write it."""
    return re.sub(r"^(\d+)\.0*$", r"\1", text(written))


def whole_number(written: str) -> str | None:
    """Return '10000032' of '10000032', '010000032' or '10000032.0'; None for anything else."""
    match = WHOLE_NUMBER.fullmatch(text(written))
    return match[1] if match else None


def patient(written: str) -> str:
    """Return a person's identifier, a whole number without leading zeros and point; '' for a cell that names nobody."""
    name = text(written)
    return whole_number(name) or ("" if states_nothing(name) or name.startswith("-") else name)


def truth(written: str) -> bool | None:
    """Tell whether a cell says yes ('1', '1.00', 'True', 'yes') or no ('0', '0.0', 'False', 'no'); else None."""
    return TRUTHS.get(whole_number(written) or text(written).lower())


def alike(written: str) -> str:
    """Return what is equal for two texts that differ in capitals and blanks alone."""
    return "".join(text(written).casefold().split())


def states_nothing(written: str) -> bool:
    """Tell whether a cell is blank or says that nothing is known."""
    return bool(NOT_STATED.fullmatch(text(written)))


def is_shortened(written: str) -> bool:
    """Tell whether a spreadsheet shortened a number ('1.65E+08'): it has lost the digits that tell it from others."""
    return bool(SHORTENED.fullmatch(text(written)))


def rounded(cells: Iterable[str]) -> list[str]:
    """Return the numbers that a spreadsheet seems to have cut to 15 digits: all longer ones, if all end in zeros.

    None where that can be chance.
    """
    texts = sorted({text(cell) for cell in cells})
    matches = [match for match in map(LONG_NUMBER.fullmatch, texts) if match]
    beyond = "".join(match[2] for match in matches)
    is_rounded = len(beyond) >= CHANCE_DIGITS and not beyond.strip("0")
    return [match[0] for match in matches] if is_rounded else []


def spellings(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return what is read -> the texts written for it, where they are several; pairs: of both."""
    written = defaultdict[str, dict[str, None]](dict)
    for name, cell in pairs:
        written[name][cell] = None
    return {name: [*cells] for name, cells in written.items() if len(cells) > 1}


def remarks(noun: str, pairs: Sequence[tuple[str, str]]) -> list[str]:
    """Say which cells of one kind were written in several ways, and which numbers a spreadsheet cut.

    pairs: (what is read, what is written) of each cell; noun: their name in the plural.
    """
    lines = []
    several = spellings(pairs)
    if several:
        first, second, *_ = next(iter(several.values()))
        lines.append(
            f"{len(several)} {noun} are written in several ways and count as one each, e.g. {first!a} and {second!a}"
        )
    numbers = rounded(written for _, written in pairs)
    if numbers:
        lines.append(
            f"{len(numbers)} {noun} are numbers of more than 15 digits that end in zeros, e.g. {numbers[0]}: a "
            "spreadsheet keeps 15 digits, so several may have become one; take them as text from their source"
        )
    return lines


def other_capitals(noun: str, names: Iterable[str]) -> list[str]:
    """Say which names differ from another in capitals or blanks alone; noun: what they name, in the plural."""
    several = spellings((alike(name), name) for name in names)
    if not several:
        return []
    first, second, *_ = next(iter(several.values()))
    return [
        f"{len(several)} {noun} are written in ways that differ in capitals or blanks alone, and each way counts by "
        f"itself, e.g. {first!a} and {second!a}: where they are one, write them in one way"
    ]


def plain_numbers(cells: Sequence[str], thousands: str) -> list[str]:
    """Return numbers with a decimal point and no mark at thousands; other cells stay as they are.

    thousands: of `thousands_mark`.
    """
    whole = [cell.replace(thousands, "") for cell in cells] if thousands else cells
    return [cell.replace(",", ".") for cell in whole]


def thousands_mark(cells: Sequence[str]) -> str:
    """Return the mark that stands at thousands in numbers, '' for none. Raises TwoReadings where that is not certain.

    It is the first of two marks in a number; or each group after it has three digits, none of them after a single zero,
    beside whole numbers below 1000 or numbers with the other mark.
    """
    for cell in cells:
        if "," in cell and "." in cell:
            return min(",.", key=cell.index)
    for mark, grouped in AT_THOUSANDS.items():
        marked = [cell for cell in cells if mark in cell]
        if marked and all(map(grouped.fullmatch, marked)):
            others = [cell for cell in cells if cell and mark not in cell]
            has_decimals = any("," in cell or "." in cell for cell in others)
            if has_decimals or (others and all(map(BELOW_THOUSAND.fullmatch, others))):
                return mark
            if mark == ",":
                raise TwoReadings(
                    f"comma is a decimal comma or stands at thousands; write numbers without it: {marked[0]} is "
                    f"{marked[0].replace(',', '.', 1)} or {marked[0].replace(',', '')}"
                )
    return ""
