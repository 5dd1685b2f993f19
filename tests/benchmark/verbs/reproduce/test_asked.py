"""What a row tells of how it was made: its device, and code that is loaded only where the user names it."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from benchmark.config.errors import ConfigError
from benchmark.results.rows import Row
from benchmark.verbs.reproduce.asked import config_of, device_for, renamed
from tests.benchmark.run.bench import Bench, cell_of


def made_on(row: Row, device: str) -> Row:
    return replace(row, provenance=row.provenance | {"device": {"type": device, "name": "H100", "threads": 1}})


def test_a_row_of_a_gpu_is_run_elsewhere_only_on_demand(told_bench: Bench) -> None:
    row = told_bench.store.load_row(cell_of(told_bench, "pmq").key)
    assert row is not None
    assert device_for(row, Namespace(device="auto")) == torch.device("cpu")
    if not torch.cuda.is_available():
        with pytest.raises(ConfigError, match=r"was made on a GPU \(H100\), and torch sees none here; --device cpu"):
            device_for(made_on(row, "cuda"), Namespace(device="auto"))
    assert device_for(made_on(row, "cuda"), Namespace(device="cpu")) == torch.device("cpu")
    with pytest.raises(ConfigError, match="on a device of the unknown type 'quantum'; --device cpu runs it"):
        device_for(made_on(row, "quantum"), Namespace(device="auto"))


def test_code_that_a_store_names_is_not_loaded_unless_the_user_names_it(told_bench: Bench, tmp_path: Path) -> None:
    row = told_bench.store.load_row(cell_of(told_bench, "pmq").key)
    assert row is not None
    own = tmp_path / "mine.py"
    own.write_text(
        "import methods.pmq\n\n\nclass Mine(methods.pmq.PMQ):\n    name = 'mine'\n    title = 'Mine'\n",
        encoding="utf-8",
    )
    config = row.provenance["config"] | {"methods": ["random", "/theirs/mine.py"]}
    theirs = replace(row, provenance=row.provenance | {"config": config})
    with pytest.raises(ConfigError, match=r"names /theirs/mine\.py; code that a store names is not loaded"):
        config_of(theirs, None)
    assert config_of(theirs, own).compared() == ["random", "mine"]
    card = replace(row, provenance=row.provenance | {"config": config | {"methods": ["/theirs/card.yaml"]}})
    with pytest.raises(ConfigError, match=r"names /theirs/card\.yaml; code that a store names is not loaded"):
        config_of(card, None)
    assert config_of(card, own).compared() == ["mine"]
    two = replace(row, provenance=row.provenance | {"config": config | {"methods": ["a.py", "b.py"]}})
    with pytest.raises(ConfigError, match=r"several files of code \(a\.py, b\.py\)"):
        config_of(two, own)
    both = replace(row, provenance=row.provenance | {"config": config | {"methods": ["a.py", "b.yaml"]}})
    with pytest.raises(ConfigError, match=r"several files of code \(a\.py, b\.yaml\)"):
        config_of(both, own)
    assert renamed({"a.py": [1, {"x": "a.py"}]}, "a.py", "b.py") == {"b.py": [1, {"x": "b.py"}]}
