"""Which figures a store gives, what their small print says, and that one that fails costs no other.

The small print: seeds as they were planned, what is simulated, and no more of the warnings than a figure holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from matplotlib.figure import Figure

from benchmark.results.schema import digest
from benchmark.results.store import Plan, PlannedCell, card_bytes
from reports.figures import choose as figures
from reports.figures.choose import note_of, score_note, seeds_text, titles_of, write_figures
from reports.figures.data import Figures
from reports.load import load
from reports.statistics.table import TableStatistics

CPU = {"device": {"type": "cpu", "name": "x86_64", "threads": 2}, "precision": "float32"}
HEALTH = [
    {"epoch": epoch, "effective_rank": 4.0 + epoch, "retrieval": 0.2, "retrieval_chance": 0.1} for epoch in (0, 1)
]


def with_sweep(plan: Plan) -> Plan:
    """MoCo as a method; the ablation's place is taken by a sweep of PMQ's queue, one of whose values is PMQ's own."""
    roles = {name: {"role": "method", "of": "", "knob": "", "value": None} for name in ("random", "moco", "pmq")}
    swept = {f"pmq:queue_size={size}": size for size in (1024, 2048)}
    roles |= {name: {"role": "sweep", "of": "pmq", "knob": "queue_size", "value": size} for name, size in swept.items()}
    few = [cell for cell in plan.cells if cell.ratio == 0.01]
    changed = [
        *[replace(cell, variant="pmq:queue_size=2048") for cell in few if cell.variant == "pmq"],
        *[replace(cell, variant="pmq:queue_size=1024") for cell in few if cell.variant == "pmq:w/o mask_t"],
    ]
    kept = [cell for cell in plan.cells if cell.variant != "pmq:w/o mask_t"]
    variants = {name: title for name, title in plan.variants.items() if name in roles} | {name: name for name in swept}
    datasets = {name: facts | {"classes": ["A", "B"]} for name, facts in plan.datasets.items()}
    return replace(plan, variants=variants, roles=roles, datasets=datasets, cells=[*kept, *changed])


@pytest.fixture
def full_store(write_store: Callable[..., Path]) -> Path:
    """A store with a sweep, two ratios and cards of three pretrainings."""
    root = write_store(complete=True, alter_plan=with_sweep)
    for place, name in enumerate(("random", "moco", "pmq")):
        trained = {"loss": [2.0], "seconds": 60.0 * place} if place else {}
        folder = root / "pretrained" / digest(name)
        folder.mkdir(parents=True, exist_ok=True)
        card = {"key": folder.name, **CPU, "health": HEALTH, **trained}
        (folder / "pretraining.json").write_bytes(card_bytes(card))
    return root


def draw(root: Path, out: Path, units: Iterable[str] = ("heartbeat",)) -> Figures:
    return write_figures(load(root), out, list(units), {})


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Nothing is drawn: name of each figure that would be -> its small print."""
    said: dict[str, str] = {}

    def keep(*given: Any, **how: Any) -> tuple[Path, ...]:
        note, stem = given[-2:]
        assert stem.name not in said
        said[stem.name] = note
        return ()

    for name in [name for name in vars(figures) if name.startswith("plot_")]:
        monkeypatch.setattr(figures, name, keep)
    return said


ALL = [
    "finetune-heartbeat-pmq-queue-size",
    "finetune-heartbeat-label-efficiency",
    "finetune-heartbeat-confusion-ptb-xl",
    "finetune-heartbeat-confusion-chapman",
    "training",
]


def test_a_full_store_gives_all_its_figures(full_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    widths: set[float] = set()
    save = Figure.savefig
    monkeypatch.setattr(Figure, "savefig", lambda own, *a, **k: (widths.add(own.get_figwidth()), save(own, *a, **k)))
    found = draw(full_store, tmp_path)
    assert found.problems == ()
    assert [file.name for file in found.files] == [f"{name}.{kind}" for name in ALL for kind in ("png", "pdf")]
    for file in found.files:
        assert file.parent == tmp_path / "figures"
        assert file.read_bytes()[:4] == {".png": b"\x89PNG", ".pdf": b"%PDF"}[file.suffix]
    assert widths <= {3.5, 7.2}


def test_a_plan_without_cells_gives_none(write_store: Callable[..., Path], tmp_path: Path) -> None:
    root = write_store(alter_plan=lambda plan: replace(plan, cells=[]))
    assert draw(root, tmp_path / "out") == Figures((), ())
    assert not (tmp_path / "out").exists()


def test_a_figure_has_no_less_than_its_numbers(
    write_store: Callable[..., Path], tmp_path: Path, undrawn: dict[str, str]
) -> None:
    """No card, no sweep, and one ratio."""

    def one_ratio(plan: Plan) -> Plan:
        datasets = {name: facts | {"classes": ["A", "B"]} for name, facts in plan.datasets.items()}
        return replace(plan, datasets=datasets, cells=[cell for cell in plan.cells if cell.ratio == 0.3])

    assert draw(write_store(alter_plan=one_ratio), tmp_path) == Figures((), ())
    assert sorted(undrawn) == ["finetune-heartbeat-confusion-chapman", "finetune-heartbeat-confusion-ptb-xl"]


def test_scores_are_drawn_in_each_unit_that_is_asked_for(
    full_store: Path, tmp_path: Path, undrawn: dict[str, str]
) -> None:
    draw(full_store, tmp_path, ("heartbeat", "recording"))
    per_recording = [name.replace("heartbeat", "recording") for name in ALL]
    assert set(undrawn) == {*ALL, *per_recording}


def test_a_figure_that_fails_is_named_and_the_others_are_drawn(
    full_store: Path, tmp_path: Path, undrawn: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr(figures, "plot_label_efficiency", fail)
    found = draw(full_store, tmp_path)
    assert found.problems == ("figure of label efficiency, finetune per heartbeat: ZeroDivisionError: by hand",)
    assert set(undrawn) == set(ALL) - {"finetune-heartbeat-label-efficiency"}


def test_the_small_print_says_what_a_reader_must_know(
    full_store: Path, tmp_path: Path, undrawn: dict[str, str]
) -> None:
    draw(full_store, tmp_path)
    assert all("Simulated ECG" in note for note in undrawn.values())
    sweep = undrawn["finetune-heartbeat-pmq-queue-size"]
    assert "per heartbeat, fine-tuned with 1 % of the labels" in sweep
    assert "mean±std over seeds 41, 42 (one pretraining)" in sweep
    assert "Ring: the method's own value" in sweep
    assert "heartbeats over 2 seeds" in undrawn["finetune-heartbeat-confusion-ptb-xl"]


def test_differences_are_drawn_from_the_statistics(full_store: Path, tmp_path: Path, undrawn: dict[str, str]) -> None:
    pair = {"ratio": 0.3, "dataset": "", "metric": "overall", "difference": 0.02, "low": 0.01, "high": 0.03}
    frames = {
        "intervals": pd.DataFrame([{"ratio": 0.3, "metric": "overall", "variant": "random", "mean": 0.5}]),
        "pairwise": pd.DataFrame([pair | {"first": "pmq", "second": "random", "p_holm": 0.01, "p_equivalent": 0.5}]),
    }
    statistics = {"finetune-heartbeat": TableStatistics(frames=frames)}
    write_figures(load(full_store), tmp_path, ["heartbeat"], statistics)
    note = undrawn["finetune-heartbeat-differences-in-overall"]
    assert note.startswith(
        "Overall (mean of all columns) minus that of Random, fine-tuned, per heartbeat; seeds 41, 42"
    )
    assert set(undrawn) == {*ALL, "finetune-heartbeat-differences-in-overall"}


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


def test_the_small_print_says_what_is_simulated_and_counts_warnings() -> None:
    assert note_of(plan(41, simulated=True), ["ptb-xl"]) == "Simulated ECGs: no ranking of methods follows."
    assert note_of(plan(41), ["ptb-xl"]) == ""
    assert note_of(replace(plan(41), pretraining={"simulated": True}), [], "A.").startswith("A. Simulated ECGs")
    warned = replace(plan(41), warnings=["a leak", "another", "a third"])
    assert note_of(warned, []) == "Warning: a leak (2 more under the tables)."


def test_a_note_names_unit_evaluation_and_ratio() -> None:
    note = score_note(plan(41), "finetune", "recording", 0.01)
    assert note.startswith("Macro F1 per recording, fine-tuned with 1 % of the labels; one seed (41)")
    assert "Overall" not in note
    assert titles_of(plan(41), ["pmq", "pmq"]) == {"pmq": "PMQ"}
