"""Small methods and batches of simulated patients for checks that take seconds.

Batches are made as in pretraining, by the sampler and the views of the method's default config.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import fields
from functools import lru_cache

import torch
from torch import Tensor, nn

from benchmark.data.corpus.pairs import PairSource, make_batch
from benchmark.data.corpus.sampling import epoch_batches, epoch_shape
from benchmark.data.corpus.text import WIDTH as TEXT_WIDTH
from benchmark.data.prepared.beats import FS, WINDOW, pseudo_trials
from benchmark.data.simulate import simulate
from benchmark.machine.seeds import seed_torch
from benchmark.training.pretrain import make_optimiser, train_step
from methods.base import Batch, PretrainMethod, Recipe
from methods.encoders import DEFAULT, get_encoder
from methods.encoders.base import Encoder

PATIENTS, RECORDINGS, BEATS = 24, 2, 8
"""Patients, recordings of each, and heartbeats of each recording."""
DIAGNOSES = ("NORM", "LBBB", "RBBB", "MI-ANT", "LVH", "STD")
"""Diagnoses of the patients, in turn, so that patients are separable."""
SECONDS = 24.0
"""Seconds of signal per patient, enough for the heartbeats of all recordings."""
EVERY = 6
"""Subsampling of a heartbeat, from 300 samples to 50."""
BATCH = 12
QUEUE = 24
"""Keys in the queue of a method that has a `queue_size`; wrong candidates where it draws `negatives`."""
RATE = 1e-2
SHARED = get_encoder(DEFAULT)
"""Default encoder of the checks of methods."""


def small_method(kind: type[PretrainMethod], encoder: type[Encoder] = SHARED, **knobs: object) -> PretrainMethod:
    """A method around a small encoder, with a small queue, default knobs and fixed initial weights.

    Knobs that its config lacks are ignored.
    """
    known = {field.name for field in fields(kind.Config)}
    chosen = {
        knob: value for knob, value in {"queue_size": QUEUE, "negatives": QUEUE, **knobs}.items() if knob in known
    }
    seed_torch("tryout", "build")
    return kind(encoder(encoder.Config.small()), kind.Config(**chosen))  # type: ignore[arg-type]


@lru_cache(maxsize=2)
def simulated_patients(text_width: int | None) -> PairSource:
    """Heartbeats of the simulated patients; with `text_width` E, a random (T, E) embedding of the reports."""
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
    """The simulated patients, with report embeddings if the method needs text."""
    return simulated_patients(getattr(kind.Config(), "text_width", TEXT_WIDTH) if kind.needs_text else None)


def batch_of_size(kind: type[PretrainMethod], size: int, number: int = 0) -> Batch:
    """A batch of `size` random pairs; `number` seeds the draw."""
    source = patients_for(kind)
    seed_torch("tryout", number)
    return make_batch(source, torch.randperm(source.pairs)[:size], kind.Config().pairing)


def training_batch(kind: type[PretrainMethod], update: int) -> Batch:
    """The batch of update `update` (from 0), across epochs; seeds torch for the update."""
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
    """Losses of the given updates, each a `train_step`."""
    kind = type(method)
    return [train_step(method, optimiser, training_batch(kind, n), RATE, "float32").item() for n in updates]


def copied_state(module: nn.Module) -> dict[str, Tensor]:
    """A copy of the state_dict."""
    return {name: value.clone() for name, value in module.state_dict().items()}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> list[str]:
    """Names of the tensors whose bits differ."""
    return [name for name, value in before.items() if not torch.equal(bits(value), bits(after[name]))]


def bits(value: Tensor) -> Tensor:
    """The bytes of a tensor, so that NaN equals NaN."""
    return value.detach().contiguous().flatten().view(torch.uint8)


def outside_state(module: nn.Module) -> Iterator[tuple[str, Tensor | torch.Generator]]:
    """Path and value of each tensor or generator of a module that is in none of its parameters and buffers.

    A second name of a parameter, which torch's recurrent layers give to each of theirs, is no state of its own.
    """
    known = {id(tensor) for tensor in (*module.parameters(), *module.buffers())}
    for name, part in module.named_modules():
        for attribute, value in vars(part).items():
            if attribute in ("_parameters", "_buffers", "_modules"):
                continue
            for item in flat(value):
                if isinstance(item, Tensor | torch.Generator) and id(item) not in known:
                    yield f"{name}.{attribute}".lstrip("."), item


def flat(value: object) -> Iterator[object]:
    """A value and, recursively, the elements of a list, tuple, set or dict."""
    yield value
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple, set)) else ()
    for item in inner:
        yield from flat(item)
