"""Made-up searches of two methods, for the tests of what reports say of them."""

from __future__ import annotations

from benchmark.results.schema import digest
from benchmark.results.tuned import Space, Trial, Tuning

SPACES: dict[str, Space] = {
    "momentum": {"scale": "choice", "values": [0.9, 0.999]},
    "recipe.lr": {"scale": "log", "values": [0.0001, 0.01]},
}
MOCO = Tuning(
    key=digest({"method": "moco"}), content={"method": "moco"}, method="moco", title="MoCo", ratio=0.1, seed=41,
    pretrain_seed=42, search_seed=1, data={"chapman": "f"}, simulated=True, spaces=SPACES,
    trials=[
        Trial({"momentum": 0.99, "recipe.lr": 0.001}, {"chapman": 0.5}, 0.5),
        Trial({"momentum": 0.9, "recipe.lr": 0.004}, {"chapman": 0.6}, 0.6),
        Trial({"momentum": 0.999, "recipe.lr": 0.01}, {}, None, "ValueError: the loss is not finite"),
    ],
    best=1,
)  # fmt: skip
CLOCS = Tuning(
    key=digest({"method": "clocs"}), content={"method": "clocs"}, method="clocs", title="CLOCS", ratio=0.1, seed=41,
    pretrain_seed=42, search_seed=1, data={"chapman": "f"}, simulated=True, spaces={"recipe.lr": SPACES["recipe.lr"]},
    trials=[Trial({"recipe.lr": rate}, {"chapman": 0.3}, 0.3) for rate in (0.001, 0.004, 0.01)], best=0,
)  # fmt: skip
SEARCHES = [MOCO, CLOCS]
