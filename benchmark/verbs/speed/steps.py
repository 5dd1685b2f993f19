"""Training updates that `speed` times: of a method, its plain form and fine-tuning, on random windows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from benchmark.config.sections.evaluate import Finetune
from benchmark.machine.seeds import seed_torch
from benchmark.training.compiled import compile_encoders
from benchmark.training.finetune import Classifier, loss_of
from benchmark.training.health import count_positives
from benchmark.training.pretrain import make_optimiser, train_step
from benchmark.verbs.speed.plain.network import PLAIN_ENCODERS
from benchmark.verbs.speed.plain.other_steps import PlainBYOL, PlainCLOCS, PlainCOMET, PlainMoCo, PlainPCLR
from benchmark.verbs.speed.plain.released_step import PlainReleased
from methods import get_method
from methods.base import Batch, MethodConfig, PretrainMethod
from methods.encoders import get_encoder
from methods.encoders.base import Encoder, EncoderConfig
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
"""Plain form of each method; ETP's differs only in the encoder, PMQ's is the authors' released step."""
PATIENTS = 16_000
"""Patients of the paper's pretraining corpus; their number sets the positives per query."""
WINDOWS_PER_TRIAL = 5
CLASSES = 5


@dataclass(frozen=True)
class Setting:
    """Everything that determines a step's computation; picklable."""

    method: str
    """A method's name or file; '' for fine-tuning."""
    config: MethodConfig
    encoder: str
    """An encoder's name or file."""
    size: EncoderConfig
    samples: int
    batch: int
    precision: str
    device: str
    plain: bool = False
    compiled: bool = False
    """Compile the method's encoders with torch.compile."""


def training_job(setting: Setting) -> Callable[[], Tensor]:
    """A function that does one trainer update of a method per call, with a full queue."""
    device = torch.device(setting.device)
    method = build(setting).to(device)
    method.train()
    if setting.compiled:
        compile_encoders(method)
    optimiser = make_optimiser(method, setting.config.recipe)
    width = getattr(setting.config, "text_width", None)
    batch = random_batch(setting.batch, setting.samples, setting.size.leads, width, device)

    def update() -> Tensor:
        if not setting.plain:
            count_positives(method.positives(batch), device)
        return train_step(method, optimiser, batch, setting.config.recipe.lr, setting.precision)

    return update


def build(setting: Setting) -> PretrainMethod:
    """The method, or its plain form with the same knobs, around a new encoder; fixed initial weights."""
    kind, knobs = get_method(setting.method), setting.config
    if setting.plain:
        kind = PLAIN[kind.name]
        knobs = released_knobs(knobs) if kind is PlainReleased else knobs
    seed_torch("speed", "build")
    method = kind(new_encoder(setting), knobs)
    queue = getattr(method, "queue", None)
    if isinstance(queue, KeyQueue):
        queue.keys.copy_(unit_length(torch.randn_like(queue.keys)))
        queue.patient.random_(1, PATIENTS)
        queue.recording.copy_(queue.patient)
    return method


def new_encoder(setting: Setting) -> Encoder:
    """The encoder, or its plain form, without dropout."""
    kind = get_encoder(setting.encoder)
    return (PLAIN_ENCODERS[kind] if setting.plain else kind)(replace(setting.size, dropout=0.0))


def released_knobs(config: MethodConfig) -> PMQReleasedConfig:
    """The knobs of PMQ, including dropout, that its released code also has."""
    shared = {field.name for field in fields(PMQReleasedConfig)} & {field.name for field in fields(config)}
    return PMQReleasedConfig(**{name: getattr(config, name) for name in shared})


def random_batch(size: int, samples: int, leads: int, text_width: int | None, device: torch.device) -> Batch:
    """`size` pairs of noise windows, with patients drawn as from the paper's corpus."""
    seed_torch("speed", "batch")
    x1, x2 = torch.randn(2, size, samples, leads)  # (B, S, L) each
    trial = torch.arange(size) // WINDOWS_PER_TRIAL  # (B,)
    patient = torch.randint(1, PATIENTS, (size,))[trial]  # (B,)
    text = None if text_width is None else torch.randn(size, text_width)  # (B, E)
    batch = Batch(x1, x2, patient, trial, trial, text)
    return Batch(*(None if part is None else part.to(device) for part in batch))  # type: ignore[arg-type]


def finetuning_job(setting: Setting) -> Callable[[], Tensor]:
    """A function that does one fine-tuning update of encoder and classifier per call."""
    device, settings = torch.device(setting.device), Finetune()
    seed_torch("speed", "build")
    model = Classifier(new_encoder(setting), CLASSES, settings.head_hidden, settings.dropout).to(device)
    optimiser = torch.optim.AdamW(model.parameters(), lr=settings.lr, weight_decay=settings.weight_decay)
    signal = torch.randn(setting.batch, setting.samples, setting.size.leads, device=device)  # (B, S, L)
    target = torch.eye(CLASSES, device=device)[torch.arange(setting.batch, device=device) % CLASSES]  # (B, C)

    def update() -> Tensor:
        loss = loss_of(model, signal, target, False, setting.precision)
        optimiser.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        return loss.detach()

    return update
