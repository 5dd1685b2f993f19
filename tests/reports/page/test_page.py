"""The page: well-formed, closed to the network and to hostile text, bounded; its sentences and titles."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmark.results.files import write_atomic
from benchmark.results.store import Plan, Predictions, Row, Store, card_bytes
from reports import page as page_module
from reports.load import load
from reports.page import (
    TEMPLATES,
    Picture,
    against_gates,
    compared,
    dotted,
    pictures_of,
    references,
    statements,
)
from reports.page_panels import SkippedRecording
from reports.tables.render import Block, Line, Score

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (720).to_bytes(4, "big") + (400).to_bytes(4, "big") + bytes(3000)
HOSTILE = "</script><script>alert(1)</script><!-- \"'>&amp;{{ 7*7 }}{% raw %}漢<img src=x onerror=alert(1)>"
REMOTE = re.compile(r"(?:https?:)?//[a-z]", re.IGNORECASE)
CARD: dict[str, Any] = {
    "seed": 42,
    "loss": [3.0, 2.0],
    "health_sample": {"windows_sha256": "here"},
    "health": [{"epoch": 0, "effective_rank": 9.0, "mean_cosine": 0.9}, {"epoch": 1, "effective_rank": 1.5}],
}


def number_cells(tree: Any) -> list[Any]:
    """The cells of the tables of scores, in the order of the page."""
    rows = [row for row in tree.all("tr") if row.attributes.get("class") in ("line", "line gate")]
    return [cell for row in rows for cell in row.all("td")]


def test_the_page_is_well_formed_and_shows_every_number(parts: Any, parse: Callable[[str], Any]) -> None:
    tree = parse(parts.page())
    ids = [element.attributes["id"] for tag in ("section", "h2", "caption", "div") for element in tree.all(tag)
           if "id" in element.attributes]  # fmt: skip
    assert len(ids) == len(set(ids))
    links = {link.attributes["href"] for link in tree.all("nav")[0].all("a")}
    assert links == {f"#{section.attributes['id']}" for section in tree.all("section")}
    shown = [cell.words().strip() for cell in number_cells(tree)]
    scores = [s for table in parts.tables for block in table.blocks for line in block.lines for s in line.scores]
    assert len(shown) == len(scores)
    assert all(text.startswith(score.printed) for text, score in zip(shown, scores, strict=True))


def test_best_ties_gates_and_footnotes_are_those_of_the_tables(
    write_store: Callable[..., Path], parts_of: Any, parse: Callable[[str], Any]
) -> None:
    roles = {name: {"role": "gate" if name == "random" else "method", "of": "", "knob": "", "value": None}
             for name in ("random", "moco", "pmq", "pmq:w/o mask_t")}  # fmt: skip
    parts = parts_of(write_store(alter_plan=lambda plan: replace(plan, roles=roles)))
    tree = parse(parts.page())
    scores = [s for table in parts.tables for block in table.blocks for line in block.lines for s in line.scores]
    cells = number_cells(tree)
    assert len(cells) == len(scores)
    for cell, score in zip(cells, scores, strict=True):
        assert bool(cell.all("strong")) == score.best
        assert ("≈" in cell.words()) == score.tie
        assert [mark.text for mark in cell.all("sup")] == ([score.mark] if score.mark else [])
    assert any(score.best for score in scores)
    gates = [row.all("th")[0].text for row in tree.all("tr") if row.attributes.get("class") == "line gate"]
    assert set(gates) == {"Random"}


def test_nothing_is_loaded(parts: Any, parse: Callable[[str], Any]) -> None:
    page = parts.page()
    assert not REMOTE.search(page)
    tree = parse(page)
    elements = [element for tag in ("img", "script", "link", "iframe", "object") for element in tree.all(tag)]
    sources = [element.attributes.get("src") or element.attributes.get("href") for element in elements]
    assert [source for source in sources if source and not source.startswith("data:")] == []


def hostile_plan(plan: Plan) -> Plan:
    return replace(
        plan,
        config=plan.config | {"name": HOSTILE, "caption": HOSTILE, HOSTILE: HOSTILE},
        variants=dict.fromkeys(plan.variants, HOSTILE),
        datasets={name: facts | {"title": HOSTILE, "skipped": {HOSTILE: 1}} for name, facts in plan.datasets.items()},
        pretraining=plan.pretraining | {"title": HOSTILE},
        warnings=[HOSTILE],
    )


def hostile_row(row: Row) -> Row:
    return replace(
        row,
        pretrain_key="encoder",
        notes=[HOSTILE],
        counts={"test_windows": 1},
        undefined={"heartbeat": dict.fromkeys(row.undefined["heartbeat"], HOSTILE)},
        coverage={HOSTILE: {"patients": 3, "unscored": {HOSTILE: HOSTILE}}},
        provenance={
            "config": {HOSTILE: HOSTILE},
            "git": {"commit": HOSTILE, "dirty": True, "diff": HOSTILE},
            "device": {"type": HOSTILE, "name": HOSTILE},
            "precision": HOSTILE,
            "versions": {HOSTILE: HOSTILE},
            "data": {HOSTILE: HOSTILE},
        },
    )


def test_hostile_text_stays_text(write_store: Callable[..., Path], parts_of: Any, parse: Callable[[str], Any]) -> None:
    """The same elements with the same attributes stand there as with harmless text in all the same places."""

    def page(text: str) -> str:
        def tamed(value: Any) -> Any:
            return json.loads(json.dumps(value).replace(json.dumps(HOSTILE)[1:-1], json.dumps(text)[1:-1]))

        root = write_store(
            f"runs-{len(text)}",
            alter=lambda row: Row(**tamed(asdict(hostile_row(row)))),
            alter_plan=lambda plan: replace(plan, **{
                name: tamed(getattr(hostile_plan(plan), name))
                for name in ("config", "variants", "datasets", "pretraining", "warnings")
            }),
        )  # fmt: skip
        store = Store(root)
        for key in store.failures([cell.key for cell in store.load_plan().cells]):
            store.save_failure(key, "fine-tune", text, text)
        write_atomic(store.pretrained / "encoder" / "pretraining.json", json.dumps(
            CARD | {"device": {"name": text}, "precision": text}).encode())  # fmt: skip
        skipped = [SkippedRecording(dataset, text, text, text) for dataset in ("ptb-xl", "chapman")]
        return str(parts_of(root).page(skipped=skipped, pictures=[Picture(text, root / "none")], problems=[text]))

    def shape(element: Any) -> Any:
        return element.tag, list(element.attributes), [shape(child) for child in element.children]

    hostile, harmless = page(HOSTILE), page("harmless")
    tree, other = parse(hostile), parse(harmless)
    assert shape(tree) == shape(other)
    assert len(tree.all("script")) == 1
    cut = 2  # the footers of both tables show the first letters of a commit
    assert harmless.count("harmless") == hostile.count("alert(1)&lt;/script&gt;") + cut


def test_a_card_has_a_line_and_every_table_scrolls_in_its_own_box(
    parts: Any, store_root: Path, parts_of: Any, parse: Callable[[str], Any]
) -> None:
    key = next(iter(parts.run.rows.values())).pretrain_key
    assert "health" not in {section.attributes["id"] for section in parse(parts.page()).all("section")}
    last = CARD["health"][-1] | {"mean_cosine": 0.5}
    card = CARD | {"health": [CARD["health"][0], last]}
    write_atomic(store_root / "pretrained" / key / "pretraining.json", card_bytes(card | {"key": key}))
    tree = parse(parts_of(store_root).page())
    (health,) = [section for section in tree.all("section") if section.attributes["id"] == "health"]
    assert "collapsed" in health.words()
    assert "9.00 → 1.50" in health.words()
    boxes = [own for own in tree.all("div") if own.attributes.get("class") == "scroll"]
    held = [table for box in boxes for table in box.all("table")]
    assert "health" in {table.attributes["class"] for table in held}
    assert len(held) == len(tree.all("table"))
    assert {(box.attributes["role"], box.attributes["tabindex"]) for box in boxes} == {("region", "0")}  # for keys too
    (style,) = re.findall(r"^\.scroll \{([^}]*)\}", (TEMPLATES / "report.css").read_text(), re.MULTILINE)
    assert "overflow-x: auto" in style
    assert "max-width: 100%" in style


def test_a_plan_without_rows_has_a_page_and_a_full_grid_fits(
    parts: Any, store_root: Path, parts_of: Any, parse: Any
) -> None:
    """540 cells are fifteen times the made-up store's; the style and the script stand there once."""
    page = len(parts.page().encode())
    fixed = sum(file.stat().st_size for file in TEMPLATES.iterdir())
    assert fixed < 40_000
    assert fixed + 15 * (page - fixed) < 2_000_000
    for file in (store_root / "cells").iterdir():
        file.unlink()
    tree = parse(parts_of(store_root).page())
    assert "0 of 36 cells are finished, 36 not run." in [line.text for line in tree.all("p")]


def test_figures_stand_in_the_page_until_it_is_full(
    parts: Any, parse: Callable[[str], Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pictures = [Picture(f"Figure {number}", tmp_path / f"f{number}.png") for number in range(4)]
    for _, file in pictures[:3]:
        file.write_bytes(PNG)
    small = len(parts.page().encode())
    monkeypatch.setattr(page_module, "MAX_BYTES", small + 4000 + 2 * 5000)
    page = parts.page(pictures=pictures)
    assert len(page.encode()) <= small + 14000
    tree = parse(page)
    assert [image.attributes["alt"] for image in tree.all("img")] == ["Figure 0", "Figure 1"]
    assert tree.all("img")[0].attributes["width"] == "432"
    words = tree.words()
    assert "Figure 2: left out for the size of this page; it is in f2.png." in words
    assert "Figure 3: f3.png cannot be read (No such file or directory)." in words


def test_the_same_rows_give_the_same_bytes(write_store: Callable[..., Path], parts_of: Any) -> None:
    one = parts_of(write_store("one")).page()
    other = parts_of(write_store("other", backwards=True)).page()
    assert one == other


def test_predictions_are_no_part_of_the_page(write_store: Callable[..., Path], parts_of: Any) -> None:
    """Recordings and patients are named only where they were skipped."""
    root = write_store()
    store = Store(root)
    key = store.row_keys()[0]
    row = store.load_row(key)
    assert row is not None
    secret = np.array(["patient-zero", "patient-one"])
    store.save_row(row, Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), secret, secret))
    for other in store.row_keys():
        found = store.load_row(other)
        assert found is not None
        store.save_row(found, Predictions(np.eye(2, dtype=np.float32), np.eye(2, dtype=np.int64), secret, secret))
    page = parts_of(root).page()
    assert "patient-zero" not in page
    assert "p7" not in page


def test_the_page_begins_with_a_verdict_and_pictures_stand_by_what_they_explain(
    parts: Any, parse: Callable[[str], Any], tmp_path: Path
) -> None:
    names = ("finetune-heartbeat-label-efficiency", "finetune-heartbeat-differences-in-overall", "training", "more")
    for name in names:
        (tmp_path / f"{name}.png").write_bytes(PNG)
    tree = parse(parts.page(pictures=[Picture(name, tmp_path / f"{name}.png") for name in names]))
    first, second, *_ = tree.all("section")
    assert (first.attributes["id"], second.attributes["id"]) == ("verdict", "summary")
    assert "Simulated ECGs" in first.words() or "simulated" in first.words()
    assert "With one pretraining each, " in first.words()
    assert "Overall minus that of Random in points" in first.words()
    places = {
        section.attributes["id"]: [image.attributes["alt"] for image in section.all("img")]
        for section in tree.all("section")
    }
    assert {place: titles for place, titles in places.items() if titles} == {
        "verdict": [names[1]],
        "table-1": [names[0]],
        "figures": [*names[2:]],
    }


def test_figures_fit_the_page_and_turn_dark_with_it() -> None:
    style = (TEMPLATES / "report.css").read_text()
    light, dark = re.findall(r"--turned: ([^;]*);", style)
    assert (light, "invert" in dark) == ("none", True)
    (image,) = re.findall(r"^\.paper img \{([^}]*)\}", style, re.MULTILINE)
    assert "max-width: 100%" in image
    assert "filter: var(--turned)" in image


NAN = float("nan")


def line(variant: str, overall: float | None, columns: int = 2, gate: bool = False) -> Line:
    spread = "" if columns == 2 else f" (k={columns})"
    return Line(variant, variant.upper(), (Score(overall, None, columns, 2, (), "", spread),), gate)


def against(*lines: Line, pairs: pd.DataFrame | None = None) -> list[str]:
    return list(references(Block(0.1, "10 % of the labels", lines), pairs))


def pair(first: str, second: str, low: float, high: float, metric: str = "overall", ratio: float = 0.1) -> pd.DataFrame:
    return pd.DataFrame(
        [{"ratio": ratio, "metric": metric, "first": first, "second": second, "low": low, "high": high}]
    )


LINES = (line("a", 51.0), line("b", 59.3), line("random", 57.2), line("features", 76.6, gate=True))


@pytest.mark.parametrize(
    ("lines", "sentences"),
    [
        (LINES, ["B, 59.3, against RANDOM, 57.2: +2.1 points; FEATURES, 76.6: −17.3 points."]),
        ((line("a", 90.0, columns=1), *LINES[1:3], line("frozen", 95.0, columns=1, gate=True)),
         ["B, 59.3, against RANDOM, 57.2: +2.1 points; FROZEN, 95.0 (k=1): not over the same columns."]),
        ((*LINES[2:], line("b", None)), ["Overall of the reference rows: RANDOM 57.2; FEATURES 76.6."]),
        (LINES[:2], []),
        ((line("random", None), LINES[0]), []),
    ],
)  # fmt: skip
def test_the_best_method_is_held_against_random_and_every_gate(lines: tuple[Line, ...], sentences: list[str]) -> None:
    assert against(*lines) == [f"10 % of the labels: {sentence}" for sentence in sentences]


@pytest.mark.parametrize(
    "pairs", [pair("b", "random", -0.004, 0.046), pair("random", "b", -0.046, 0.004)], ids=["as named", "turned"]
)
def test_the_interval_of_a_difference_is_given_where_there_is_one(pairs: pd.DataFrame) -> None:
    (sentence,) = against(*LINES, pairs=pairs)
    assert "RANDOM, 57.2: +2.1 points (95 % interval −0.4 to +4.6); FEATURES, 76.6: −17.3 points." in sentence
    others = [pair("a", "random", 0, 1), pair("b", "random", 0, 1, "f1"), pair("b", "random", 0, 1, ratio=0.3)]
    (sentence,) = against(*LINES, pairs=pd.concat([*others, pair("b", "random", NAN, NAN)]))
    assert "interval" not in sentence


def test_a_class_without_a_test_window_is_a_warning(write_store: Callable[..., Path]) -> None:
    def noted(row: Row) -> Row:
        over = "NORM" if row.variant == "pmq" else "NORM, HYP, with 0 for HYP"
        own = ["no test window of class HYP: macro AUROC is over NORM", f"macro F1 is over {over}", "odd"]
        return replace(row, notes=own if row.dataset == "ptb-xl" else [])

    told = "PTB-XL: no test window of class HYP: macro AUROC is over NORM"
    differ = "; macro F1 is not over the same classes in every row (see the notes under the table)."
    warnings = [text for text, warns in statements(load(write_store(alter=noted)), []) if warns]
    assert warnings[-1] == f"{told}{differ}"
    alike = load(write_store("alike", alter=lambda row: replace(noted(row), notes=noted(row).notes[:1])))
    assert [text for text, warns in statements(alike, []) if warns][-1] == f"{told}."


def test_what_is_missing_or_simulated_comes_as_a_warning(store_root: Path, parts: Any) -> None:
    run = load(store_root)
    plan = replace(run.plan, warnings=["a leak"])
    found = list(statements(replace(run, plan=plan), []))
    assert found[0] == ("33 of 36 cells are finished, 1 failed, 2 not run.", True)
    assert [text for text, warns in found if warns][1:] == [
        "Some of the ECGs are simulated: no ranking of methods follows from these numbers.",
        "a leak.",
    ]
    assert found[-1] == ("A config's own words.", False)
    real = {name: facts | {"simulated": False} for name, facts in plan.datasets.items()}
    plan = replace(plan, datasets=real, pretraining=plan.pretraining | {"simulated": False})
    assert not [text for text, _ in statements(replace(run, plan=plan), []) if "simulated" in text]
    ((_, sentences), *_) = against_gates(parts.tables, parts.statistics)
    assert [sentence.split(":")[0] for sentence in sentences] == ["30 % of the labels", "1 % of the labels"]
    assert sentences[0].endswith(", against Random, 62.5: +20.0 points.")


def test_rows_are_named_by_what_they_are_for(store_root: Path) -> None:
    plan = load(store_root).plan
    gate = {"role": "gate", "of": "", "knob": "", "value": None}
    found = dict(compared(replace(plan, roles={"random": gate})))
    assert found["Gates (reference rows)"] == "Random"
    assert found["Methods"].startswith("MoCo, PMQ, ")
    assert (found["Datasets"], found["Pretrained on"]) == ("PTB-XL, Chapman", "MIMIC-IV-ECG")
    used = replace(plan, pretraining=plan.pretraining | {"used_recordings": 70, "used_patients": 7})
    assert dict(compared(used))["Pretrained on"] == "MIMIC-IV-ECG, 70 of its 90 recordings, of 7 patients"


PLAN = {"seeds": [41, 42], "pretrain": {"epochs": 3, "recipe": {"lr": 1e-3}}, "name": "demo", "knobs": {}}


def test_a_config_stands_by_dotted_keys() -> None:
    assert dict(dotted(PLAN)) == {
        "seeds": "[41, 42]", "pretrain.epochs": "3", "pretrain.recipe.lr": "0.001", "name": "demo", "knobs": "{}",
    }  # fmt: skip


TITLES = {"ptb-xl": "PTB-XL", "pmq": "PMQ", "pmq-released": "PMQ (released)"}


@pytest.mark.parametrize(
    ("stem", "title"),
    [
        ("finetune-heartbeat-confusion-ptb-xl", "Fine-tuned, per heartbeat: confusion, PTB-XL"),
        ("linear-recording-pmq-queue-size", "Linear probe, per recording: PMQ, queue size"),
        ("finetune-heartbeat-pmq-released-momentum", "Fine-tuned, per heartbeat: PMQ (released), momentum"),
        ("finetune-heartbeat-label-efficiency", "Fine-tuned, per heartbeat: label efficiency"),
        ("training", "Training"),
    ],
)
def test_a_title_has_the_titles_of_what_is_shown(stem: str, title: str) -> None:
    files = [Path(f"{stem}.png"), Path(f"{stem}.pdf")]
    assert [picture.title for picture in pictures_of(files, TITLES)] == [title]
