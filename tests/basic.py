"""The config that tests start from, beside the shipped ones, which may change."""

from __future__ import annotations

from pathlib import Path

from methods import METHODS

BASIC = str(Path(__file__).with_name("basic.yaml"))
ANYWHERE = [name for name in METHODS if name != "mae"]
"""Methods that every encoder serves: `mae` hides tokens."""
TINY = """
methods: [random, pmq]
data:
  datasets: [chapman]
  simulation: {patients: {mimic-iv-ecg: 8, chapman: 30}, recordings_per_patient: 2}
encoder: {hidden: 4, depth: 2, output: 8}
hyperparameters: {pmq: {queue_size: 16}}
pretrain: {epochs: 1, recipe: {batch_size: 8}}
evaluate: [linear]
ratios: [0.5]
seeds: [41]
baselines: []
precision: float32
"""
"""A grid of seconds, for tests that start processes or jobs."""
