"""What `speed` times of training: updates of a method and its plain form, and of fine-tuning, on random windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from benchmark.config.sections import Finetune
from benchmark.machine.seeds import seed_torch
from benchmark.training.compiled import compile_encoders
from benchmark.training.finetune import Classifier, loss_of
from benchmark.training.health import count_positives
from benchmark.training.pretrain import make_optimiser, train_step
from benchmark.verbs.speed.plain.network import PlainEncoder
from benchmark.verbs.speed.plain.other_steps import PlainBYOL, PlainCLOCS, PlainCOMET, PlainMoCo, PlainPCLR
from benchmark.verbs.speed.plain.released_step import PlainReleased
from methods import get_method
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders.dilated import Encoder, EncoderConfig
from methods.etp import ETP
from methods.parts.losses import unit_length
from methods.parts.queue import KeyQueue
from methods.pmq_released import PMQReleasedConfig

PLAIN: dict[str, type[PretrainMethod]] = {
    "moco": PlainMoCo,
    "byol": PlainBYOL,
    "clocs": PlainCLOCS,
    "pclr": PlainPCLR,
    "comet": PlainCOMET,
    "etp": ETP,
    "pmq": PlainReleased,
    "pmq-released": PlainReleased,
}
"""Plain form of each method; that of ETP differs by its encoder alone, and that of PMQ is its authors' step."""
PATIENTS = 16_000
"""Of the paper's pretraining corpus: how many there are decides how many positives a query has."""
WINDOWS_PER_TRIAL = 5
CLASSES = 5


@dataclass(frozen=True)
class Setting:
    """All that decides what a step computes; plain values, so that a process of its own can be given it."""

    method: str
    """A method's name or file; '' for fine-tuning."""
    config: MethodConfig
    encoder: EncoderConfig
    samples: int
    batch: int
    precision: str
    device: str
    plain: bool = False
    compiled: bool = False
    """Whether a method's encoders go through torch.compile."""


def training_job(setting: Setting) -> Callable[[], Tensor]:
    """One update per call, as the trainer does it, of a method whose queue is full."""
    device = torch.device(setting.device)
    method = build(setting).to(device)
    method.train()
    if setting.compiled:
        compile_encoders(method)
    optimiser = make_optimiser(method, setting.config.recipe)
    width = getattr(setting.config, "text_width", None)
    batch = random_batch(setting.batch, setting.samples, setting.encoder.leads, width, device)

    def update() -> Tensor:
        if not setting.plain:
            count_positives(method.positives(batch), device)
        return train_step(method, optimiser, batch, setting.config.recipe.lr, setting.precision)

    return update


def build(setting: Setting) -> PretrainMethod:
    """The method, or its plain form with the same knobs, around an encoder of its own; the same weights every time."""
    kind, knobs = get_method(setting.method), setting.config
    encoder = Encoder
    if setting.plain:
        kind, encoder = PLAIN[kind.name], PlainEncoder
        knobs = released_knobs(knobs) if kind is PlainReleased else knobs
    seed_torch("speed", "build")
    method = kind(encoder(replace(setting.encoder, dropout=0.0)), knobs)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.random_(1, PATIENTS)
        queue.recording.copy_(queue.patient)
    return method


def released_knobs(config: MethodConfig) -> PMQReleasedConfig:
    """Those knobs of PMQ that its released code has too, its dropout among them."""
    shared = {field.name for field in fields(PMQReleasedConfig)} & {field.name for field in fields(config)}
    return PMQReleasedConfig(**{name: getattr(config, name) for name in shared})


def random_batch(size: int, samples: int, leads: int, text_width: int | None, device: torch.device) -> Batch:
    """Pairs of windows of noise, whose patients are drawn as from the paper's corpus."""
    seed_torch("speed", "batch")
    x1, x2 = torch.randn(2, size, samples, leads)  # (B, S, L) each
    trial = torch.arange(size) // WINDOWS_PER_TRIAL  # (B,)
    patient = torch.randint(1, PATIENTS, (size,))[trial]  # (B,)
    text = None if text_width is None else torch.randn(size, text_width)  # (B, E)
    batch = Batch(x1, x2, patient, trial, trial, text)
    return Batch(*(None if part is None else part.to(device) for part in batch))  # type: ignore[arg-type]


def finetuning_job(setting: Setting) -> Callable[[], Tensor]:
    """One update of encoder and classifier per call, as fine-tuning does it."""
    device, settings = torch.device(setting.device), Finetune()
    seed_torch("speed", "build")
    encoder = (PlainEncoder if setting.plain else Encoder)(replace(setting.encoder, dropout=0.0))
    model = Classifier(encoder, CLASSES, settings.head_hidden, settings.dropout).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    signal = torch.randn(setting.batch, setting.samples, setting.encoder.leads, device=device)  # (B, S, L)
    target = torch.eye(CLASSES, device=device)[torch.arange(setting.batch, device=device) % CLASSES]  # (B, C)

    def update() -> Tensor:
        loss = loss_of(model, signal, target, False, setting.precision)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss.detach()

    return update
