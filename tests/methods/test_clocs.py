"""CLOCS's loss against the official values and a double loop, its edge cases, and its views."""

from __future__ import annotations

import math
from itertools import combinations
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import torch
from torch import Tensor

from benchmark.data.datasets.base import LEADS
from methods.clocs import CLOCS, SINGLE_LEADS, CLOCSConfig, cmsc_loss, lead_views, single_lead_samples
from tests import make


@pytest.mark.parametrize("name", ["losses_a", "losses_c"])
def test_equals_the_official_loss(shared_reference: Path, name: str) -> None:
    with np.load(shared_reference / f"{name}.npz") as arrays:
        views, patient = (torch.from_numpy(arrays[key]) for key in ("clocs_views", "patient"))
        expected = float(arrays["clocs_cmsc"])
    z1, z2 = views.unbind(2)
    assert cmsc_loss(z1, z2, patient, 0.1).item() == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("name", ["losses_a", "losses_c"])
def test_the_official_code_keeps_the_last_of_six_pairs_of_views(shared_reference: Path, name: str) -> None:
    with np.load(shared_reference / f"{name}.npz") as arrays:
        views, patient = (torch.from_numpy(arrays[key]) for key in ("clocs_views4", "patient"))
        official = float(arrays["clocs_cmlc4_last"])
    losses = [cmsc_loss(z1, z2, patient, 0.1).item() for z1, z2 in combinations(views.unbind(2), 2)]
    assert losses[-1] / 6 == pytest.approx(official, rel=1e-5)
    assert sum(losses) / 6 > 5 * official


def looped(z1: Tensor, z2: Tensor, patient: list[int], temperature: float) -> float:
    count = len(patient)
    exponentials = [
        [math.exp(torch.cosine_similarity(z1[i], z2[j], dim=0).item() / temperature) for j in range(count)]
        for i in range(count)
    ]
    rows = [math.fsum(row) for row in exponentials]
    columns = [math.fsum(row[j] for row in exponentials) for j in range(count)]
    terms: dict[str, list[float]] = {"row": [], "column": [], "above": [], "below": []}
    for i in range(count):
        for j in range(count):
            by_row, by_column = -math.log(exponentials[i][j] / rows[i]), -math.log(exponentials[i][j] / columns[j])
            if i == j:
                terms["row"].append(by_row)
                terms["column"].append(by_column)
            elif patient[i] == patient[j]:
                terms["above" if i < j else "below"].append(by_row if i < j else by_column)
    means = [sum(values) / len(values) for values in terms.values() if values]
    return sum(means) / len(means)


@pytest.mark.parametrize(
    "patient", [[0, 1, 2, 3], [7, 7, 7, 7], [0, 5, 0, 5, 0], [1, 2], [0, 0], [2**24, 2**24 + 1, 2**40, 2**24]]
)
def test_equals_the_double_loop(patient: list[int]) -> None:
    torch.manual_seed(1)
    z1, z2 = torch.randn(2, len(patient), 6, dtype=torch.float64)
    ours = cmsc_loss(z1, z2, torch.tensor(patient), 0.3)
    assert ours.shape == ()
    assert ours.item() == pytest.approx(looped(z1, z2, patient, 0.3), rel=1e-12)


@pytest.mark.parametrize("patient", [[0, 1, 2], [4, 4, 0]])
def test_gradients_are_right(patient: list[int]) -> None:
    z1, z2 = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))
    torch.autograd.gradcheck(lambda a, b: cmsc_loss(a, b, torch.tensor(patient), 0.5), (z1, z2))


def make_clocs(views: str) -> CLOCS:
    torch.manual_seed(0)
    return CLOCS(make.encoder(), CLOCSConfig(views=views))  # type: ignore[arg-type]


def test_a_lead_view_keeps_one_lead_in_its_place() -> None:
    x = torch.randn(3, 20, 12)
    views = lead_views(x)
    assert len(views) == 12
    assert torch.equal(torch.stack(views).sum(0), x)
    for lead, view in enumerate(views):
        assert torch.equal(view[..., lead], x[..., lead])
        assert torch.count_nonzero(view) == torch.count_nonzero(x[..., lead])
    assert {view.dtype for view in lead_views(x.bfloat16())} == {torch.bfloat16}


@pytest.mark.parametrize(("views", "count"), [("cmsc", 2), ("cmlc", 12), ("cmsmlc", 24)])
def test_all_pairs_of_views_count(views: str, count: int) -> None:
    method, batch = make_clocs(views), make.batch([0, 1, 0, 2])
    z = [method.encoder.pooled(view) for view in method.views(batch)]
    assert len(z) == count
    losses = [cmsc_loss(a, b, batch.patient, 0.1) for a, b in combinations(z, 2)]
    loss = method(batch)
    torch.testing.assert_close(loss, sum(losses) / math.comb(count, 2))
    loss.backward()


def test_cmlc_looks_at_the_first_window_alone() -> None:
    batch = make.batch([0, 1, 0, 2])
    other = batch._replace(x2=torch.randn(4, 20, 12))
    assert make_clocs("cmlc")(batch).item() == make_clocs("cmlc")(other).item()
    assert make_clocs("cmsmlc")(batch).item() != make_clocs("cmsmlc")(other).item()


def test_the_single_leads_stand_where_the_loader_puts_them() -> None:
    assert all(LEADS[place] == name for name, place in SINGLE_LEADS.items())


def test_a_single_lead_sample_keeps_its_window_lead_and_patient() -> None:
    batch = make.batch([0, 1, 0, 2])
    samples = single_lead_samples(batch)
    assert samples.x1.shape == samples.x2.shape == (16, 20, 12)
    for number, place in enumerate(SINGLE_LEADS.values()):
        for window in range(4):
            sample = number * 4 + window
            for before, after in ((batch.x1, samples.x1), (batch.x2, samples.x2)):
                assert torch.equal(after[sample, :, place], before[window, :, place])
                assert torch.count_nonzero(after[sample]) == torch.count_nonzero(before[window, :, place])
            assert all(ids[sample] == own[window] for ids, own in zip(samples[2:5], batch[2:5], strict=True))


def test_one_lead_equals_the_loop_over_leads_and_windows() -> None:
    torch.manual_seed(0)
    encoder = make.encoder().double()
    method = CLOCS(encoder, CLOCSConfig(leads="one", temperature=0.3))
    batch = make.batch([0, 1, 0, 2])
    batch = batch._replace(x1=batch.x1.double(), x2=batch.x2.double())
    z: list[list[Tensor]] = [[], []]
    patients = []
    for name in ("II", "aVR", "aVL", "V2"):
        for window in range(4):
            for view, x in enumerate((batch.x1, batch.x2)):
                alone = torch.zeros(1, 20, 12, dtype=torch.float64)
                alone[0, :, LEADS.index(name)] = x[window, :, LEADS.index(name)]
                z[view].append(encoder.pooled(alone)[0])
            patients.append(int(batch.patient[window]))
    expected = looped(torch.stack(z[0]), torch.stack(z[1]), patients, 0.3)
    loss = method(batch)
    assert loss.item() == pytest.approx(expected, rel=1e-9)
    loss.backward()


@pytest.mark.parametrize("views", ["cmlc", "cmsmlc"])
def test_one_lead_is_refused_where_leads_are_the_views(views: Literal["cmlc", "cmsmlc"]) -> None:
    with pytest.raises(ValueError, match=f"leads = 'one': {views} takes one lead at a time"):
        CLOCSConfig(views=views, leads="one")
