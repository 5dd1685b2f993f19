"""A method at a small size, and batches of simulated patients to try it on within seconds.

Batches are made as in a pretraining: by the sampler and the views that the method's default config asks for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import lru_cache

import torch
from torch import Tensor, nn

from benchmark.data.prepared.beats import FS, WINDOW, pseudo_trials
from benchmark.data.simulate import simulate
from benchmark.data.tasks.pairs import PairSource, make_batch
from benchmark.data.tasks.sampling import epoch_batches, epoch_shape
from benchmark.data.tasks.text import WIDTH as TEXT_WIDTH
from benchmark.machine.seeds import seed_torch
from benchmark.training.pretrain import make_optimiser, train_step
from methods.base import Batch, PretrainMethod, Recipe
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder

PATIENTS, RECORDINGS, BEATS = 24, 2, 8
"""Patients, recordings of each, and heartbeats of each recording."""
DIAGNOSES = ("NORM", "LBBB", "RBBB", "MI-ANT", "LVH", "STD")
"""What the patients have, in turn, so that they are easily told apart."""
SECONDS = 24.0
"""Long enough for the heartbeats of all recordings of a patient."""
EVERY = 6
"""Sample of a heartbeat that is kept, so that its 300 are 50."""
BATCH = 12
QUEUE = 24
"""Keys in the queue of a method that has a `queue_size`."""
RATE = 1e-2
SHARED = get_encoder(DEFAULT)
"""The encoder that methods are tried with where no other is asked for."""


def small_method(kind: type[PretrainMethod], encoder: type[Encoder] = SHARED, **knobs: object) -> PretrainMethod:
    """A method around a small encoder, with a small queue and its own defaults otherwise, the same every time.

    Knobs that its config does not have are left out.
    """
    known = {field.name for field in fields(kind.Config)}
    chosen = {knob: value for knob, value in {"queue_size": QUEUE, **knobs}.items() if knob in known}
    seed_torch("tryout", "build")
    return kind(encoder(encoder.Config.small()), kind.Config(**chosen))  # type: ignore[arg-type]


@lru_cache(maxsize=2)
def simulated_patients(text_width: int | None) -> PairSource:
    """Heartbeats of the patients, with a random embedding of each recording's report where asked for."""
    beats = torch.cat([simulated_beats(patient) for patient in range(PATIENTS)])  # (T, P, S, L)
    recording = torch.arange(len(beats))  # (T,)
    generator = torch.Generator().manual_seed(0)
    text = None if text_width is None else torch.randn(len(beats), text_width, generator=generator)  # (T, E)
    return PairSource(beats, recording, recording // RECORDINGS + 1, text)


def simulated_beats(patient: int) -> Tensor:
    """Heartbeats of a patient's recordings, each one pseudo-trial: (T, P, S, L)."""
    diagnosis = DIAGNOSES[patient % len(DIAGNOSES)]
    signal = simulate(diagnosis, seed=patient, seconds=SECONDS, fs=FS)  # (n, L)
    joined = torch.from_numpy(pseudo_trials(signal, FS, BEATS))[:RECORDINGS]  # (T, P * WINDOW, L)
    beats = joined.view(RECORDINGS, BEATS, WINDOW, -1)  # (T, P, WINDOW, L)
    return beats[:, :, ::EVERY].half()  # (T, P, S, L)


def patients_for(kind: type[PretrainMethod]) -> PairSource:
    """The simulated patients, with reports where the method reads them."""
    return simulated_patients(getattr(kind.Config(), "text_width", TEXT_WIDTH) if kind.needs_text else None)


def batch_of_size(kind: type[PretrainMethod], size: int, number: int = 0) -> Batch:
    """A batch of exactly so many random windows; batches of different numbers differ."""
    source = patients_for(kind)
    seed_torch("tryout", number)
    return make_batch(source, torch.randperm(source.pairs)[:size], kind.Config().pairing)


def training_batch(kind: type[PretrainMethod], update: int) -> Batch:
    """Batch of an update in a training from the first epoch on; torch is seeded for the update."""
    source, config = patients_for(kind), kind.Config()
    shape = epoch_shape(source.patient_of_pair, config.batching, BATCH)
    epoch, step = divmod(update, shape.updates)
    batches = epoch_batches(
        source.trial_of_pair, source.patient_of_pair, shape, batching=config.batching, seed=0, epoch=epoch
    )  # (n, B)
    seed_torch("tryout", epoch, step)
    return make_batch(source, batches[step], config.pairing)


def small_optimiser(method: PretrainMethod) -> torch.optim.Optimizer:
    """AdamW with a high learning rate, since the training is short."""
    return make_optimiser(method, Recipe(lr=RATE))


def train(method: PretrainMethod, optimiser: torch.optim.Optimizer, updates: Sequence[int]) -> list[float]:
    """Losses of the given updates, each done as the trainer does it."""
    kind = type(method)
    return [train_step(method, optimiser, training_batch(kind, n), RATE, "float32").item() for n in updates]


def copied_state(module: nn.Module) -> dict[str, Tensor]:
    """All that a checkpoint holds, as it is now."""
    return {name: value.clone() for name, value in module.state_dict().items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Names of the tensors whose bits differ."""
    return [name for name, value in before.items() if not torch.equal(bits(value), bits(after[name]))]


def bits(value: Tensor) -> Tensor:
    """The bytes of a tensor, by which also NaN equals itself."""
    return value.detach().contiguous().flatten().view(torch.uint8)


def flat(value: object) -> Iterator[object]:
    """A value, and what lies in it where it is a list, a tuple, a set or a dict."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    for item in inner:
        yield from flat(item)
