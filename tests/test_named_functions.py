"""Functions that code outside calls by their names: losses, loaders and rules of the papers. A name here stays."""

from __future__ import annotations

from inspect import signature
from pkgutil import resolve_name

import pytest

NAMED = {
    "methods.parts.losses:multi_positive_nce": "logits positive valid per_pair",
    "methods.parts.losses:info_nce": "q k temperature",
    "methods.pmq:patient_info_nce": "q k patient queue_keys queue_ids temperature",
    "methods.pmq_released:released_loss": "q k patient queue_keys queue_ids temperature",
    "methods.moco:moco_loss": "q k queue_keys queue_ids temperature",
    "methods.byol:byol_loss": "p z",
    "methods.clocs:cmsc_loss": "z1 z2 patient temperature",
    "methods.pclr:nt_xent": "z1 z2 temperature",
    "methods.comet:observation_loss": "h1 h2",
    "methods.comet:sample_loss": "h1 h2",
    "methods.comet:trial_loss": "h1 h2 ids",
    "methods.comet:patient_loss": "h1 h2 ids",
    "methods.siamese:simclr_loss": "z1 z2 temperature",
    "methods.siamese:barlow_loss": "z1 z2 off_diagonal_weight",
    "methods.siamese:vicreg_loss": "z1 z2 invariance variance covariance",
    "methods.siamese:simsiam_loss": "p1 z1 p2 z2",
    "methods.ts2vec:hierarchical_loss": "h1 h2 alpha",
    "methods.cpc:cpc_loss": "predicted encoded negatives steps temperature",
    "methods.clip_report:clip_loss": "z1 z2 temperature",
    "methods.clip_report:uma_loss": "z1 z2 temperature",
    "methods.jepa:jepa_loss": "prediction target",
    "methods.mae:reconstruction_loss": "prediction patches mask normalise",
    "methods.encoders.dilated:load_released": "state_dict",
    "benchmark.data.heartbeats:pseudo_trials": "signal fs beats_per_trial",
    "benchmark.data.datasets.ptb_xl:class_of_code": "task",
    "benchmark.data.datasets.ptb_xl:labels_of": "codes of_code",
    "tests.methods.encoders.official:load_official": "name",
}
"""Function -> its first parameters."""


@pytest.mark.parametrize("name", NAMED)
def test_a_named_function_has_its_parameters(name: str) -> None:
    expected = NAMED[name].split()
    assert [*signature(resolve_name(name)).parameters][: len(expected)] == expected
