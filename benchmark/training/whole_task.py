"""A whole task of a run in small, on noise: a pretraining that is resumed, the stored encoder, and its fine-tuning.

The command `check` does it with the code of a run, so that a class on which a run would fail does so there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import torch

from benchmark.config.schema import Finetune
from benchmark.data.corpus import Corpus
from benchmark.data.datasets.base import LEADS
from benchmark.data.task import Task, Windows
from benchmark.data.trials import Trials
from benchmark.training.checkpoint import CHECKPOINT, load_encoder, save_encoder
from benchmark.training.finetune import finetune
from benchmark.training.pretrain import pretrain
from methods.base import PretrainMethod
from methods.encoders.pretrained import PretrainedEncoder

TRIALS, PER_TRIAL, PAIRS = 8, 4, 4
"""Pseudo-trials of the corpus, two of each patient; windows of each; pairs of an update."""
LABELLED, SAMPLES = 4, 48
"""Windows of each side of the downstream task, and time steps of each but for weights from elsewhere."""


def do_whole_task(build: Callable[[], PretrainMethod], device: torch.device, precision: str) -> None:
    """Pretrain for an epoch, resume for another one, store the encoder, load it, and fine-tune it for an epoch.

    build: returns the same new method at each call. Raises what a run would fail on.
    """
    with TemporaryDirectory() as name:
        folder = Path(name) / "key"
        folder.mkdir()
        method = build().to(device)
        encoder = method.exported()
        samples = encoder.signals.samples if isinstance(encoder, PretrainedEncoder) else SAMPLES
        for epochs in (1, 2) if method.trains else ():
            method = build().to(device)
            settings = replace(method.config, recipe=replace(method.config.recipe, batch_size=PAIRS))
            corpus = noise_corpus(method, samples, device)
            checkpoint = folder / CHECKPOINT
            pretrain(method, settings, corpus, epochs=epochs, seed=0, precision=precision, checkpoint=checkpoint)
        encoder = method.exported()
        task = noise_task(samples, device)
        save_encoder(folder, encoder, {})
        loaded = load_encoder(folder, type(encoder)).to(device)
        if not (isinstance(encoder, PretrainedEncoder) and encoder.frozen):
            finetune(loaded, task, Finetune(epochs=1), seed=0, precision=precision)


def noise_corpus(method: PretrainMethod, samples: int, device: torch.device) -> Corpus:
    """Draw the corpus of a method: pseudo-trials of as many recordings of half as many patients, reports of noise."""
    generator = np.random.default_rng(0)
    number = np.arange(TRIALS)  # (T,)
    signal = generator.standard_normal((TRIALS * PER_TRIAL * samples, len(LEADS))).astype(np.float16)  # (n, L)
    trials = Trials((signal,), number * PER_TRIAL * samples, number, number // 2, samples, PER_TRIAL)
    text = torch.randn(TRIALS, getattr(method.config, "text_width", 1), device=device) if method.needs_text else None
    return Corpus(trials, number, device, text=text)


def noise_task(samples: int, device: torch.device, count: int = LABELLED) -> Task:
    """Draw a task of two classes, whose sides are the same windows; count: an even number of them."""
    signal = torch.randn(count, samples, len(LEADS), generator=torch.Generator().manual_seed(0))  # (n, S, L)
    target = torch.eye(2).repeat(count // 2, 1)  # (n, C)
    names = np.arange(count).astype(str)  # (n,)
    windows = Windows(signal.half().to(device), target.to(device), names, names)
    return Task(windows, windows, windows, multi=False, unit="heartbeat")
