"""The page as a whole: well-formed, closed to the network and to hostile text, bounded, the same for the same rows."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable
from dataclasses import asdict, replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmark.results.files.write import write_atomic
from benchmark.results.plan import Plan
from benchmark.results.rows import Predictions, Row
from benchmark.results.store import Store
from reports.html import Picture, SkippedRecording
from reports.html import page as page_module
from reports.html.template import TEMPLATES

PNG = b"\x89PNG\r\n\x1a\n" + b"\0\0\0\rIHDR" + (720).to_bytes(4, "big") + (400).to_bytes(4, "big") + bytes(3000)
HOSTILE = (
    "</script><script>alert(1)</script><!-- \"'>&amp;{{ 7*7 }}{% raw %}\u2028\u202e漢\x00\ud800"
    "<img src=x onerror=alert(1)>"
)
HARMFUL = re.compile("[\u2028\u202e\x00\ud800]")
HARMLESS = HARMFUL.sub("?", HOSTILE)
REMOTE = re.compile(r"(?:https?:)?//[a-z]", re.IGNORECASE)
CARD: dict[str, Any] = {
    "seed": 42,
    "loss": [3.0, 2.0],
    "health": [{"epoch": 0, "effective_rank": 9.0, "mean_cosine": 0.9}, {"epoch": 1, "effective_rank": 1.5}],
}


def data_of(tree: Any) -> dict[str, Any]:
    (block,) = [script for script in tree.all("script") if script.attributes.get("type") == "application/json"]
    found: dict[str, Any] = json.loads(block.text)
    return found


def test_the_page_is_well_formed_and_shows_every_number(parts: Any, parse: Callable[[str], Any]) -> None:
    tree = parse(parts.page())
    ids = [element.attributes["id"] for tag in ("section", "h2", "caption", "div") for element in tree.all(tag)
           if "id" in element.attributes]  # fmt: skip
    assert len(ids) == len(set(ids))
    links = {link.attributes["href"] for link in tree.all("nav")[0].all("a")}
    assert links == {f"#{section.attributes['id']}" for section in tree.all("section")}
    shown = [element.text for element in tree.all("button") if "data-cells" in element.attributes]
    scores = [s for table in parts.tables for block in table.blocks for line in block.lines for s in line.scores]
    assert shown == [score.printed for score in scores]


def test_best_ties_gates_and_footnotes_are_those_of_the_tables(
    write_store: Callable[..., Path], parts_of: Any, parse: Callable[[str], Any]
) -> None:
    roles = {name: {"role": "gate" if name == "random" else "method", "of": "", "knob": "", "value": None}
             for name in ("random", "moco", "pmq", "pmq:w/o mask_t")}  # fmt: skip
    parts = parts_of(write_store(alter_plan=lambda plan: replace(plan, roles=roles)))
    tree = parse(parts.page())
    scores = [s for table in parts.tables for block in table.blocks for line in block.lines for s in line.scores]
    cells = [cell for cell in tree.all("td") if cell.all("button")]
    assert len(cells) == len(scores)
    for cell, score in zip(cells, scores, strict=True):
        assert (cell.all("button")[0].attributes.get("class") == "best") == score.best
        assert ("≈" in cell.words()) == score.tie
        assert [mark.text for mark in cell.all("sup")] == ([score.mark] if score.mark else [])
    assert any(score.best for score in scores)
    gates = [row.all("th")[0].text for row in tree.all("tr") if row.attributes.get("class") == "line gate"]
    assert set(gates) == {"Random"}


def test_every_cell_can_be_reached_and_tells_where_it_comes_from(parts: Any, parse: Callable[[str], Any]) -> None:
    tree = parse(parts.page())
    data = data_of(tree)
    reached = {
        int(place) for button in tree.all("button") for place in (button.attributes.get("data-cells") or "").split()
    }
    assert reached == set(range(len(data["cells"])))
    assert [cell["key"] for cell in data["cells"]] == [cell.key for cell in parts.run.plan.cells]
    states = [cell["state"] for cell in data["cells"]]
    assert (states.count("finished"), states.count("failed"), states.count("not run")) == (33, 1, 2)
    for cell in data["cells"]:
        assert ("origin" in cell) == (cell["state"] == "finished")
        assert cell.get("origin", 0) < len(data["origins"])


def test_nothing_is_loaded_and_only_the_own_script_may_run(parts: Any, parse: Callable[[str], Any]) -> None:
    page = parts.page()
    assert not REMOTE.search(page)
    tree = parse(page)
    elements = [element for tag in ("img", "script", "link", "iframe", "object") for element in tree.all(tag)]
    sources = [element.attributes.get("src") or element.attributes.get("href") for element in elements]
    assert [source for source in sources if source and not source.startswith("data:")] == []
    (policy,) = [meta.attributes["content"] for meta in tree.all("meta") if "http-equiv" in meta.attributes]
    assert policy.startswith("default-src 'none'; img-src data:;")
    own = [tree.all("style")[0].text, tree.all("script")[-1].text]
    for text in own:
        assert f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" in policy
    assert "unsafe" not in policy
    assert "innerHTML" not in own[1]
    assert not [a for tag in ("div", "td", "tr", "button") for e in tree.all(tag) for a in e.attributes if a == "style"]


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
            store.save_failure(key, "fine-tune", text.replace("\u2028", " "), text)  # which would end a line
        write_atomic(store.pretrained / "encoder" / "pretraining.json", json.dumps(
            CARD | {"device": {"name": text}, "precision": text}).encode())  # fmt: skip
        skipped = [SkippedRecording(dataset, text, text, HARMFUL.sub("?", text)) for dataset in ("ptb-xl", "chapman")]
        return str(parts_of(root).page(skipped=skipped, pictures=[Picture(text, root / "none")], problems=[text]))

    def shape(element: Any) -> Any:
        return element.tag, list(element.attributes), [shape(child) for child in element.children]

    hostile, harmless = page(HOSTILE), page("harmless")
    tree, other = parse(hostile), parse(harmless)
    assert shape(tree) == shape(other)
    assert len(tree.all("script")) == 2
    escaped = ("alert(1)&lt;/script&gt;", "alert(1)\\u003c/script\\u003e")
    cut = 2  # the footers of both tables show the first letters of a commit
    assert harmless.count("harmless") == sum(hostile.count(text) for text in escaped) + cut
    assert data_of(tree)["cells"][0]["notes"] == [HARMLESS]
    assert "\u202e" not in hostile
    assert "\\u202e" not in hostile
    hostile.encode()


def test_a_card_that_has_collapsed_features_says_so(
    parts: Any, store_root: Path, parts_of: Any, parse: Callable[[str], Any]
) -> None:
    key = next(iter(parts.run.rows.values())).pretrain_key
    assert "health" not in {section.attributes["id"] for section in parse(parts.page()).all("section")}
    last = CARD["health"][-1] | {"mean_cosine": 0.5}
    card = CARD | {"health": [CARD["health"][0], last]}
    write_atomic(store_root / "pretrained" / key / "pretraining.json", json.dumps(card).encode())
    (health,) = [s for s in parse(parts_of(store_root).page()).all("section") if s.attributes["id"] == "health"]
    assert "collapsed" in health.words()
    assert "9.00 → 1.50" in health.words()


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


def test_a_plan_without_rows_has_a_page(write_store: Callable[..., Path], parts_of: Any, parse: Any) -> None:
    root = write_store()
    for file in (root / "cells").iterdir():
        file.unlink()
    tree = parse(parts_of(root).page())
    assert "0 of 36 cells are finished, 36 not run." in [line.text for line in tree.all("p")]
    assert {cell["state"] for cell in data_of(tree)["cells"]} == {"not run"}


def test_a_full_grid_fits_without_figures(parts: Any) -> None:
    """540 cells are fifteen times the made-up store's; the style and the script stand there once."""
    page = len(parts.page().encode())
    fixed = sum(file.stat().st_size for file in TEMPLATES.iterdir())
    assert fixed < 40_000
    assert fixed + 15 * (page - fixed) < 2_000_000


def test_a_shared_key_is_one_cell(write_store: Callable[..., Path], parts_of: Any, parse: Any) -> None:
    """A sweep's value that is the method's own has the method's cells."""

    def with_twin(plan: Plan) -> Plan:
        twins = [replace(cell, variant="pmq:m=1") for cell in plan.cells if cell.variant == "pmq"]
        return replace(plan, variants=plan.variants | {"pmq:m=1": "Twin"}, cells=[*plan.cells, *twins])

    tree = parse(parts_of(write_store(alter_plan=with_twin)).page())
    assert len(data_of(tree)["cells"]) == 36
    rows = {row.all("th")[0].text: row for row in tree.all("tr") if row.attributes.get("class") == "line"}
    numbers = {title: [b.attributes["data-cells"] for b in row.all("button")] for title, row in rows.items()}
    assert numbers["Twin"] == numbers["PMQ"]


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


def test_the_page_begins_with_a_verdict_and_its_picture(
    parts: Any, parse: Callable[[str], Any], tmp_path: Path
) -> None:
    names = ("finetune-heartbeat-label-efficiency", "finetune-heartbeat-differences-in-overall")
    for name in names:
        (tmp_path / f"{name}.png").write_bytes(PNG)
    tree = parse(parts.page(pictures=[Picture(name, tmp_path / f"{name}.png") for name in names]))
    first, second, *_ = tree.all("section")
    assert (first.attributes["id"], second.attributes["id"]) == ("verdict", "summary")
    assert [image.attributes["alt"] for image in first.all("img")] == [names[1]]
    assert "Simulated ECGs" in first.words() or "simulated" in first.words()
    assert "Overall minus that of Random in points" in first.words()
    (figures,) = [section for section in tree.all("section") if section.attributes["id"] == "figures"]
    assert [image.attributes["alt"] for image in figures.all("img")] == [names[0]]


def test_figures_fit_the_page_and_turn_dark_with_it() -> None:
    style = (TEMPLATES / "report.css").read_text()
    light, dark = re.findall(r"--turned: ([^;]*);", style)
    assert (light, "invert" in dark) == ("none", True)
    (image,) = re.findall(r"^\.paper img \{([^}]*)\}", style, re.MULTILINE)
    assert "max-width: 100%" in image
    assert "filter: var(--turned)" in image


def test_every_table_scrolls_in_its_own_box(
    parts: Any, store_root: Path, parts_of: Any, parse: Callable[[str], Any]
) -> None:
    key = next(iter(parts.run.rows.values())).pretrain_key
    write_atomic(store_root / "pretrained" / key / "pretraining.json", json.dumps(CARD).encode())
    tree = parse(parts_of(store_root).page())
    boxes = [own for own in tree.all("div") if own.attributes.get("class") == "scroll"]
    held = [table for box in boxes for table in box.all("table")]
    assert "health" in {table.attributes["class"] for table in held}
    assert len(held) == len(tree.all("table"))
    assert {(box.attributes["role"], box.attributes["tabindex"]) for box in boxes} == {("region", "0")}  # for keys too
    (style,) = re.findall(r"^\.scroll \{([^}]*)\}", (TEMPLATES / "report.css").read_text(), re.MULTILINE)
    assert "overflow-x: auto" in style
    assert "max-width: 100%" in style
