"""One mean and deviation over some recordings of a dataset, all leads together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.scale import Scale, scale_of

MakePrepared = Callable[..., Prepared]


def test_mean_and_deviation_are_over_all_samples_and_leads_of_the_recordings_named(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1), ("b", (1,), 2, 2), ("c", (2,), 4, 3)])
    prepared.windows[:3] += 2  # type: ignore[index]
    prepared.windows[:] *= 0.25  # type: ignore[index]
    own = np.concatenate([prepared.windows[:3], prepared.windows[5:]]).astype(np.float64)
    found = scale_of(prepared, np.array([0, 2]))
    np.testing.assert_allclose(found, (own.mean(), own.std()), rtol=1e-9)
    assert found.mean > 0.1
    assert found.deviation < 0.5


def test_what_has_no_samples_or_one_value_is_left_as_it_is(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1)])
    assert scale_of(prepared, np.array([], np.int64)) == (0.0, 1.0)
    prepared.windows[:] = 0  # type: ignore[index]
    assert scale_of(prepared, np.array([0])) == (0.0, 1.0)


def test_a_scale_is_subtracted_and_divided_by() -> None:
    signal = np.array([[1.0, 3.0], [-1.0, 0.5]], np.float16)
    np.testing.assert_array_equal(Scale(1.0, 0.5).applied(signal), np.array([[0, 4], [-4, -1]], np.float16))


def test_standardises_as_the_ptb_xl_benchmark(make_prepared: MakePrepared, shared_reference: Path) -> None:
    with np.load(shared_reference / "protocol_dev.npz") as stored:
        given = {name: stored[f"standardise/{name}"] for name in ("train", "val", "train_out", "val_out")}
    recordings = [(str(number), (0,), 1, 1) for number in range(len(given["train"]))]
    prepared = replace(make_prepared("ptb-xl", recordings), windows=given["train"])  # type: ignore[arg-type]
    scale = scale_of(prepared, np.arange(len(recordings)))
    for side in ("train", "val"):
        found = (given[side] - scale.mean) / scale.deviation
        np.testing.assert_allclose(found, given[f"{side}_out"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(scale.applied(given[side]), given[f"{side}_out"], rtol=2**-10, atol=1e-3)
