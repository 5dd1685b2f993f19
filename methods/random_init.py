"""Random: no pretraining. The encoder stays as the seed drew it, the gate every pretraining has to pass."""

from __future__ import annotations

from typing import ClassVar

from methods.base import PretrainMethod


class RandomInit(PretrainMethod):
    """The untrained encoder."""

    name: ClassVar[str] = "random"
    title: ClassVar[str] = "Random"
    trains: ClassVar[bool] = False
