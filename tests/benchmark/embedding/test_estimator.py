"""The scikit-learn transformer: clone, pickle, Pipeline, cross_val_score, and scikit-learn's own checks."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError, SkipTestWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import estimator_checks as checks

from benchmark import EcgEmbedder, load_encoder
from benchmark.config.errors import ConfigError
from benchmark.data.readers.base import LEADS
from tests.benchmark.embedding.exported import RATE, recording

APPLY = (
    checks.check_estimator_cloneable,
    checks.check_estimator_tags_renamed,
    checks.check_valid_tag_types,
    checks.check_estimator_repr,
    checks.check_no_attributes_set_in_init,
    checks.check_parameters_default_constructible,
    checks.check_do_not_raise_errors_in_init_or_set_params,
    checks.check_get_params_invariance,
    checks.check_set_params,
    checks.check_mixin_order,
)
"""Those that need no X. The others give X of two axes, (n, features): they do not apply to recordings of three, and
scikit-learn leaves them out itself."""


@pytest.fixture
def signals() -> Any:
    return np.stack([recording(seed) for seed in range(6)])


@pytest.fixture
def embedder(exported: Path) -> EcgEmbedder:
    return EcgEmbedder(exported, rate=RATE, leads=LEADS)


@pytest.mark.parametrize("check", APPLY, ids=lambda check: check.__name__)
def test_a_check_of_scikit_learn(check: Callable[..., None]) -> None:
    check("EcgEmbedder", EcgEmbedder())


def test_scikit_learn_itself_runs_no_check_that_needs_features(embedder: EcgEmbedder) -> None:
    with pytest.warns(SkipTestWarning, match="Can't test estimator EcgEmbedder"):
        found = list(checks.estimator_checks_generator(embedder))
    assert len(found) == 1


def test_it_embeds_as_the_encoder_does(exported: Path, embedder: EcgEmbedder, signals: Any) -> None:
    with pytest.raises(NotFittedError):
        embedder.transform(signals)
    found = embedder.fit_transform(signals)
    assert np.array_equal(found, load_encoder(exported).encode(signals, RATE, LEADS))
    assert embedder.get_feature_names_out().tolist() == ["e0", "e1", "e2", "e3", "e4", "e5"]
    assert list(embedder.set_output(transform="pandas").transform(signals).columns) == [
        "e0",
        "e1",
        "e2",
        "e3",
        "e4",
        "e5",
    ]
    assert np.array_equal(embedder.set_output(transform="default").transform(list(signals)), found)


def test_clone_and_pickle(exported: Path, embedder: EcgEmbedder, signals: Any, tmp_path: Path) -> None:
    fitted = embedder.fit(signals)
    fresh = clone(fitted)
    assert fresh.get_params() == fitted.get_params()
    assert not hasattr(fresh, "encoder_")
    kept = pickle.dumps(fitted)
    expected = fitted.transform(signals)
    exported.rename(tmp_path / "gone")
    assert np.array_equal(pickle.loads(kept).transform(signals), expected)


@pytest.mark.parametrize("as_list", [False, True])
def test_in_a_pipeline_under_cross_validation(embedder: EcgEmbedder, signals: Any, as_list: bool) -> None:
    model = make_pipeline(embedder, StandardScaler(), LogisticRegression())
    scores = cross_val_score(model, list(signals) if as_list else signals, [0, 1, 0, 1, 0, 1], cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


def test_what_is_missing_is_one_line(exported: Path, signals: Any) -> None:
    with pytest.raises(ConfigError, match="give folder="):
        EcgEmbedder().fit(signals)
    with pytest.raises(ConfigError, match="give leads="):
        EcgEmbedder(exported, rate=RATE).fit(signals)
    with pytest.raises(ConfigError, match="lead missing: V6"):
        EcgEmbedder(exported, rate=RATE, leads=LEADS[:11]).fit(signals)
    signals[2] = np.nan
    with pytest.raises(ConfigError, match="recording 2: NaN samples"):
        EcgEmbedder(exported, rate=RATE, leads=LEADS).fit_transform(signals)
    with pytest.warns(UserWarning, match="1 of 6 recordings have no embedding"):
        found = EcgEmbedder(exported, rate=RATE, leads=LEADS, unusable="nan").fit_transform(signals)
    assert np.isnan(found[2]).all()
