"""What a step does stays on its device: every method, every encoder, fine-tuning, probes and batches.

On torch's `meta` device tensors have no values: an operation that would wait for the device to know one (`item`,
`bool`, `nonzero`, a mask as an index, a copy to the host) raises, and so does one that mixes devices. What runs here
neither waits for a GPU nor leaves a tensor on the CPU.
"""

from __future__ import annotations

import contextlib
import copy
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmark.config.schema import Finetune, Supervised
from benchmark.data.corpus import Corpus
from benchmark.data.task import Crops, Windows
from benchmark.training import finetune
from benchmark.training.finetune import new_classifier, new_model, probabilities, update
from benchmark.training.pretrain import make_optimiser, train_step
from benchmark.training.probes import pooled_features
from methods import METHODS
from methods.base import Batch, PretrainMethod, Recipe
from methods.encoders import DEFAULT, ENCODERS
from methods.encoders.base import Encoder
from tests.benchmark.data.corpora import corpus_in_memory

META = torch.device("meta")
PAIRS, TRIALS, PER_TRIAL, SAMPLES, LEADS, CLASSES, TEXT = 6, 8, 6, 300, 12, 3, 16
TRAINED = [name for name, kind in METHODS.items() if kind.trains]
ON_TOKENS = ("mae", "jepa")
SERVED = [
    *(pytest.param(name, DEFAULT) for name in TRAINED if name != "mae"),
    *(pytest.param("pmq", encoder, marks=pytest.mark.slow) for encoder in ENCODERS if encoder != DEFAULT),
    *(pytest.param(name, "vit1d", marks=pytest.mark.slow) for name in ON_TOKENS),
]
"""What waits in an encoder waits under every method; only methods of tokens call more of it."""
WAITS = "data|[Mm]eta|device"
"""In the messages of what raises on a device without values."""


@pytest.fixture(autouse=True)
def without_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch has no autocast for the device, and the suite no size of evaluation batches."""
    monkeypatch.setattr(torch, "autocast", lambda *given, **named: contextlib.nullcontext())
    monkeypatch.setitem(finetune.EVALUATION_BATCH, "meta", 2)


def corpus() -> Corpus:
    """A corpus on the host whose batches go to the device."""
    trial, signal = torch.arange(TRIALS), torch.zeros(TRIALS, PER_TRIAL, SAMPLES, LEADS)
    text = torch.zeros(TRIALS, TEXT, device=META)
    return corpus_in_memory(signal, trial // 4 + 1, trial // 2, text, device="meta")


def method_of(name: str, encoder: str) -> PretrainMethod:
    """A small method, made on the CPU and moved as a run moves it."""
    kind = METHODS[name]
    small: dict[str, Any] = {"queue_size": 24, "negatives": 24, "text_width": TEXT}
    known = {knob: value for knob, value in small.items() if knob in getattr(kind.Config, "__dataclass_fields__", {})}
    made = ENCODERS[encoder]
    return kind(made(made.Config.small()), kind.Config(**known)).to(META)


def windows(device: torch.device, count: int = 5) -> Windows:
    names = [str(number) for number in range(count)]
    signal = torch.zeros(count, SAMPLES, LEADS, dtype=torch.float16, device=device)
    return Windows(signal, torch.zeros(count, CLASSES, device=device), names, names)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "encoder"), SERVED)
def test_an_update_of_a_method_waits_for_nothing(name: str, encoder: str) -> None:
    method = method_of(name, encoder)
    method.begin(10)
    method.train()
    source, knobs = corpus(), METHODS[name].Config()
    optimiser = make_optimiser(method, Recipe())
    for _ in range(2):
        batch = source.batch(torch.arange(PAIRS), knobs.pairing)
        loss = train_step(method, optimiser, batch, 1e-3, "float32")
        assert (loss.device, loss.shape) == (META, ())


@pytest.mark.parametrize(
    "encoder", [name if name == DEFAULT else pytest.param(name, marks=pytest.mark.slow) for name in ENCODERS]
)
@pytest.mark.parametrize("multi", [False, True])
def test_an_update_of_fine_tuning_a_prediction_and_frozen_features_wait_for_nothing(encoder: str, multi: bool) -> None:
    made = ENCODERS[encoder](ENCODERS[encoder].Config.small())
    labelled = windows(META)
    crops = Crops(
        torch.zeros(900, LEADS, dtype=torch.float16, device=META), torch.tensor([0, 400], device=META),
        torch.tensor([50, 99], device=META), torch.zeros(2, CLASSES, device=META), SAMPLES,
    )  # fmt: skip
    models: list[nn.Module] = [
        new_classifier(made, CLASSES, Finetune(encoder_dropout=0.1), seed=1),
        new_model(made, CLASSES, Supervised(), seed=1),
    ]
    for model in models:
        model.to(META).train()
        optimiser = torch.optim.AdamW(model.parameters(), lr=1e-3)
        for source in (labelled, crops):
            loss = update(model, optimiser, source, torch.tensor([1, 0, 1]), multi, "float32")
            assert (loss.device, loss.shape) == (META, ())
        found = probabilities(model, labelled.signal, multi, "float32")
        assert (found.device, found.shape) == (META, (5, CLASSES))
    pooled = pooled_features(copy.deepcopy(made).to(META), labelled.signal, "float32")
    assert (pooled.device, pooled.shape) == (META, (5, made.config.output))


@pytest.mark.parametrize("pairing", ["neighbor", "same", "patient"])
def test_a_batch_is_on_the_device_without_waiting(pairing: Any) -> None:
    (batch,) = corpus().batches(torch.arange(PAIRS)[None], pairing, lambda step: step)
    assert {own.device for own in batch if own is not None} == {META}
    assert batch.x1.dtype == batch.x2.dtype == torch.float32


class Waiting(PretrainMethod):
    """A method that does one of the things which must not be done."""

    name, title = "waiting", "Waiting"
    step: Any = None

    def forward(self, batch: Batch) -> Tensor:
        found: Tensor = self.encoder.pooled(batch.x1).sum() + type(self).step(batch)
        return found


STEPS_THAT_WAIT = [
    pytest.param(lambda batch: batch.x1.sum().item(), id="item"),
    pytest.param(lambda batch: 1 if batch.patient[0] > 3 else 0, id="bool"),
    pytest.param(lambda batch: batch.x1[batch.patient > 1].sum(), id="a mask as an index"),
    pytest.param(lambda batch: batch.patient.unique().sum(), id="unique"),
    pytest.param(lambda batch: batch.x1.cpu().sum(), id="cpu"),
    pytest.param(lambda batch: (batch.x1[:, 0] + torch.ones(1, LEADS)).sum(), id="a tensor of the CPU"),
]


@pytest.mark.parametrize("step", STEPS_THAT_WAIT)
def test_a_step_that_waits_or_mixes_devices_is_caught(step: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Waiting, "step", staticmethod(step))
    encoder: Encoder = ENCODERS["dilated"](ENCODERS["dilated"].Config.small())
    method = Waiting(encoder, Waiting.Config()).to(META)
    batch = corpus().batch(torch.arange(PAIRS), "neighbor")
    with pytest.raises((RuntimeError, NotImplementedError), match=WAITS):
        train_step(method, make_optimiser(method, Recipe()), batch, 1e-3, "float32")
