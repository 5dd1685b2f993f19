"""What the encoders of tokens share: which windows they take, what of a window is pooled, which bits a seed gives."""

from __future__ import annotations

import pytest
import torch
from pydantic import ValidationError

from methods.encoders.st_mem import STMEM, STMEMConfig
from methods.encoders.tokens import TokenConfig, TokenEncoder
from methods.encoders.vit1d import ViT1d, ViT1dConfig

KINDS = [ViT1d, STMEM]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("samples", "message"),
    [
        (313, "encoder.patch 25 does not divide them; use 1, or windows of 300 or 325 samples"),
        (310, "encoder.patch 25 does not divide them; use 2 or 5 or 10, or windows of 300 or 325 samples"),
        (3, "encoder.patch 25 does not divide them; use 1, or windows of 25 samples"),
        (5000, "encoder.length is 2500; set encoder.length=5000"),
    ],
)
def test_windows_that_no_patches_make_up_are_refused(kind: type[TokenEncoder], samples: int, message: str) -> None:
    assert kind.Config().unfit(samples) == message  # type: ignore[call-arg]
    with pytest.raises(ValueError, match=f"encoder {kind.name} cannot take windows of {samples} samples: {message}"):
        kind().patches(torch.zeros(1, samples, 12))


@pytest.mark.parametrize("kind", [ViT1dConfig, STMEMConfig])
def test_sizes_that_do_not_divide_are_refused(kind: type[ViT1dConfig | STMEMConfig]) -> None:
    with pytest.raises(ValueError, match="patch 30 does not divide length 2500"):
        kind(patch=30)


@pytest.mark.parametrize("kind", KINDS)
@torch.no_grad()
def test_what_is_pooled_is_the_normalised_summary_and_dropped_out_in_training_alone(kind: type[TokenEncoder]) -> None:
    encoder, x = kind(kind.Config.small()).eval(), torch.randn(3, 20, 12)
    summary = encoder(x)[:, 0] if kind is ViT1d else encoder(x).mean(1)  # (B, K)
    assert torch.equal(encoder.pooled(x), encoder.norm(summary))
    encoder.dropout = 1.0
    assert torch.equal(encoder.pooled(x), encoder.norm(summary))
    assert not encoder.train().pooled(x).any()


@pytest.mark.parametrize("kind", KINDS)
def test_an_encoder_is_drawn_from_its_seed_part_by_part(kind: type[TokenEncoder]) -> None:
    """Stored results rest on the order: the embedding, what stands at or beside the tokens, the blocks."""
    torch.manual_seed(3)
    encoder = kind(kind.Config.small())
    torch.manual_seed(3)
    config = encoder.config
    samples = encoder.input[1].in_features
    linear = torch.nn.Linear(samples, config.output)
    beside = [p for name, p in encoder.named_parameters() if "." not in name]
    drawn = [0.02 * torch.randn(p.shape) for p in beside]
    first = torch.nn.Linear(config.output, 3 * config.heads * config.head_width)
    assert torch.equal(encoder.input[1].weight, linear.weight)
    assert all(map(torch.equal, beside, drawn))
    assert torch.equal(encoder.blocks[0].attention.qkv.weight, first.weight)


@pytest.mark.parametrize("kind", [ViT1dConfig, STMEMConfig])
def test_an_encoder_of_tokens_has_a_block(kind: type[TokenConfig]) -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 1"):
        kind(depth=0)
    assert kind(depth=1).depth == 1


def test_an_encoder_of_tokens_says_what_it_lacks() -> None:
    bare = type("Bare", (TokenEncoder,), {"name": "bare"})
    for method, words in (("cut", "the samples of each token"), ("summary", "the representation of a window")):
        with pytest.raises(NotImplementedError, match=f"^Bare.{method}: give {words}"):
            getattr(bare, method)(bare.__new__(bare), torch.zeros(1, 4, 12))
