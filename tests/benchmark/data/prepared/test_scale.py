"""One mean and deviation over some recordings of a dataset, all leads together."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from benchmark.data.prepared.load import Prepared
from benchmark.data.prepared.scale import Scale, scale_of

MakePrepared = Callable[..., Prepared]


def test_mean_and_deviation_are_over_all_samples_and_leads_of_the_recordings_named(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1), ("b", (1,), 2, 2), ("c", (2,), 4, 3)])
    prepared.windows[:3] += 2  # type: ignore[index]
    own = np.concatenate([prepared.windows[:3], prepared.windows[5:]]).astype(np.float64)
    found = scale_of(prepared, np.array([0, 2]))
    np.testing.assert_allclose(found, (own.mean(), own.std()), rtol=1e-9)
    assert found.mean > 0.5


def test_what_has_no_samples_or_one_value_is_left_as_it_is(make_prepared: MakePrepared) -> None:
    prepared = make_prepared("ptb-xl", [("a", (0,), 3, 1)])
    assert scale_of(prepared, np.array([], np.int64)) == (0.0, 1.0)
    prepared.windows[:] = 0  # type: ignore[index]
    assert scale_of(prepared, np.array([0])) == (0.0, 1.0)


def test_a_scale_is_subtracted_and_divided_by() -> None:
    signal = np.array([[1.0, 3.0], [-1.0, 0.5]], np.float16)
    np.testing.assert_array_equal(Scale(1.0, 0.5).applied(signal), np.array([[0, 4], [-4, -1]], np.float16))
