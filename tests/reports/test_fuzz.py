"""Stores and capsules damaged or forged at random: reported, or refused in one line; never a crash or another file."""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Callable
from dataclasses import asdict, replace
from io import StringIO
from pathlib import Path
from zipfile import ZipFile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.results.files import csv_cell
from benchmark.results.names import CARD
from benchmark.results.store import CorruptRow, NoResults, Plan, Row, Store, card_bytes
from reports.build import build_report
from reports.open import CONTENTS, BadCapsule, open_results, pack, unpack
from reports.page import report_html
from reports.runs import Run, evaluations_of, layouts, open_run, wide
from reports.tables.further import cost_files, cost_lines
from reports.tables.render import latex, long_csv, markdown
from reports.tables.table import make_table
from tests.damage import BOUNDED, BYTES, EDITS, Edits, Replacements, cases, edited, replaced

pytestmark = pytest.mark.slow
MANY, HALF = (settings(BOUNDED, max_examples=cases(count)) for count in (2000, 1000))
"""Cases of a reader with one test and with two."""
CARD_BODY = {
    "encoder": {"name": "dilated", "output": 64}, "method": "pmq", "seed": 42, "parameters": 1000, "loss": [3.0, 2.0],
    "seconds": 5.5, "windows_per_epoch": 10, "updates": 4, "batch_size": 5, "precision": "float32",
    "device": {"type": "cpu", "name": "x86_64", "threads": 2}, "peak_memory_gib": 0.7, "encoder_passes": 9.0,
    "health": [
        {"epoch": epoch, "effective_rank": 9.0, "mean_cosine": 0.9, "positives_same_recording": None}
        for epoch in (0, 1)
    ],
}  # fmt: skip


def rich_plan(plan: Plan) -> Plan:
    """The plan of the tests with few cells, and with roles and a config such as real ones have."""
    cells = [cell for cell in plan.cells if cell.ratio == 0.3][:9]
    roles = {"role": "method", "of": "", "knob": "", "value": None, "reads_reports": True}
    swept = {"role": "sweep", "of": "pmq", "knob": "queue_size", "value": 7}
    config = {"name": "demo", "methods": ["pmq"], "pretrain": {"text_embedder": "tfidf"}, "seeds": [41, 42]}
    return replace(
        plan,
        config=plan.config | config,
        roles={name: swept if ":" in name else roles for name in plan.variants},
        warnings=["a warning"],
        cells=cells,
    )


def rich_row(row: Row) -> Row:
    facts = {"config": {"seeds": [41]}, "device": {"type": "cpu", "threads": 1}, "versions": {"numpy": "2"}}
    return replace(row, provenance=row.provenance | facts, training=row.training | {"C": 0.1})


@pytest.fixture
def root(write_store: Callable[..., Path]) -> Path:
    """A store of nine cells with rows, cards and failures."""
    root = write_store(alter=rich_row, alter_plan=rich_plan)
    store = Store(root)
    for key in {row.pretrain_key for row in open_run(root).rows.values()}:
        (store.pretrained / key).mkdir(parents=True)
        (store.pretrained / key / CARD).write_text(json.dumps(CARD_BODY))
    return root


def assert_harmless(text: str) -> None:
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2066\ud800]", text)


def rendered(run: Run) -> None:
    """Everything of a report that needs neither statistics nor figures."""
    tables = [make_table(run, layout, "heartbeat") for e in evaluations_of(run.plan) for layout in layouts(run.plan, e)]
    costs = cost_files(cost_lines(run.cards, run.plan.variants))
    cells = wide(run).map(csv_cell).to_csv(index=False)
    for text in (*map(markdown, tables), latex(tables), long_csv(tables), cells, *costs.values()):
        assert_harmless(text)
    assert_harmless(report_html(run, tables, {}))


def said_of(source: Path) -> str:
    """'' for a store or capsule that can be reported, else why not."""
    try:
        with open_results([str(source)]) as opened:
            rendered(opened.run)
    except (NoResults, CorruptRow) as error:
        return str(error)
    return ""


def reported_or_refused(root: Path) -> None:
    before = set(root.parent.rglob("*"))
    assert "\n" not in said_of(root)
    assert set(root.parent.rglob("*")) == before


def row_file(root: Path) -> Path:
    return sorted(Store(root).cells.glob("*[0-9a-f].json"))[0]


def written(file: Path, body: bytes, root: Path) -> None:
    """Put a content in a file's place, report, and put the old one back."""
    own = file.read_bytes()
    file.write_bytes(body)
    try:
        reported_or_refused(root)
    finally:
        file.write_bytes(own)


@pytest.mark.attack("random changes of a plan")
@MANY
@given(edits=EDITS)
def test_any_plan(edits: Edits, root: Path) -> None:
    file = root / "plans" / "plan-of-the-test.json"
    written(file, json.dumps(edited(json.loads(file.read_bytes()), edits)).encode(), root)


@pytest.mark.attack("random changes of a row under a valid digest")
@MANY
@given(edits=EDITS)
def test_any_row_that_vouches_for_itself(edits: Edits, root: Path) -> None:
    key = next(iter(open_run(root).rows))
    file = root / "cells" / f"{key}.json"
    envelope = json.loads(file.read_bytes())
    body = edited(envelope["row"], edits)
    sums = {"row_sha256": hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()}
    written(file, json.dumps(envelope | {"row": body} | sums).encode(), root)


@pytest.mark.attack("random changes of a card")
@HALF
@given(edits=EDITS)
def test_any_card(edits: Edits, root: Path) -> None:
    for file in sorted(root.glob(f"pretrained/*/{CARD}")):
        written(file, json.dumps(edited(CARD_BODY, edits)).encode(), root)
        break


@pytest.mark.attack("random changes of a card under a valid digest")
@HALF
@given(edits=EDITS)
def test_any_card_that_vouches_for_itself(edits: Edits, root: Path) -> None:
    for file in sorted(root.glob(f"pretrained/*/{CARD}")):
        written(file, card_bytes(edited(CARD_BODY, edits) | {"key": file.parent.name}), root)
        break


@pytest.mark.attack("random changes of a stored failure")
@settings(BOUNDED, max_examples=cases(100))
@given(edits=EDITS)
def test_any_failure(edits: Edits, root: Path) -> None:
    run = open_run(root)
    key = next(cell.key for cell in run.plan.cells)
    (root / "cells" / f"{key}.json").unlink(missing_ok=True)
    body = {"key": key, "what": "x", "error": "ValueError: x", "traceback": "Traceback\n  x"}
    (root / "cells" / f"{key}.error.json").write_text(json.dumps(edited(body, edits)))
    reported_or_refused(root)


@pytest.mark.attack("random bytes in any file of a store")
@pytest.mark.parametrize("name", ["plans/latest", "plans/plan-of-the-test.json", "row", "npz", "card"])
@settings(BOUNDED, max_examples=cases(100))
@given(edits=BYTES)
def test_any_bytes(name: str, edits: Replacements, root: Path) -> None:
    found = {
        "row": row_file(root),
        "npz": row_file(root).with_suffix(".npz"),
        "card": next(iter(sorted(root.glob(f"pretrained/*/{CARD}")))),
    }
    file = found.get(name, root / name)
    written(file, replaced(file.read_bytes(), edits), root)


def opened_or_refused(capsule: Path) -> None:
    """Open a capsule; it is read from and nothing appears beside it."""
    before = sorted(capsule.parent.iterdir())
    assert "\n" not in said_of(capsule)
    assert sorted(capsule.parent.iterdir()) == before


@pytest.mark.attack("random bytes in a capsule")
@HALF
@given(edits=BYTES)
def test_any_bytes_of_a_capsule(edits: Replacements, root: Path, tmp_path: Path) -> None:
    capsule = tmp_path / "results.zip"
    pack(open_run(root), capsule)
    capsule.write_bytes(replaced(capsule.read_bytes(), edits))
    opened_or_refused(capsule)


@pytest.mark.attack("random changes of a capsule under a valid digest")
@HALF
@given(edits=EDITS, which=st.floats(0, 0.9999), name=st.sampled_from([None, None, "../../x", "/x", "cells/../x.json"]))
def test_any_capsule_that_vouches_for_itself(
    edits: Edits, which: float, name: str | None, root: Path, tmp_path: Path
) -> None:
    capsule = tmp_path / "results.zip"
    pack(open_run(root), capsule)
    with ZipFile(capsule) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    contents = json.loads(members.pop(CONTENTS))
    texts = [name for name in members if name.endswith(".json")]
    victim = texts[int(which * len(texts))]
    body = json.dumps(edited(json.loads(members.pop(victim)), edits)).encode()
    members[name or victim] = body
    contents["files"] = {name: hashlib.sha256(body).hexdigest() for name, body in members.items()}
    contents["digest"] = hashlib.sha256(json.dumps(contents["files"], sort_keys=True).encode()).hexdigest()
    if which < 0.1:
        contents = edited(contents, edits)
    with ZipFile(capsule, "w") as archive:
        for own, content in {CONTENTS: json.dumps(contents).encode(), **members}.items():
            archive.writestr(own, content)
    opened_or_refused(capsule)


@pytest.mark.attack("text that steers a terminal, a page or a spreadsheet")
def test_a_store_full_of_hostile_text_gives_a_report_of_harmless_files(
    write_store: Callable[..., Path], tmp_path: Path
) -> None:
    text = "=cmd|'x'!A0\x1b]0;x\x07\u202e\u2066\x9b\ud800"

    def plan_of(plan: Plan) -> Plan:
        plan = rich_plan(plan)
        facts = {name: own | {"title": text, "classes": [text, text]} for name, own in plan.datasets.items()}
        variants = {name: f"{text} {name}" for name in plan.variants}
        config = plan.config | {"caption": text, "name": text}
        return replace(plan, datasets=facts, variants=variants, config=config, warnings=[text])

    def row_of(row: Row) -> Row:
        provenance = {"device": {"type": text, "name": text}, "git": {"commit": text, "dirty": True, "diff": text}}
        return replace(row, notes=[text], method=text, provenance=provenance, undefined={"heartbeat": {"auroc": text}})

    root = write_store(alter=row_of, alter_plan=plan_of)
    before = set(tmp_path.rglob("*"))
    out = tmp_path / "deep" / "out"
    build_report(open_run(root), out)
    assert all(path.is_relative_to(tmp_path / "deep") for path in set(tmp_path.rglob("*")) - before)
    for file in filter(Path.is_file, out.glob("*.*")):
        assert_harmless(file.read_text())
    for file in out.glob("*.csv"):
        cells = [cell for line in csv.reader(StringIO(file.read_text())) for cell in line]
        assert not [cell for cell in cells if cell[:1] in ("=", "@")]


@pytest.mark.attack("names that are paths")
def test_a_dataset_named_as_a_path_writes_nothing_outside(write_store: Callable[..., Path], tmp_path: Path) -> None:
    name = "../../../escaped"

    def plan_of(plan: Plan) -> Plan:
        return replace(
            plan,
            datasets={name: plan.datasets["ptb-xl"]},
            cells=[replace(cell, dataset=name) for cell in plan.cells if cell.dataset == "ptb-xl"],
        )

    root = write_store(alter_plan=plan_of)
    with pytest.raises(NoResults, match="escaped' is no name"), open_results([str(root)]) as opened:
        build_report(opened.run, tmp_path / "out")
    assert not list(tmp_path.rglob("*escaped*"))


@pytest.mark.attack("names that are paths")
def test_a_capsule_of_forged_values_is_unpacked_where_it_should_be(root: Path, tmp_path: Path) -> None:
    pack(open_run(root), tmp_path / "results.zip")
    store = unpack(tmp_path / "results.zip", tmp_path / "a" / "b")
    assert {asdict(open_run(store.root).plan)["key"]} == {"plan-of-the-test"}
    with pytest.raises(BadCapsule):
        unpack(root / "plans" / "latest", tmp_path / "c")
    assert not (tmp_path / "c").exists()
