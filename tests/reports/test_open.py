"""What a user names is opened; what a store holds besides is said.

ScoreColumn put together: each cell once, from where it is finished; conflicts are left out and said.

Two runs compare, or it is said why they do not.

A capsule holds what a report is made from and nothing else, is the same bytes again, and is not trusted blindly.

Paths of a machine shrink to their last part; texts that only look like paths stay.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import numpy as np
import pandas as pd
import pytest

from benchmark.results.names import CARD
from benchmark.results.schema import digest
from benchmark.results.store import Failure, NoResults, Plan, PlannedCell, Predictions, Row, Store, card_bytes
from reports.open import (
    CONTENTS,
    BadCapsule,
    comparable,
    config_differences,
    every_run,
    merge,
    open_results,
    pack,
    portable,
    same_outcome,
    unpack,
    why_not,
)
from reports.runs import Run, open_run
from reports.tables.words import footers_of

WriteStore = Callable[..., Path]


def add_run(root: Path, key: str, alter: Callable[[Plan], Plan] = lambda plan: plan) -> None:
    """Plan the store's first run again under another key, changed; it becomes the latest."""
    store = Store(root)
    store.save_plan(replace(alter(store.load_plan("plan-of-the-test")), key=key))


def test_a_folder_is_its_latest_run_as_it_lies(store_root: Path) -> None:
    with open_results([str(store_root)]) as opened:
        assert opened.run.store.root == store_root
        assert opened.run.plan.key == "plan-of-the-test"
        assert opened.said == ()


def test_other_runs_are_named_with_how_to_see_them(store_root: Path) -> None:
    add_run(store_root, "second")
    with open_results([str(store_root)]) as opened:
        assert opened.run.plan.key == "second"
        (line,) = opened.said
    assert line == (
        f"{store_root} holds 1 other run, not shown: plan-of-the-test; --results {store_root}@KEY shows one, --results "
        f"{store_root}@all all that compare"
    )
    with open_results([f"{store_root}@plan-of-the-test"]) as opened:
        assert opened.run.plan.key == "plan-of-the-test"


def test_all_runs_of_a_folder_that_compare_are_put_together(store_root: Path) -> None:
    add_run(store_root, "strict", lambda plan: replace(plan, config=plan.config | {"protocol": "strict"}))
    add_run(store_root, "half", lambda plan: replace(plan, cells=plan.cells[:4]))
    with open_results([f"{store_root}@all"]) as opened:
        assert len(opened.run.rows) == 33
        assert opened.said == (
            f"put together: {store_root}@half, {store_root}@plan-of-the-test",
            f"not put together: {store_root}@strict: protocol is strict, not paper",
        )


def test_stale_rows_are_counted_and_named(store_root: Path) -> None:
    store = Store(store_root)
    key = store.row_keys()[0]
    row = store.load_row(key)
    assert row is not None
    store.save_row(replace(row, key="stale"), store.predictions(key))
    with open_results([str(store_root)]) as opened:
        assert opened.said == (f"{store_root} holds 1 row that no run's plan names, not shown: stale",)
        assert "stale" not in opened.run.rows


def test_a_damaged_plan_is_named_and_the_others_are_read(store_root: Path) -> None:
    (store_root / "plans" / "broken.json").write_text("{")
    with open_results([f"{store_root}@all"]) as opened:
        assert len(opened.run.rows) == 33
        assert opened.said[0].startswith(f"left out: {store_root / 'plans' / 'broken.json'} is damaged")


def test_a_capsule_is_opened_and_gone_afterwards(store_root: Path, tmp_path: Path) -> None:
    file = tmp_path / "results.zip"
    with open_results([str(store_root)]) as opened:
        pack(opened.run, file)
    with open_results([str(file)]) as opened:
        unpacked = opened.run.store.root
        assert opened.run.name == f"{file}@plan-of-the-test"
        assert len(opened.run.rows) == 33
        assert unpacked.is_dir()
    assert not unpacked.exists()


@pytest.mark.parametrize("source", ["nothing", "nothing@all", "runs@1234", "runs/plans@all"])
def test_what_is_not_there_is_one_line_that_names_it(
    store_root: Path, tmp_path: Path, source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert store_root == tmp_path / "runs"
    with pytest.raises(NoResults, match=source.partition("@")[0]) as caught, open_results(["runs", source]):
        pass
    assert "\n" not in str(caught.value)


def test_a_folder_with_a_sign_in_its_name_is_taken_as_it_is(store_root: Path) -> None:
    strange = store_root.rename(store_root.with_name("runs@all"))
    with open_results([str(strange)]) as opened:
        assert opened.run.store.root == strange


PutTogether = Callable[..., tuple[Run, list[str]]]


def only(*variants: str) -> Callable[[Plan], Plan]:
    return lambda plan: replace(
        plan, key="-".join(variants)[:4], cells=[c for c in plan.cells if c.variant in variants]
    )


def without(root: Path, drop: Callable[[Row], bool]) -> Path:
    """The store without some of its rows."""
    store = Store(root)
    for key in store.row_keys():
        row = store.load_row(key)
        if row is not None and drop(row):
            for kind in ("json", "npz"):
                (store.cells / f"{key}.{kind}").unlink()
    return root


@pytest.fixture
def put_together(tmp_path: Path) -> PutTogether:
    """Merge the runs of some stores."""

    def merged(*roots: Path) -> tuple[Run, list[str]]:
        return merge([run for root in roots for run in every_run(root, Store(root))], tmp_path / "merged")

    return merged


def test_parts_of_a_grid_give_the_tables_of_the_whole(write_store: WriteStore, put_together: PutTogether) -> None:
    whole = write_store("whole", complete=True)
    first = write_store("first", complete=True, alter_plan=only("random", "moco"))
    second = write_store("second", complete=True, alter_plan=only("pmq", "pmq:w/o mask_t"))
    run, said = put_together(
        without(first, lambda row: row.variant.startswith("pmq")),
        without(second, lambda row: not row.variant.startswith("pmq")),
    )
    assert said == [f"put together: {first}@rand, {second}@pmq-"]
    expected = open_run(whole).tidy
    pd.testing.assert_frame_equal(
        run.tidy.sort_values(["key", "unit", "metric"], ignore_index=True),
        expected.sort_values(["key", "unit", "metric"], ignore_index=True),
    )
    key = expected["key"][0]
    assert run.store.predictions(key).probability.shape == (2, 2)


def test_a_cell_failed_in_both_keeps_its_reason(write_store: WriteStore, put_together: PutTogether) -> None:
    run, _ = put_together(write_store("one"), write_store("two"))
    assert len(run.rows) == 33
    (failure,) = run.failures.values()
    assert failure.error == "RuntimeError: the loss is not finite"
    assert failure.traceback.startswith("Traceback")


def test_one_key_with_two_outcomes_is_left_out_and_named(
    write_store: WriteStore, put_together: PutTogether, tmp_path: Path
) -> None:
    def better(row: Row) -> Row:
        if (row.variant, row.dataset, row.ratio, row.seed, row.evaluation) != ("pmq", "chapman", 0.3, 41, "finetune"):
            return replace(row, training={"seconds": 99.0})
        return replace(row, scores=row.scores | {"heartbeat": {"f1": 1.0, "auroc": 1.0, "acc": 1.0}})

    one, two = write_store("one", complete=True), write_store("two", complete=True, alter=better)
    run, said = put_together(one, two)
    (key,) = run.failures
    assert said[1:] == [
        f"left out: cell {key}: {one}@plan-of-the-test and {two}@plan-of-the-test hold different outcomes of it; name "
        "one of the two alone"
    ]
    assert len(run.rows) == 35
    text = "\n".join(footers_of(run, run.plan.cells, "heartbeat"))
    assert "PMQ (Chapman, 30 %, seed 41): left out, two stores hold different outcomes" in text
    assert str(tmp_path) not in text


@pytest.mark.parametrize(("whole_elsewhere", "rows"), [(True, 36), (False, 35)])
def test_a_damaged_row_is_named_and_another_stores_whole_one_stands_in(
    write_store: WriteStore,
    put_together: PutTogether,
    whole_elsewhere: bool,
    rows: int,
) -> None:
    stores = [write_store("one", complete=True), write_store("two", complete=True)]
    key = Store(stores[0]).row_keys()[0]
    for root in stores[: 1 if whole_elsewhere else 2]:
        (root / "cells" / f"{key}.json").write_text("{")
    run, said = put_together(*stores)
    assert len(run.rows) == rows
    assert [line for line in said if line.startswith("left out") and key in line] == said[1:]
    assert len(said) == (2 if whole_elsewhere else 3)


def rekeyed(keep: Collection[int]) -> Callable[[Plan], Plan]:
    """The plan with the keys of another machine for the seeds not kept."""

    def keys(cells: list[PlannedCell]) -> Iterator[PlannedCell]:
        for cell in cells:
            yield cell if cell.seed in keep else replace(cell, key=digest(["other machine", cell.key]))

    return lambda plan: replace(plan, key="other", cells=list(keys(plan.cells)))


def test_a_cell_computed_twice_is_the_first_runs(write_store: WriteStore, put_together: PutTogether) -> None:
    def elsewhere(row: Row) -> Row:
        other = row.seed != 41
        scores = {unit: dict.fromkeys(found, 0.0) for unit, found in row.scores.items()}
        return replace(row, key=digest(["other machine", row.key]), scores=scores) if other else row

    one = write_store("one")
    two = write_store("two", complete=True, alter=elsewhere, alter_plan=rekeyed({41}))
    run, said = put_together(one, two)
    places = {(c.evaluation, c.variant, c.dataset, c.ratio, c.seed) for c in run.plan.cells}
    assert len(places) == len(run.plan.cells) == 36
    own = every_run(one, Store(one))[0].rows
    assert all(run.rows[key] == own[key] for key in own)
    assert len(run.rows) == 36  # what the first has not finished is the other's
    assert said[1].startswith(
        "14 cells computed twice in different ways, the first run's shown: Random, ptb-xl, ratio 0.3"
    )


def test_seeds_and_devices_that_differ_are_warned_of_under_every_table(
    write_store: WriteStore, put_together: PutTogether
) -> None:
    def on(device: str) -> Callable[[Row], Row]:
        return lambda row: replace(row, provenance={"device": {"type": device}})

    def seed_41(plan: Plan) -> Plan:
        return replace(plan, key="a", warnings=["w"], cells=[c for c in plan.cells if c.seed == 41])

    def pmq_42(plan: Plan) -> Plan:
        return replace(plan, key="b", cells=[c for c in plan.cells if c.seed == 42 and c.variant == "pmq"])

    run, _ = put_together(
        write_store("one", complete=True, alter_plan=seed_41, alter=on("cpu")),
        write_store("two", complete=True, alter_plan=pmq_42, alter=on("cuda")),
    )
    assert run.plan.warnings == [
        "w",
        "the cells were computed on several types of device: cpu, cuda",
        "not every row has every seed: Random has 41; MoCo has 41; PMQ w/o mask_t & 5 % | * has 41",
    ]


def run_of(root: Path) -> Run:
    (run,) = every_run(root, Store(root))
    return run


def with_config(**change: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, key="other", config=plan.config | change)


def with_dataset(**facts: Any) -> Callable[[Plan], Plan]:
    return lambda plan: replace(plan, datasets=plan.datasets | {"chapman": plan.datasets["chapman"] | facts})


def computed(**facts: Any) -> Callable[[Row], Row]:
    return lambda row: replace(row, provenance=row.provenance | facts)


@pytest.mark.parametrize(
    ("alter", "reason"),
    [
        ({"alter_plan": with_config(protocol="strict")}, "protocol is strict, not paper"),
        ({"alter_plan": with_config(data={"labels": "multi"})}, "data.labels is multi, not single"),
        ({"alter_plan": with_config(finetune={"epochs": 3})}, "finetune.epochs is 3, not unset"),
        ({"alter_plan": with_config(knobs={"pmq": {"momentum": 0.9}})}, "knobs.pmq.momentum is 0.9, not unset"),
        (
            {"alter_plan": with_config(ablations={"pmq": {"w/o mask_t": {"time_mask": 0.1}}})},
            'pmq:w/o mask_t is {"time_mask": 0.1}, not unset',
        ),
        (
            {"alter_plan": with_dataset(fingerprint="b", recordings=41)},
            "Chapman is other data (41 recordings, fingerprint b, not 40 recordings)",
        ),
        (
            {"alter_plan": lambda plan: replace(plan, pretraining=plan.pretraining | {"fingerprint": "b"})},
            "the pretraining corpus is other data",
        ),
    ],
)
def test_settings_and_data_must_be_the_same(write_store: WriteStore, alter: dict[str, Any], reason: str) -> None:
    own, other = run_of(write_store("own")), run_of(write_store("other", **alter))
    (found,) = why_not(other, own)
    assert reason in found
    assert comparable([own, other]) == ([own], [(other, (found,))])


@pytest.mark.parametrize(
    "config",
    [
        {"name": "mine", "caption": "", "seeds": [1], "ratios": [0.5], "methods": ["/home/ann/mine.py"]},
        {
            "ablations": {"pmq": {"w/o heads": {"head": "v2"}}},
            "gates": [],
            "data": {"labels": "single", "datasets": []},
        },
    ],
)
def test_the_choice_of_cells_may_differ(write_store: WriteStore, config: dict[str, Any]) -> None:
    own, other = run_of(write_store("own")), run_of(write_store("other", alter_plan=with_config(**config)))
    assert why_not(other, own) == ()


@pytest.mark.parametrize(
    ("own", "other", "reason"),
    [
        ({"precision": "float32"}, {"precision": "bf16"}, "precision is bf16, not float32"),
        ({"results_versions": {"finetune": 1}}, {"results_versions": {"finetune": 2}}, "finetune is 2, not 1"),
    ],
)
def test_rows_must_be_of_one_precision_and_version(
    write_store: WriteStore, own: dict[str, Any], other: dict[str, Any], reason: str
) -> None:
    runs = [run_of(write_store(name, alter=computed(**facts))) for name, facts in (("own", own), ("other", other))]
    (found,) = why_not(runs[1], runs[0])
    assert found.endswith(reason)


def test_features_have_no_precision(write_store: WriteStore) -> None:
    def boosted(row: Row) -> Row:
        return replace(row, evaluation="features", provenance={"precision": "bf16"})

    runs = [run_of(write_store("own", alter=computed(precision="float32"))), run_of(write_store("b", alter=boosted))]
    assert why_not(runs[1], runs[0]) == ()


def test_runs_must_be_tested_on_the_same_windows(write_store: WriteStore) -> None:
    own, root = run_of(write_store("own")), write_store("other")
    store = Store(root)
    for key, row in run_of(root).rows.items():
        found = store.predictions(key)
        store.save_row(row, replace(found, truth=found.truth[::-1]))
    assert set(why_not(run_of(root), own)) == {
        "ptb-xl was tested on other windows", "chapman was tested on other windows",
    }  # fmt: skip


def test_a_third_run_must_compare_with_all_that_were_put_together(write_store: WriteStore) -> None:
    def only(dataset: str, **facts: Any) -> Callable[[Plan], Plan]:
        def alter(plan: Plan) -> Plan:
            datasets = {dataset: plan.datasets[dataset] | facts}
            return replace(plan, datasets=datasets, cells=[cell for cell in plan.cells if cell.dataset == dataset])

        return alter

    first = run_of(write_store("first", alter_plan=only("ptb-xl")))
    second = run_of(write_store("second", alter_plan=only("chapman", fingerprint="a")))
    third = run_of(write_store("third", alter_plan=only("chapman", fingerprint="b")))
    pooled, apart = comparable([first, second, third])
    assert pooled == [first, second]
    assert [run for run, _ in apart] == [third]


def test_configs_differ_by_dotted_keys_and_not_by_where_a_file_lies(write_store: WriteStore) -> None:
    own = with_config(methods=["/home/ann/mine.py"], pretrain={"epochs": 3, "seed": 42})
    other = with_config(methods=["/home/bob/mine.py"], pretrain={"epochs": 4})
    plans = [run_of(write_store(name, alter_plan=alter)).plan for name, alter in (("a", own), ("b", other))]
    assert config_differences(plans[0], plans[1]) == [("pretrain.epochs", 3, 4), ("pretrain.seed", 42, None)]


def test_an_outcome_is_scores_and_predictions_not_times(write_store: WriteStore) -> None:
    own = run_of(write_store("own"))
    later = run_of(write_store("later", alter=lambda row: replace(row, training={"seconds": 99.0})))
    better = run_of(write_store("better", alter=lambda row: replace(row, scores={"heartbeat": {"f1": 1.0}})))
    key = next(iter(own.rows))
    assert same_outcome(own, key, later, key)
    assert not same_outcome(own, key, better, key)
    found: Predictions = later.store.predictions(key)
    later.store.save_row(later.rows[key], replace(found, probability=found.probability * np.float32(1 - 1e-7)))
    assert not same_outcome(own, key, later, key)


HOME = "/home/ann/ecg"


def contents_of(file: Path) -> dict[str, bytes]:
    with ZipFile(file) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(file: Path, change: Mapping[str, bytes | None]) -> None:
    """Write a zip again with some of its members changed, added or (None) removed."""
    members = contents_of(file) | change
    with ZipFile(file, "w", ZIP_DEFLATED) as archive:
        for name, body in members.items():
            if body is not None:
                archive.writestr(name, body)


@pytest.fixture
def capsule(store_root: Path, tmp_path: Path) -> Path:
    """The made-up store as a capsule."""
    pack(run_of(store_root), tmp_path / "results.zip")
    return tmp_path / "results.zip"


def test_a_store_comes_back_as_it_was(store_root: Path, capsule: Path, tmp_path: Path) -> None:
    store, unpacked = Store(store_root), unpack(capsule, tmp_path / "unpacked")
    again, own = open_run(unpacked.root), open_run(store_root)
    assert (again.plan, again.rows, again.failures, again.damaged) == (own.plan, own.rows, own.failures, own.damaged)
    for key in open_run(store_root).rows:
        assert (unpacked.cells / f"{key}.npz").read_bytes() == (store.cells / f"{key}.npz").read_bytes()


def test_the_same_run_gives_the_same_bytes(write_store: WriteStore, tmp_path: Path) -> None:
    packed = [tmp_path / "a.zip", tmp_path / "b.zip"]
    digests = {pack(run_of(write_store(f.stem, backwards=f.stem == "b")), f) for f in packed}
    assert packed[0].read_bytes() == packed[1].read_bytes()
    assert digests == {json.loads(contents_of(packed[0])[CONTENTS])["digest"]}


def test_it_holds_rows_predictions_cards_and_nothing_else(store_root: Path, tmp_path: Path) -> None:
    store = Store(store_root)
    folder = store.pretrained / digest("pmq")
    folder.mkdir(parents=True)
    for name in (CARD, "encoder.safetensors", "checkpoint.pt"):
        (folder / name).write_bytes(card_bytes({"key": digest("pmq"), "seconds": 1.0}))
    key = store.row_keys()[0]
    store.save_row(replace(run_of(store_root).rows[key], key="stale"), store.predictions(key))
    pack(run_of(store_root), tmp_path / "results.zip")
    run, names = run_of(store_root), set(contents_of(tmp_path / "results.zip"))
    keys = set(run.rows)
    assert names == {
        CONTENTS, "plans/latest", f"plans/{run.plan.key}.json", f"pretrained/{digest('pmq')}/{CARD}",
        *(f"cells/{key}.{kind}" for key in keys for kind in ("json", "npz")),
        *(f"cells/{key}.error.json" for key in run.failures),
    }  # fmt: skip


def test_no_path_of_the_machine_is_packed_and_the_rows_still_vouch_for_themselves(
    write_store: WriteStore, tmp_path: Path
) -> None:
    def with_paths(row: Row) -> Row:
        return replace(row, provenance={"config": {"methods": [f"{HOME}/mine.py"]}}, notes=[f"read from {HOME}/x.dat"])

    def plan_with_paths(plan: Plan) -> Plan:
        return replace(plan, config=plan.config | {"knobs": {f"{HOME}/mine.py": {"lr": 1.0}}})

    root = write_store(alter=with_paths, alter_plan=plan_with_paths)
    store = Store(root)
    (failed,) = run_of(root).failures
    error = f"FileNotFoundError: no encoder in {HOME}/runs: run again"
    store.save_failure(failed, "fine-tune", error, f'Traceback:\n  File "{HOME}/mine.py", line 3, in learn\n{error}')
    pack(run_of(root), tmp_path / "results.zip")
    assert not [name for name, body in contents_of(tmp_path / "results.zip").items() if b"/home" in body]
    run = run_of(unpack(tmp_path / "results.zip", tmp_path / "unpacked").root)
    assert run.damaged == {}
    row = next(iter(run.rows.values()))
    assert row.notes == ["read from x.dat"]
    error = "FileNotFoundError: no encoder in runs: run again"
    told = f'Traceback:\n  File "mine.py", line 3, in learn\n{error}'
    assert run.failures[failed] == Failure(error, told)


def test_an_id_that_is_a_path_is_refused(store_root: Path, tmp_path: Path) -> None:
    store, run = Store(store_root), run_of(store_root)
    key, row = next(iter(run.rows.items()))
    store.save_row(row, replace(store.predictions(key), recording=np.array(["r1", f"{HOME}/r2"])))
    with pytest.raises(BadCapsule, match=rf"{key}: the id '{HOME}/r2' is a path .* give recordings relative ids"):
        pack(run_of(store_root), tmp_path / "results.zip")
    assert not (tmp_path / "results.zip").exists()


def test_damaged_rows_stay_out(store_root: Path, tmp_path: Path) -> None:
    victim = Store(store_root).row_keys()[0]
    (store_root / "cells" / f"{victim}.json").write_text("{")
    pack(run_of(store_root), tmp_path / "results.zip")
    assert not [name for name in contents_of(tmp_path / "results.zip") if victim in name]


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no zip at all" * 100, 0.5, 0.99])
def test_what_is_no_zip_or_cut_off_is_one_line(capsule: Path, content: bytes | float) -> None:
    whole = capsule.read_bytes()
    capsule.write_bytes(content if isinstance(content, bytes) else whole[: int(content * len(whole))])
    assert_refused(capsule, "it cannot be read")


def test_a_flipped_byte_is_noticed_or_changes_nothing(capsule: Path, tmp_path: Path) -> None:
    content, whole = capsule.read_bytes(), contents_of(capsule)
    refused = 0
    for number, place in enumerate(range(100, len(content), 3001)):
        capsule.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        try:
            store = unpack(capsule, tmp_path / str(number))
        except BadCapsule:
            refused += 1
        else:
            files = [path for path in store.root.rglob("*") if path.is_file()]
            assert {f.relative_to(store.root).as_posix(): f.read_bytes() for f in files}.items() <= whole.items()
    assert refused > 5


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({CONTENTS: None}, "it cannot be read"),
        ({CONTENTS: b"[]"}, "it cannot be read"),
        ({CONTENTS: b"{"}, "it cannot be read"),
        ({CONTENTS: b'{"format": 99}'}, "its format is 99, this version reads 1"),
        ({"plans/latest": b"other"}, "plans/latest does not match its digest"),
        ({"plans/latest": None}, "its files are not those of its contents"),
        ({"cells/extra.json": b"{}"}, "its files are not those of its contents"),
    ],
)
def test_an_altered_capsule_is_one_line(capsule: Path, change: dict[str, bytes | None], problem: str) -> None:
    rewrite(capsule, change)
    assert_refused(capsule, problem)


def test_a_capsule_writes_nothing_outside_its_folder(capsule: Path, tmp_path: Path) -> None:
    contents = json.loads(contents_of(capsule)[CONTENTS])
    contents["files"]["../outside"] = hashlib.sha256(b"x").hexdigest()
    contents["digest"] = hashlib.sha256(json.dumps(contents["files"], sort_keys=True).encode()).hexdigest()
    rewrite(capsule, {"../outside": b"x", CONTENTS: json.dumps(contents).encode()})
    unpack(capsule, tmp_path / "a" / "unpacked")
    assert [file.parent.name for file in tmp_path.rglob("outside")] == ["unpacked"]


def test_a_capsule_that_states_too_many_bytes_is_not_unpacked(capsule: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("reports.open.LARGEST", 1000)
    assert_refused(capsule, "more than 1000 bytes")


def assert_refused(file: Path, problem: str) -> None:
    with pytest.raises(BadCapsule) as caught:
        unpack(file, file.parent / "unpacked")
    message = str(caught.value)
    assert message.startswith(f"{file} is no whole results capsule: ")
    assert problem in message
    assert message.endswith("copy it anew, or pack it with --capsule")
    assert "\n" not in message
    assert isinstance(caught.value, NoResults)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("/home/ann/mine.py", "mine.py"),
        ("/Users/Ann Smith/my method.py", "my method.py"),
        ("~/methods/mine.py", "mine.py"),
        ("file:///home/ann/model", "model"),
        ("C:\\data\\ecg", "ecg"),
        ("no encoder in /home/ann/runs/pretrained/abc: it is missing", "no encoder in abc: it is missing"),
        ("[Errno 2] No such file: '/Users/Ann Smith/x y.npz'", "[Errno 2] No such file: 'x y.npz'"),
        ('  File "/home/ann/a.py", line 3', '  File "a.py", line 3'),
    ],
)
def test_an_absolute_path_shrinks_to_its_last_part(text: str, expected: str) -> None:
    assert portable(text) == expected
    assert portable(expected) == expected


@pytest.mark.parametrize(
    "text",
    ["./mine.py", "files/p10", "https://a.org/b/c", "heart rate below 50/min", "and/or/maybe", "/part", "1 / 2", ""],
)
def test_other_texts_stay(text: str) -> None:
    assert portable(text) == text


def test_keys_and_nested_values_are_reached_and_numbers_are_not() -> None:
    value = {"/home/ann/mine.py": {"lr": 1e-3, "methods": ["/home/ann/mine.py", None, True]}}
    assert portable(value) == {"mine.py": {"lr": 1e-3, "methods": ["mine.py", None, True]}}
