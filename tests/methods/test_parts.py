"""Shared parts: losses under autocast and without pairs, masks and dropout, and one space a hyperparameter."""

from __future__ import annotations

from random import Random

import pytest
import torch
from pydantic import TypeAdapter

from methods import METHODS
from methods.parts.hyperparameters import Choice, Log, Recipe, Space, spaces_of
from methods.parts.layers import bernoulli_mask, continuous_mask, dropout, frequency_mask, time_mask
from methods.parts.losses import multi_positive_nce, scaled_similarity, shared_id_nce, time_cosine, unit_length


def test_similarity_keeps_single_precision_under_autocast() -> None:
    q, k = unit_length(torch.randn(5, 64)), unit_length(torch.randn(7, 64))
    exact = q @ k.T / 0.1
    with torch.autocast("cpu", torch.bfloat16):
        ours, rounded = scaled_similarity(q, k, 0.1), q @ k.T / 0.1
    assert ours.dtype == torch.float32
    torch.testing.assert_close(ours, exact)
    torch.testing.assert_close(scaled_similarity(q, k, 2.0), q @ k.T / 2)
    assert (rounded.float() - exact).abs().max() > 1e-3
    rows = unit_length(torch.cat([torch.randn(3, 64), torch.zeros(1, 64)]).bfloat16())
    assert rows.dtype == torch.float32
    torch.testing.assert_close(rows.norm(dim=1), torch.tensor([1.0, 1.0, 1.0, 0.0]))


def test_several_positives_are_averaged_by_query_or_by_pair() -> None:
    logits, valid = torch.randn(3, 4, dtype=torch.float64), torch.tensor([True, True, False, True])
    positive = torch.tensor([[1, 0, 1, 1], [0, 0, 1, 0], [0, 1, 0, 0]]).bool()
    shares = -logits[:, valid].log_softmax(1)
    pairs = [shares[0, 0], shares[0, 2], shares[2, 1]]
    by_query = ((pairs[0] + pairs[1]) / 2 + pairs[2]) / 2
    torch.testing.assert_close(multi_positive_nce(logits, positive, valid), by_query)
    torch.testing.assert_close(multi_positive_nce(logits, positive, valid, per_pair=True), sum(pairs) / 3)
    for per_pair in (False, True):  # of a single pair
        torch.testing.assert_close(
            multi_positive_nce(logits[2:], positive[2:], valid, per_pair, scale=3.0), 3 * pairs[2]
        )


def test_without_a_shared_id_the_loss_is_a_zero_with_a_graph() -> None:
    logits = torch.randn(3, 3, requires_grad=True)
    loss = shared_id_nce(logits, torch.tensor([0, 2**24, 2**24 + 1]))
    loss.backward()
    assert loss.item() == 0
    assert torch.equal(logits.grad, torch.zeros(3, 3))


def test_silent_channels_have_a_finite_gradient() -> None:
    h = torch.zeros(2, 4, 3, requires_grad=True)
    time_cosine(h, h).sum().backward()
    assert h.grad is not None
    assert h.grad.isfinite().all()


def test_a_mask_of_zero_is_off() -> None:
    x = torch.randn(3, 51, 4)
    state = torch.get_rng_state()
    off = [time_mask(x, 0.0), frequency_mask(x, 0.0), continuous_mask(x, 0, 0.1), continuous_mask(x, 5, 0.0)]
    off += [dropout(x, 0.5, training=False), dropout(x, 0.0, training=True)]
    assert all(output is x for output in off)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_mask_of_one_hides_everything() -> None:
    x = torch.randn(3, 51, 4)
    for mask in (time_mask, frequency_mask):
        assert torch.count_nonzero(mask(x, 1.0)) == 0
    assert all(bernoulli_mask(x.shape, share, CPU).dtype == torch.bool for share in (0.5, 1.0))


def test_time_mask_hides_whole_steps_of_each_sample() -> None:
    torch.manual_seed(0)
    masked = time_mask(torch.ones(40, 250, 3), 0.3)
    steps = masked[..., 0]
    assert torch.equal(masked, steps[..., None].expand_as(masked))
    assert (steps == 0).float().mean().item() == pytest.approx(0.3, abs=0.02)
    assert not torch.equal(steps[0], steps[1])


@pytest.mark.parametrize("steps", [50, 51])
@pytest.mark.parametrize("ratio", [0.1, 0.5])
def test_frequency_mask_hides_elements_of_the_spectrum(steps: int, ratio: float) -> None:
    torch.manual_seed(0)
    x = torch.randn(40, steps, 8, dtype=torch.float64)
    before = torch.fft.rfft(x, dim=1)
    masked = frequency_mask(x, ratio)
    assert masked.shape == x.shape
    assert masked.dtype == x.dtype
    share = torch.fft.rfft(masked, dim=1) / before  # imaginary parts of DC and Nyquist are zero on both sides
    hidden = share.abs() < 1e-9
    assert torch.allclose(share[~hidden].abs(), torch.ones((), dtype=x.dtype))
    assert hidden.float().mean().item() == pytest.approx(ratio, abs=0.02)
    assert hidden[:, 0].any()
    assert not torch.equal(hidden[:, :, 0], hidden[:, :, 1])


def test_continuous_mask_hides_stretches_of_each_sample() -> None:
    torch.manual_seed(0)
    masked = continuous_mask(torch.ones(400, 60, 3), spans=1, span_share=0.1)
    hidden = masked[..., 0] == 0  # (B, S)
    assert torch.equal(hidden, (masked == 0).all(-1))
    assert (hidden.sum(1) == 6).all()
    first = hidden.int().argmax(1)
    assert hidden[torch.arange(400)[:, None], first[:, None] + torch.arange(6)].all()
    assert set(first.tolist()) == set(range(55))


CPU = torch.device("cpu")


@pytest.mark.parametrize("lost", [0.1, 0.5, 0.9])
def test_so_many_survive_each_on_its_own(lost: float) -> None:
    torch.manual_seed(0)
    gone = ~bernoulli_mask((399, 1001), lost, CPU).flatten()  # not a multiple of four
    for quarter in (gone[i::4] for i in range(4)):  # each from its own bits of a draw
        assert float(quarter.double().mean()) == pytest.approx(lost, abs=0.01)
    for distance in (1, 2, 3, 4):
        both = (gone[distance:] & gone[:-distance]).double().mean()
        assert float(both) == pytest.approx(lost**2, abs=0.004)


@pytest.mark.parametrize(("share", "dtype"), [(0.1, torch.float32), (0.9, torch.bfloat16)])
def test_dropout_keeps_the_mean(share: float, dtype: torch.dtype) -> None:
    torch.manual_seed(0)
    y = dropout(torch.ones(500, 401, dtype=dtype), share, training=True)
    assert y.dtype == dtype
    assert float((y == 0).double().mean()) == pytest.approx(share, abs=0.01)
    assert float(y.double().mean()) == pytest.approx(1.0, abs=0.02)
    torch.testing.assert_close(y[y != 0], torch.full_like(y[y != 0], 1 / (1 - share)), rtol=1e-2, atol=0)


SHARES = "block_share encoder_dropout frequency_mask instance_weight latent_dropout mask_ratio mask_span_share momentum"
WEIGHTS = "observation_weight patient_weight sample_weight trial_weight uma_weight"
RANGES = {
    "0 to 1": f"{SHARES} time_mask",
    "0 to 1e+07": "queue_size",
    "from 0": f"covariance invariance mask_spans {WEIGHTS} off_diagonal_weight prediction_layers variance weight_decay",
    "from 1": "blocks decoder_depth horizon negatives prediction_layers projection_layers text_width",
    "from 2": "batch_size",
    "from 4": "decoder_width",
    "above 0": "lr temperature",
}
SPACES = {
    Log(1e-4, 1e-2): "recipe.lr", Choice((0.0, 1e-4, 1e-3, 1e-2, 1e-1)): "recipe.weight_decay",
    Log(0.03, 0.5): "temperature", Choice((0.9, 0.99, 0.996, 0.999)): "momentum", Log(0.05, 1.0): WEIGHTS,
    Choice((0.0, 0.1, 0.25, 0.5)): "time_mask", Choice((0.0, 0.05, 0.1, 0.25)): "frequency_mask",
    Choice((0, 2, 5, 10)): "mask_spans", Choice((0.05, 0.1, 0.2)): "latent_dropout mask_span_share",
    Log(1.0, 50.0): "invariance variance", Log(0.1, 10.0): "covariance", Log(5e-4, 5e-2): "off_diagonal_weight",
    Choice((0.25, 0.5, 0.75)): "instance_weight", Choice((4, 12, 24)): "horizon", Choice((2, 4, 6)): "blocks",
    Choice((0.1, 0.2, 0.3)): "block_share", Choice((0.5, 0.6, 0.75, 0.85)): "mask_ratio",
}  # fmt: skip


def range_of(about: dict[str, float]) -> str:
    """Return the range of a number, by its JSON schema: '0 to 1', 'from 0', 'above 0'."""
    if "maximum" in about:
        return f"{about['minimum']:g} to {about['maximum']:g}"
    return f"from {about['minimum']:g}" if "minimum" in about else f"above {about['exclusiveMinimum']:g}"


def test_a_method_takes_every_value_of_its_spaces() -> None:
    ranges, drawn = dict[str, set[str]](), dict[str, Space]()
    for kind in METHODS.values():
        for config in (kind.Config, Recipe):
            for name, about in TypeAdapter(config).json_schema()["properties"].items():
                if about.get("type") in ("number", "integer"):
                    ranges.setdefault(range_of(about), set()).add(name)
        for hyperparameter, space in spaces_of(kind.Config).items():
            assert drawn.setdefault(hyperparameter, space) == space
            outer, _, inner = hyperparameter.partition(".")
            for value in {space.draw(Random(number)) for number in range(200)}:
                config = kind.Config(**({outer: {inner: value}} if inner else {hyperparameter: value}))
                assert (config.recipe if inner else config).__dict__[inner or hyperparameter] == value
    assert ranges == {text: {*names.split()} for text, names in RANGES.items()}
    assert drawn == {name: space for space, names in SPACES.items() for name in names.split()}
