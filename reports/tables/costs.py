"""The cost of each row's pretraining: parameters, windows, updates, encoder passes, time and memory, from the cards.

Methods differ in encoder passes per update and updates per epoch. One window forwards is one pass, backwards two.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from benchmark.results.plain_text import csv_text
from reports.runs.cards import Card, Cards, machine_of
from reports.tables.latex import latex_table
from reports.tables.text import literal, pipe_table

HEADER = (
    "Pretraining", "parameters", "of the encoder", "multiplications", "epochs", "window pairs", "batch", "updates",
    "encoder passes", "seconds", "ms an update", "peak GiB", "Wh", "machine",
)  # fmt: skip
JOULES_PER_WH = 3600
MILLION = 1e6
CAPTION = (
    "Cost of each pretraining; the mean where a row has several. An epoch has the same number of window pairs for "
    "every method, except those that batching or missing reports leave out. Parameters: those that learn; "
    "multiplications: millions in the encoder's convolutions and matrix products for a window. Encoder passes: one per "
    "window forwards, two backwards. Wh: energy of the GPU or the CPU packages, other processes included; a dash where "
    "it cannot be read."
)


def cost_lines(cards: Cards, titles: Mapping[str, str]) -> list[tuple[str, ...]]:
    """One line per pretrained row, as text under `HEADER`; rows that share all encoders are listed once."""
    lines = []
    seen: set[tuple[str, ...]] = set()
    for variant, own in cards.items():
        trained = [card for card in own.values() if card.get("updates")]
        if trained and tuple(own) not in seen:
            seen.add(tuple(own))
            lines.append((titles.get(variant, variant), *_line(trained)))
    return lines


def _line(cards: Sequence[Card]) -> Iterator[str]:
    pairs = [card["updates"] * card["batch_size"] for card in cards]
    timed = [card for card in cards if card["seconds"] is not None]
    epochs = [seen / max(1, card["windows_per_epoch"]) for seen, card in zip(pairs, cards, strict=True)]
    yield from (
        _mean([card["parameters"] for card in cards]),
        _mean([card["encoder_parameters"] for card in cards if "encoder_parameters" in card]),
        _mean([card["encoder_multiplications"] / MILLION for card in cards if "encoder_multiplications" in card]),
        _mean(epochs, digits=2).removesuffix(".00"),
        _mean(pairs),
        _mean([card["batch_size"] for card in cards]),
        _mean([card["updates"] for card in cards]),
        _mean([card["encoder_passes"] for card in cards if "encoder_passes" in card]),
        _mean([card["seconds"] for card in timed]),
        _mean([1000 * card["seconds"] / card["updates"] for card in timed], digits=1),
        _mean([card["peak_memory_gib"] for card in cards], digits=2),
        _mean([card["joules"] / JOULES_PER_WH for card in cards if card.get("joules") is not None], digits=1),
        "; ".join(dict.fromkeys(map(machine_of, cards))),
    )


def _mean(values: Sequence[float], digits: int = 0) -> str:
    """The mean with thousands separators; a dash without values."""
    return f"{sum(values) / len(values):,.{digits}f}" if values else "–"


def costs_markdown(lines: Sequence[tuple[str, ...]]) -> str:
    """The table under a heading."""
    table = pipe_table(HEADER, [[literal(text) for text in line] for line in lines])
    return f"## Pretraining cost\n\n{CAPTION}\n\n{table}\n"


def costs_latex(lines: Sequence[tuple[str, ...]]) -> str:
    """The table as a `table*` environment."""
    return f"{latex_table(HEADER, lines, CAPTION, 'costs')}\n"


def costs_csv(lines: Sequence[tuple[str, ...]]) -> str:
    """The table as CSV, without thousands separators."""
    return csv_text(HEADER, ([line[0], *(text.replace(",", "") for text in line[1:-1]), line[-1]] for line in lines))


def cost_files(lines: Sequence[tuple[str, ...]]) -> dict[str, str]:
    """File name -> content."""
    return {"costs.md": costs_markdown(lines), "costs.tex": costs_latex(lines), "costs.csv": costs_csv(lines)}
