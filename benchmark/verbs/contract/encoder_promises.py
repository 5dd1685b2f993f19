"""Checks of the encoder contract: each tests one promise and returns its finding, or raises `Broken`.

Encoders are built at their small size (the cost at full size) and get windows of noise or simulated patients.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, replace

import torch
from torch import Tensor

from benchmark.config.errors import built
from benchmark.machine.seeds import seed_torch
from benchmark.results.keys import digest
from benchmark.run.estimate import multiplications
from benchmark.training.pretrain import autocast
from benchmark.verbs.contract.promises import Broken
from benchmark.verbs.contract.tryout import changed, copied_state, outside_state, small_method, small_optimiser, train
from methods import METHODS, refusal
from methods.encoders.base import MEAN, Encoder, EncoderConfig

Kind = type[Encoder]

WINDOWS, STEPS, LEADS = 4, 48, 12
PAPER_STEPS = 300
SHAPES = ((300, 12), (250, 12), (101, 12), (48, 1), (33, 8), (16, 12))
"""(S, L): heartbeats, windows of other rates, odd lengths, few leads."""
CLOSE = 1e-4
"""Tolerance in float32, relative to the largest value."""
HALF_PRECISION_DRIFT = 0.05
"""Tolerance under bf16, relative, of the norm over a batch."""
UPDATES = 2


def builds(kind: Kind) -> str:
    """The default config builds an encoder; returns its parameters and multiplications per window."""
    config_class = getattr(kind, "Config", None)
    if not (
        isinstance(config_class, type)
        and issubclass(config_class, EncoderConfig)
        and "__dataclass_fields__" in vars(config_class)
    ):
        raise Broken(f"{kind.__name__}.Config: make it a @dataclass(frozen=True) that extends EncoderConfig")
    try:
        config = built(config_class, {}, f"{config_class.__name__}.")
    except ValueError as error:
        raise Broken(f"{error}: give every knob a default") from None
    try:
        digest(asdict(config))  # result keys hash the sizes
    except (TypeError, ValueError) as error:
        raise Broken(f"{config_class.__name__} cannot be filed ({error}): use numbers, texts and lists") from error
    if why := config.unfit(PAPER_STEPS):
        raise Broken(f"the defaults refuse heartbeats of {PAPER_STEPS} samples ({why}): choose sizes that take them")
    encoder = kind(config)
    parameters = sum(parameter.numel() for parameter in encoder.parameters())
    millions = multiplications(encoder, PAPER_STEPS) / 1e6
    return f"{parameters:,} parameters, {millions:,.1f} million multiplications for a window of {PAPER_STEPS} samples"


def says_who_it_is(kind: Kind) -> str:
    """The class has a name."""
    name = getattr(kind, "name", None)
    if not (isinstance(name, str) and name):
        raise Broken(f"{kind.__name__}.name is {name!r}: give the class one, e.g. name = 'my-encoder'")
    return kind.name


def small(kind: Kind, **changes: float) -> Encoder:
    """A small encoder with fixed initial weights."""
    seed_torch("tryout", "encoder")
    return kind(replace(kind.Config.small(), **changes))  # type: ignore[arg-type]


def noise(number: int = 0, windows: int = WINDOWS, steps: int = STEPS, leads: int = LEADS) -> Tensor:
    """Windows of noise, (B, S, L)."""
    generator = torch.Generator().manual_seed(number)
    return torch.randn(windows, steps, leads, generator=generator)  # (B, S, L)


def keeps_to_shapes(kind: Kind) -> str:
    """Output shapes for windows of several lengths and numbers of leads, or a line on why it refuses a length."""
    if why := kind.Config.small().unfit(STEPS):
        raise Broken(f"small() refuses windows of {STEPS} samples ({why}): choose sizes that take them")
    seen = []
    for steps, leads in SHAPES:
        encoder = small(kind, leads=leads)
        if why := encoder.config.unfit(steps):
            if len(why.splitlines()) != 1:
                raise Broken(f"unfit({steps}) gives {why!r}: say in one line what is possible")
            seen.append(f"{steps} refused")
            continue
        width, x = encoder.config.output, noise(steps=steps, leads=leads)  # (B, S, L)
        embedded, out, pooled = encoder.embed(x), encoder(x), encoder.pooled(x)
        at = f"of windows {tuple(x.shape)}"
        if embedded.ndim != 3 or len(embedded) != len(x):
            raise Broken(f"embed {at} gives {tuple(embedded.shape)}: give (B, S, D), samples and time in front")
        if out.ndim != 3 or len(out) != len(x) or not 1 <= out.shape[1] <= steps or out.shape[2] != width:
            raise Broken(f"forward {at} gives {tuple(out.shape)}: give (B, S', K) with S' <= S and K = {width}")
        if pooled.shape != (len(x), width):
            raise Broken(f"pooled {at} gives {tuple(pooled.shape)}: give (B, K) with K = {width}")
        seen.append(f"{steps} -> {out.shape[1]}")
    return f"K = {width}, time steps {', '.join(seen)}; leads {', '.join(map(str, sorted({n for _, n in SHAPES})))}"


def learns_with_every_parameter(kind: Kind) -> str:
    """Every parameter gets a finite gradient through `forward` and through `pooled`."""
    for way in ("forward", "pooled"):
        encoder = small(kind).train()
        out = getattr(encoder, way)(noise())
        (out * torch.randn_like(out)).sum().backward()
        for name, parameter in encoder.named_parameters():
            if not parameter.requires_grad:
                raise Broken(f"{name} is frozen: the encoder has to learn")
            if way == "forward" and name in kind.of_pooled:
                continue
            if parameter.grad is None:
                raise Broken(f"{name} gets no gradient through {way}: use it, or leave it out")
            if not parameter.grad.isfinite().all():
                raise Broken(f"the gradient of {name} through {way} is not finite")
    return f"a finite gradient for all {len(list(encoder.parameters()))} tensors"


def is_its_state(kind: Kind) -> str:
    """After a training pass, config and state_dict rebuild an encoder with equal outputs and contain all tensors."""
    encoder = small(kind).train()
    encoder(noise())
    for path, _ in outside_state(encoder):
        raise Broken(f"{path} holds a tensor or generator that no checkpoint has: use register_buffer")
    seed_torch("tryout", "another encoder")
    loaded = kind(encoder.config)
    with torch.no_grad():
        for parameter in loaded.parameters():
            parameter.zero_()  # so that a tensor missing from the checkpoint shows
    loaded.load_state_dict(encoder.state_dict(), strict=True)
    x = noise(1)
    if not torch.equal(encoder.eval()(x), loaded.eval()(x)):
        raise Broken(
            "after loading, the outputs differ: keep all state in parameters and buffers, all else in the config"
        )
    return f"{len(encoder.state_dict())} tensors; loaded strictly, the same bits"


@torch.no_grad()
def is_settled_in_evaluation(kind: Kind) -> str:
    """In evaluation: no random draws, no change of state, and each window is independent of its batch."""
    encoder, x = small(kind, dropout=0.5).eval(), noise()
    before, generator = copied_state(encoder), torch.get_rng_state()
    both = encoder(x), encoder(x)
    wrong = changed(before, encoder.state_dict())
    if wrong:
        raise Broken(f"{wrong[0]} changes in evaluation: ask `if self.training` before the state is moved")
    if not torch.equal(generator, torch.get_rng_state()) or not torch.equal(*both):
        raise Broken("it draws random numbers in evaluation: ask `if self.training` before anything is drawn")
    alone = torch.cat([encoder(window) for window in torch.split(x, 1)])  # (B, S', K)
    if not close(alone, both[0]):
        raise Broken("a window's output in evaluation depends on the windows beside it")
    return f"{len(before)} tensors unchanged, the same bits twice, each window by itself"


@torch.no_grad()
def pools_as_it_says(kind: Kind) -> str:
    """`pooled` is the mean over time of `forward`, in training and in evaluation, unless the class says otherwise."""
    if kind.pooling != MEAN:
        return f"{kind.pooling}, as it says"
    for training in (True, False):
        encoder, x = small(kind).train(training), noise()
        if not close(encoder.pooled(x), encoder(x).mean(1)):
            mode = "training" if training else "evaluation"
            raise Broken(f"in {mode} pooled is not the mean over time of forward: a shortcut must be exact")
    return f"the {MEAN} of forward, in training and in evaluation"


@torch.no_grad()
def drops_out_in_training(kind: Kind) -> str:
    """Dropout zeroes outputs in training only."""
    x = noise()
    kept, whole = small(kind, dropout=0.5).train()(x), small(kind).train()(x)  # (B, S', K)
    share = float((kept[whole != 0] == 0).float().mean())
    if not 0.3 < share < 0.7:
        raise Broken(f"a dropout of 0.5 hides {share:.0%} of the outputs: leave it to Encoder.forward")
    if not torch.equal(small(kind, dropout=0.5).eval()(x), small(kind).eval()(x)):
        raise Broken("dropout acts in evaluation: ask `if self.training`")
    return f"0.5 hides {share:.0%} of the outputs in training, none in evaluation"


def close(ours: Tensor, theirs: Tensor) -> bool:
    """Equal up to `CLOSE`."""
    return bool((ours - theirs).abs().max() <= CLOSE * theirs.abs().max().clamp(min=1e-12))


@torch.no_grad()
def lets_a_mask_act(kind: Kind) -> str:
    """A mask is called once, on the output of `embed`, and the rest of the encoder reads only its result."""
    encoder = small(kind).eval()
    x, other = noise(0), noise(1)
    for way in ("forward", "pooled"):
        run = getattr(encoder, way)
        given: list[Tensor] = []

        def watch(h: Tensor, given: list[Tensor] = given) -> Tensor:
            given.append(h.clone())
            return h

        watched = run(x, watch)
        if len(given) != 1 or not torch.equal(given[0], encoder.embed(x)):
            raise Broken(
                f"{way} calls a mask {len(given)} times, not once with what embed gives: use self.masked(x, mask)"
            )
        if not close(watched, run(x)):
            raise Broken(f"{way} with a mask that hides nothing differs from {way} without one")
        if not torch.equal(run(x, torch.zeros_like), run(other, torch.zeros_like)):
            raise Broken(f"{way} sees the window past a mask that hides all of it: compute from the masked input alone")
        if close(run(x, half_hidden), run(x)):
            raise Broken(f"{way} does not depend on what a mask hides")
    return f"once, on {tuple(given[0].shape[1:])} of a window; nothing passes beside it"


def half_hidden(h: Tensor) -> Tensor:
    """Zero the second half of the time steps: (B, S, D) -> (B, S, D)."""
    return torch.cat([h[:, : h.shape[1] // 2], torch.zeros_like(h[:, h.shape[1] // 2 :])], 1)  # (B, S, D)


def takes_one_window(kind: Kind) -> str:
    """A batch of one window gives finite outputs and gradients in training."""
    encoder = small(kind).train()
    encoder.pooled(noise(windows=1)).square().sum().backward()  # type: ignore[no-untyped-call]
    if not all(parameter.grad.isfinite().all() for parameter in encoder.parameters() if parameter.grad is not None):
        raise Broken("of one window a gradient is not finite: look for statistics over the batch alone")
    return "finite gradients"


def stands_half_precision(kind: Kind) -> str:
    """Under bf16 autocast `pooled` is close to float32, in training and in evaluation."""
    # Batch normalisation over the few steps of a short window would show its own noise.
    steps = STEPS if kind.Config.small().unfit(PAPER_STEPS) else PAPER_STEPS
    found = []
    for training in (True, False):
        encoder, x = small(kind).train(training), noise(steps=steps)
        exact = encoder.pooled(x)  # (B, K)
        with autocast(x.device, "bf16"):
            half = encoder.pooled(x)  # (B, K)
        half.float().square().sum().backward()  # type: ignore[no-untyped-call]
        found.append(float((half.float() - exact).detach().norm() / exact.detach().norm()))
        if not found[-1] < HALF_PRECISION_DRIFT:
            raise Broken(f"bf16 moves pooled by {found[-1]:.1%}: keep normalisation and sums in float32")
    return f"bf16 moves pooled by {max(found):.2%}"


@torch.no_grad()
def leaves_tokens_out(kind: Kind) -> str:
    """An encoder of tokens gives the samples of each token, and reads no token that is not kept."""
    if not kind.tokens:
        return "it has none, as it says"
    encoder, x = small(kind).eval(), noise()
    patches, embedded = encoder.patches(x), encoder.embed(x)  # (B, N, P), (B, N, D)
    if patches.shape[:2] != embedded.shape[:2] or patches.numel() != x.numel():
        raise Broken(f"patches of {tuple(x.shape)} are {tuple(patches.shape)}: give the samples of each of the tokens")
    if not torch.equal(patches.flatten().sort().values, x.flatten().sort().values):
        raise Broken("patches changes the samples: give them as they are, each once")
    kept = torch.stack([torch.randperm(embedded.shape[1])[:3] for _ in x])  # (B, M)
    chosen = encoder.kept_steps(embedded, kept)  # (B, M, K)
    if chosen.shape != (*kept.shape, encoder.config.output):
        raise Broken(f"kept_steps of {tuple(kept.shape)} tokens gives {tuple(chosen.shape)}: give (B, M, K)")
    hidden = torch.zeros_like(embedded).scatter(1, kept[..., None].expand(-1, -1, embedded.shape[2]), 1.0)  # (B, N, D)
    if not torch.equal(encoder.kept_steps(embedded * hidden, kept), chosen):
        raise Broken("kept_steps depends on tokens that are not kept: put those kept through the blocks alone")
    if not close(encoder.kept_steps(embedded, kept.flip(1)).flip(1), chosen):
        raise Broken("kept_steps gives the tokens in another order than `kept`")
    return f"{embedded.shape[1]} tokens of {patches.shape[2]} samples; those left out have no influence"


def is_learned_by_every_method(kind: Kind) -> str:
    """Every method trains it for some steps: finite loss, and every encoder parameter changes."""
    taken = list(steps_taken(kind))
    return f"{', '.join(taken)} take {UPDATES} steps each"


def steps_taken(kind: Kind) -> Iterator[str]:
    """Name of each method after its steps. Raises Broken if a step fails."""
    for name, method_class in METHODS.items():
        if not method_class.trains or refusal(method_class, kind):
            continue
        method = small_method(method_class, kind)
        before = {key: value.detach().clone() for key, value in method.encoder.named_parameters()}
        losses = train(method, small_optimiser(method), range(UPDATES))
        if not torch.tensor(losses).isfinite().all():
            raise Broken(f"{name}: the losses are {losses}")
        still = set(before) - set(changed(before, dict(method.encoder.named_parameters()))) - {*kind.of_pooled}
        if still:
            raise Broken(f"{name}: {min(still)} stays where it was")
        yield name
