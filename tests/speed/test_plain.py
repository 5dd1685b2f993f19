"""The plain forms compute what the suite's do, once neither masks nor dropout differ by chance."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
import torch

from benchmark.data.heartbeats import heartbeats
from benchmark.data.simulate import simulate
from methods import METHODS
from methods.encoders.dilated import Dilated, DilatedConfig
from tests import make
from tests.speed.plain import PLAIN, PlainDilated, plain_heartbeats

CALM = {"encoder_dropout": 0.0, "time_mask": 0.0, "frequency_mask": 0.0, "mask_spans": 0, "queue_size": 12}


@pytest.mark.parametrize("name", ["comet", "pmq-released"])
def test_three_updates_lead_to_the_same_state(name: str) -> None:
    config: Any = METHODS[name].Config()
    config = replace(
        config,
        **{
            hyperparameter: CALM[hyperparameter]
            for hyperparameter in {field.name for field in fields(config)} & CALM.keys()
        },
    )
    torch.manual_seed(1)
    batches = [make.batch([1, 1, 2, 2, 3, 4], [0, 0, 1, 2, 3, 4], steps=40) for _ in range(3)]
    losses, states = [], []
    for kind, encoder in ((METHODS[name], Dilated), (PLAIN[name], PlainDilated)):
        torch.manual_seed(0)
        method = kind(encoder(DilatedConfig(hidden=8, depth=3, output=16)), config).double()
        optimiser = torch.optim.SGD([p for p in method.parameters() if p.requires_grad], lr=0.1)
        for batch in batches:
            optimiser.zero_grad()
            loss = method(batch._replace(x1=batch.x1.double(), x2=batch.x2.double()))
            loss.backward()
            optimiser.step()
            method.after_step()
            losses.append(loss.detach())
        states.append({key: value for key, value in method.state_dict().items() if key != "queue.recording"})
    torch.testing.assert_close(losses[3:], losses[:3], rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(states[1], states[0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("diagnosis", "fs"), [("NORM", 500.0), ("LBBB", 500.0), ("NORM", 250.0)])
def test_the_windows_are_those_of_the_suite(diagnosis: str, fs: float) -> None:
    signal = simulate(diagnosis, seed=3, seconds=10.0, fs=fs)
    np.testing.assert_allclose(plain_heartbeats(signal, fs), heartbeats(signal, fs).windows, atol=1e-5)
