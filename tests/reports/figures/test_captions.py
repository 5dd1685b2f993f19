"""The small print: seeds as they were planned, what is simulated, and no more of the warnings than a figure holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmark.results.plan import Plan, PlannedCell
from reports.figures.captions import caveats, score_note, seeds_text, titles_of


def plan(*seeds: int, protocol: str = "paper", simulated: bool = False) -> Plan:
    cells = [PlannedCell(str(seed), "pmq", "finetune", "ptb-xl", 0.1, seed) for seed in seeds]
    facts = {"title": "PTB-XL", "simulated": simulated}
    config = {"protocol": protocol, "data": {"labels": "single"}}
    return Plan("plan", config, {"pmq": "PMQ"}, {"ptb-xl": facts}, {"simulated": False}, {}, [], cells)


@pytest.mark.parametrize(
    ("seeds", "protocol", "text"),
    [
        ((41,), "paper", "one seed (41)"),
        ((41, 42), "paper", "over seeds 41, 42 (one pretraining)"),
        ((41, 42, 43), "strict", "over seeds 41 to 43 (a pretraining each)"),
        ((41, 43, 44), "paper", "over seeds 41, 43, 44 (one"),
    ],
)
def test_seeds_are_named_with_what_they_share(seeds: tuple[int, ...], protocol: str, text: str) -> None:
    assert text in seeds_text(plan(*seeds, protocol=protocol), "finetune")


def test_simulated_data_are_said_to_be_and_real_ones_are_not() -> None:
    assert "Simulated ECGs" in caveats(plan(41, simulated=True), ["ptb-xl"])
    assert caveats(plan(41), ["ptb-xl"]) == ""
    corpus = replace(plan(41), pretraining={"simulated": True})
    assert "Simulated ECGs" in caveats(corpus, [])


def test_one_warning_is_printed_and_the_others_counted() -> None:
    warned = replace(plan(41), warnings=["a leak", "another", "a third"])
    assert caveats(warned, []) == "Warning: a leak (2 more under the tables)."


def test_a_note_names_unit_evaluation_and_ratio() -> None:
    note = score_note(plan(41), "finetune", "recording", 0.01)
    assert note.startswith("Macro F1 per recording, fine-tuned with 1 % of the labels; one seed (41)")
    assert "Overall" not in note
    assert titles_of(plan(41), ["pmq", "pmq"]) == {"pmq": "PMQ"}
