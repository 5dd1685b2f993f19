"""Stores become two frames; runs of the same settings and data become one table, others are named with the reason.

The tables a plan calls for: compared rows and baselines in one, changes of a method in tables of their own.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import pandas as pd
import pytest

from benchmark.results.files import DIGEST, Damaged, digest, digested_json
from benchmark.results.store import NoResults, Plan, Row, Store
from reports import load
from reports.layouts import layouts
from reports.load import incompatible, pack
from reports.results import SCORES, learning_curves, mean_over_subsets
from run_benchmark import main
from tests.reports.conftest import CONFIG, TITLES, planned, write_record

WriteStore = Callable[..., Path]


def add_run(root: Path, key: str, alter: Callable[[Plan], Plan] = lambda plan: plan) -> None:
    """Plan the store's first run again under another key, changed; it becomes the latest."""
    store = Store(root)
    store.save_plan(replace(alter(store.load_plan(digest("plan"))), key=digest(key)))


def with_config(**change: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, key=digest("other"), config=plan.config | change)


def test_each_score_is_a_line(store_root: Path) -> None:
    scores = load(store_root).scores
    assert tuple(scores.columns) == SCORES
    assert len(scores) == 33 * (3 + 4)
    assert not scores.duplicated(["variant", "evaluation", "dataset", "ratio", "seed", "unit", "metric"]).any()
    undefined = scores[scores["value"].isna()]
    assert undefined["undefined"].tolist() == ["no class has both signs"] * 2


def test_cells_have_a_line_per_planned_cell_with_its_state(store_root: Path) -> None:
    (victim, *_) = load(store_root).rows
    path = store_root / "cells" / f"{victim}.json"
    path.write_text(path.read_text()[:-30])
    results = load(store_root)
    cells = results.cells
    assert cells["state"].value_counts().to_dict() == {"finished": 32, "not run": 2, "failed": 1, "damaged": 1}
    assert victim in cells.set_index("key").loc[victim, "error"]
    assert {"best_epoch", "lr", "seconds", "test_windows", "notes"} <= set(cells)
    assert results.predictions(next(iter(results.rows))).probability.shape == (2, 2)


def test_the_mean_over_labelled_subsets_is_one_line_per_seed(store_root: Path) -> None:
    scores = load(store_root).scores
    twice = pd.concat([scores, scores.assign(subset=1, value=scores["value"] + 0.1)])
    means = mean_over_subsets(twice)
    assert len(means) == len(scores)
    assert means["value"].mean() == pytest.approx(scores["value"].mean() + 0.05)


def test_all_runs_of_a_folder_that_compare_are_put_together(store_root: Path) -> None:
    add_run(store_root, "strict", lambda plan: replace(plan, config=plan.config | {"protocol": "strict"}))
    add_run(store_root, "half", lambda plan: replace(plan, cells=plan.cells[:4]))
    half, strict = f"{store_root}@{digest('half')}", f"{store_root}@{digest('strict')}"
    assert (load(store_root).name, load(strict).name) == (half, strict)
    results = load(f"{store_root}@all")
    assert len(results.rows) == 33
    assert results.messages == (
        f"put together: {half}, {store_root}@{digest('plan')}",
        f"not put together: {strict} (Random, MoCo, PMQ and {TITLES['pmq:w/o mask_t']}): protocol is strict, not paper",
    )


def test_parts_of_a_grid_give_the_scores_of_the_whole(write_store: WriteStore) -> None:
    def only(*variants: str) -> Callable[[Plan], Plan]:
        return lambda plan: replace(
            plan, key=digest("p"), cells=[cell for cell in plan.cells if cell.variant in variants]
        )

    whole = write_store("whole", complete=True)
    first = write_store("first", complete=True, alter_plan=only("random", "moco"))
    second = write_store("second", complete=True, alter_plan=only("pmq", "pmq:w/o mask_t"))
    order = ["key", "unit", "metric"]
    one, other = (load(source).scores.sort_values(order, ignore_index=True) for source in ([first, second], whole))
    pd.testing.assert_frame_equal(one, other)


def test_rows_with_fewer_seeds_are_warned_of(store_root: Path) -> None:
    for name, seed in (("a", 41), ("b", 42)):
        cells = [cell for cell in planned() if cell.seed == seed and (seed == 41 or cell.variant == "pmq")]
        add_run(store_root, name, lambda plan, cells=cells: replace(plan, warnings=["w"], cells=cells))
    warning = "not every row has every seed: random has 41; moco has 41; pmq:w/o mask_t has 41"
    assert load([f"{store_root}@{digest(name)}" for name in ("a", "b")]).plan.warnings == ["w", warning]


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ({"alter_plan": with_config(protocol="strict")}, "protocol is strict, not paper"),
        ({"alter_plan": with_config(data=CONFIG["data"] | {"labels": "multi"})}, "data.labels is multi, not single"),
        (
            {"alter_plan": with_config(hyperparameters={"pmq": {"momentum": 0.9}})},
            "hyperparameters.pmq.momentum is 0.9, not unset",
        ),
        (
            {"alter_plan": lambda plan: replace(plan, datasets=plan.datasets | {"chapman": plan.datasets["ptb-xl"]})},
            "data of chapman is 30 recordings, fingerprint a, not 40 recordings, fingerprint b",
        ),
        (
            {"alter_plan": lambda plan: replace(plan, pretraining=plan.pretraining | {"fingerprint": "b"})},
            "data of the pretraining corpus is 90 recordings, fingerprint b, not 90 recordings, fingerprint c",
        ),
        ({"alter": lambda row: replace(row, provenance={"precision": "bf16"})}, "rows: precision is bf16, not float32"),
        ({"alter": lambda row: replace(row, provenance={"results_versions": {"finetune": 2}})}, None),
        ({"alter_plan": with_config(name="mine", seeds=[1], baselines=[], methods=["/home/ann/mine.py"])}, None),
    ],
)
def test_merged_runs_have_the_same_settings(write_store: WriteStore, alter: dict[str, Any], reason: str | None) -> None:
    one, other = load(write_store("one")), load(write_store("other", **alter))
    assert incompatible(other, one) == ([reason] if reason else [])


def test_damaged_records_are_left_out(write_store: WriteStore) -> None:
    root = write_store(complete=True)
    write_record(root, "random", health=[{"epoch": 0}], health_sample={"windows_sha256": "there"})
    write_record(root, "pmq", loss=[1.25], health=[{"epoch": 0, "effective_rank": 4.0}])
    damaged = write_record(root, "moco", seconds=3.0)
    damaged.write_text(damaged.read_text().replace("3.0", "0.3"))
    results = load(root)
    assert list(results.pretrainings) == ["random", "pmq"]
    assert "health" not in results.pretrainings["random"][digest("random")]
    assert results.records.unused == [
        f"pretrained/{digest('moco')}/pretraining.json: its content does not match its digest; "
        "the run command makes the encoder again",
        "health of pretrainings that was measured on the windows of another run: 1",
    ]
    curves = learning_curves(results.pretrainings)
    assert curves[["variant", "epoch", "measure", "value"]].to_numpy().tolist() == [
        ["pmq", 1, "loss", 1.25], ["pmq", 0, "effective_rank", 4.0],
    ]  # fmt: skip


def test_a_run_of_another_results_version_is_named_with_its_rows(write_store: WriteStore) -> None:
    def of_version(version: int) -> Callable[[Row], Row]:
        return lambda row: replace(row, provenance=row.provenance | {"results_versions": {"finetune": version}})

    one, other = write_store("one", alter=of_version(1)), write_store("other", alter=of_version(2))
    (message,) = load([one, other]).messages
    assert re.search(
        r"not put together: .* \(Random, MoCo, .*\): the results version of finetune is 2, not 1$", message
    )


def test_curves_leave_out_measures_that_had_no_windows() -> None:
    untrained = {"health": [{"epoch": 0, "effective_rank": None}]}
    curves = learning_curves({"random": {"a": untrained}, "pmq": {"b": {"loss": [1.25], **untrained}}})
    assert curves[["variant", "epoch", "measure", "value"]].to_numpy().tolist() == [["pmq", 1, "loss", 1.25]]


def role(kind: str, of: str = "", hyperparameter: str = "", value: Any = None) -> dict[str, Any]:
    return {"role": kind, "of": of, "hyperparameter": hyperparameter, "value": value}


def test_baselines_do_not_compete(store_root: Path) -> None:
    plan = load(store_root).plan
    (whole,) = layouts(plan, "finetune")
    assert whole.variants == ("random", "moco", "pmq", "pmq:w/o mask_t")
    roles = {"moco": role("baseline"), "pmq:w/o mask_t": role("ablation", of="pmq")}
    main, ablations = layouts(replace(plan, roles=roles), "finetune")
    assert (main.variants, main.baselines) == (("random", "pmq", "moco"), {"moco"})
    assert main.baselines == {"moco"}
    assert (ablations.name, ablations.variants) == ("pmq-ablations", ("pmq:w/o mask_t", "pmq"))
    assert (ablations.metrics, ablations.unchanged) == (("f1",), "pmq")


def test_a_sweep_takes_the_methods_row_for_its_value(store_root: Path) -> None:
    plan = load(store_root).plan
    roles = {"pmq:w/o mask_t": role("sweep", "pmq", "queue_size", 16)}
    keys = {(cell.variant, cell.evaluation, cell.dataset, cell.ratio, cell.seed): cell.key for cell in plan.cells}
    cells = [cell for cell in plan.cells if cell.variant != "pmq:w/o mask_t" or cell.ratio == 0.01]
    main, sweep = layouts(replace(plan, cells=cells, roles=roles), "finetune")
    assert (main.ratios, sweep.ratios, sweep.unchanged) == ((0.3, 0.01), (0.01,), "pmq")
    shared = [
        replace(cell, key=keys["pmq", cell.evaluation, cell.dataset, cell.ratio, cell.seed])
        if cell.variant == "pmq:w/o mask_t"
        else cell
        for cell in cells
    ]
    _, sweep = layouts(replace(plan, cells=shared, roles=roles), "finetune")
    assert (sweep.variants, sweep.unchanged) == (("pmq:w/o mask_t",), "pmq:w/o mask_t")


def test_an_archive_has_always_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    results = load(write_store())
    pack(results, tmp_path / "a.zip")
    pack(results, tmp_path / "b.zip")
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()


def test_an_archive_is_the_run_it_was_packed_from(write_store: WriteStore, tmp_path: Path) -> None:
    results = load(write_store())
    pack(results, tmp_path / "a.zip")
    again = load(tmp_path / "a.zip")
    assert (again.plan, again.rows, again.failures) == (results.plan, results.rows, results.failures)
    assert again.pretrainings == results.pretrainings
    key = next(iter(results.rows))
    assert (again.predictions(key).probability == results.predictions(key).probability).all()


Alter = Callable[[dict[str, bytes]], dict[str, bytes]]
PLAN = f"plans/{digest('plan')}.json"
CELL = planned()[0].key


def altered(source: Path, alter: Alter, mode: int = 0o600) -> Path:
    """Write an archive again with other files."""
    with ZipFile(source) as archive:
        contents = {name: archive.read(name) for name in archive.namelist()}
    with ZipFile(source, "w", ZIP_DEFLATED) as archive:
        for name, content in alter(contents).items():
            info = ZipInfo(name)
            info.external_attr, info.compress_type = mode << 16, ZIP_DEFLATED
            archive.writestr(info, content)
    return source


def with_plan(**values: Any) -> Alter:
    """Other values in the plan, with a digest that fits them."""

    def alter(contents: dict[str, bytes]) -> dict[str, bytes]:
        stored = {name: value for name, value in json.loads(contents[PLAN]).items() if name != DIGEST}
        return contents | {PLAN: digested_json(stored | values)}

    return alter


@pytest.mark.parametrize(
    ("alter", "fault"),
    [
        (lambda contents: contents | {"other/plans/latest": b"x"}, "it holds several stores: "),
        (lambda contents: contents | {f"cells/{CELL}.npz": bytes(10**8)}, "more than an archive of a run"),
        (lambda contents: contents | {"plans/latest": b"../../../outside"}, "it names the plan '../../../outside'"),
        (lambda contents: {PLAN: contents[PLAN]}, "it holds no plan"),
        (lambda contents: contents | {PLAN: b"[]"}, "it holds no values by name"),
        (with_plan(cells=5), "'int' object is not iterable"),
        (with_plan(cells=[{"key": "../../x"}]), "key: string should match pattern"),
        (with_plan(key="../../x"), "key: string should match pattern"),
        (with_plan(config=[]), "config: input should be a valid dictionary"),
    ],
)
def test_an_archive_with_what_no_run_has_is_refused_in_one_line_that_names_it(
    write_store: WriteStore, tmp_path: Path, alter: Alter, fault: str
) -> None:
    pack(load(write_store()), tmp_path / "a.zip")
    with pytest.raises(Damaged, match=rf"a\.zip.*{re.escape(fault)}") as caught:
        load(altered(tmp_path / "a.zip", alter))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("top", ["", "runs"])
def test_a_zip_of_a_store_is_read_as_the_store(write_store: WriteStore, tmp_path: Path, top: str) -> None:
    root = write_store()
    (root / "pretrained" / digest("pmq")).mkdir(parents=True)
    (root / "pretrained" / digest("pmq") / "encoder.safetensors").write_bytes(b"weights")
    file = shutil.make_archive(str(tmp_path / "theirs"), "zip", root.parent if top else root, top or None)
    foreign = {f"{top}/../../outside.json": b"x", "/etc/outside": b"x", "cells/../../x.npz": b"x"}
    results = load(altered(Path(file), lambda contents: contents | foreign))
    pd.testing.assert_frame_equal(results.scores, load(root).scores)
    files = {str(path.relative_to(results.stores[0].root)) for path in results.stores[0].root.rglob("*.*")}
    assert files == {str(path.relative_to(root)) for path in root.rglob("*.*")}


def test_a_value_that_no_run_writes_ends_a_report_in_one_line(
    write_store: WriteStore, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pack(load(write_store()), tmp_path / "a.zip")
    altered(tmp_path / "a.zip", with_plan(variants={}))
    assert main(["report", "--results", str(tmp_path / "a.zip"), "--out", str(tmp_path / "out")]) == 1
    assert re.fullmatch(r"error: .*a\.zip: a value is not what a run writes .*\n", capsys.readouterr().err)


@pytest.mark.parametrize("mode", [0o600, 0o120777])
def test_a_link_in_an_archive_is_never_followed(write_store: WriteStore, tmp_path: Path, mode: int) -> None:
    results = load(write_store())
    pack(results, tmp_path / "a.zip")
    target = str(results.stores[0].plans.resolve() / f"{results.plan.key}.json").encode()
    with pytest.raises(Damaged, match="it is no JSON"):
        load(altered(tmp_path / "a.zip", lambda contents: contents | {PLAN: target}, mode))


@pytest.mark.parametrize("seed", range(40))
def test_damage_of_an_archive_is_one_line_or_alters_no_score(
    write_store: WriteStore, tmp_path: Path, seed: int
) -> None:
    results, random = load(write_store()), Random(seed)
    pack(results, tmp_path / "a.zip")
    content = bytearray((tmp_path / "a.zip").read_bytes())
    if seed % 4 == 0:
        del content[random.randrange(len(content)) :]
    for _ in range(random.randrange(1, 30)) if seed % 4 else ():
        content[random.randrange(len(content))] ^= 1 << random.randrange(8)
    if seed % 4 == 3:  # flags and kinds of compression, of the directory at the end
        start = content.rindex(b"PK\x01\x02")
        content[start + 8 : start + 12] = random.randbytes(4)
    (tmp_path / "a.zip").write_bytes(content)
    try:
        again = load(tmp_path / "a.zip")
    except (Damaged, NoResults) as problem:
        message = str(problem)
        assert re.fullmatch(r".*a\.zip.*", message)
    else:
        assert all(row == results.rows[key] for key, row in again.rows.items())


@pytest.mark.parametrize("content", [b"", b"PK", b"no archive"])
def test_a_file_that_is_no_archive_is_one_line(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(content)
    with pytest.raises(Damaged, match=r"a\.zip: File is not a zip file; pack it again with `report --archive`"):
        load(tmp_path / "a.zip")


def test_a_plan_is_named_by_its_key_alone(store_root: Path) -> None:
    (store_root.parent / "x.json").write_bytes((store_root / PLAN).read_bytes())
    with pytest.raises(NoResults, match=r"no plan \.\./\.\./x"):
        load(f"{store_root}@../../x")
