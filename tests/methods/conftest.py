"""One thread for tiny tensors: more would mostly wait for each other, and rounding would depend on the machine."""

from __future__ import annotations

import torch

torch.set_num_threads(1)
