"""What `--dry-run` says a grid will tell apart: from the report in --out, else from the shipped pilot, else nothing."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from benchmark.cli.tell_apart import Pilot, cost_of, lines_of, pilot_of, proposal
from benchmark.config.command_line import USAGE
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.run.grid import Grid, expand
from reports.statistics.design import PairParts
from run_benchmark import main

SmallConfig = Callable[..., Config]
STRICT = {
    "protocol": "strict",
    "evaluate": ["linear"],
    "ratios": [0.1],
    "seeds": [41, 42, 43],
    "methods": ["random", "pmq"],
}
PARTS = PairParts(seeds=5, subsets=5, patients=100, encoders_sd=0.03, subsets_sd=0.03, tunings_sd=0, patients_se=0)


def grid_of(config: Config) -> Grid:
    mode = {"device": "cpu", "precision": "float32"}
    return expand(config, corpus="corpus", fingerprints={"chapman": "chapman"}, mode=mode)


def write_pilot(out: Path, table: str = "linear-recording", parts: PairParts = PARTS) -> Path:
    out.mkdir(exist_ok=True)
    line = {"table": table, "ratio": 0.1, "first": "random", "second": "pmq"} | vars(parts)
    pd.DataFrame([line]).to_csv(out / "design.csv", index=False)
    return out


def test_the_report_in_out_is_the_pilot_before_the_shipped_one(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config(STRICT)
    shipped = pilot_of(config, tmp_path)
    assert shipped is not None
    assert "config `small`" in shipped.source
    assert len(shipped.parts["linear", 0.1]) == 7 * 28  # seven simulations
    out = write_pilot(tmp_path / "out")
    assert pilot_of(config, out) == Pilot(str(out / "design.csv"), {("linear", 0.1): [PARTS]})
    write_pilot(tmp_path / "out", table="linear-heartbeat")
    assert pilot_of(config, out) == shipped
    assert pilot_of(small_config(STRICT | {"protocol": "paper"}), tmp_path) is None


def test_a_table_has_a_line_and_a_grid_without_a_pilot_says_how_to_make_one(
    small_config: SmallConfig, tmp_path: Path
) -> None:
    config = small_config(STRICT)
    head, line = lines_of(config, grid_of(config), {}, write_pilot(tmp_path))
    assert "over 1 pair;" in head
    assert line.startswith("  linear, 10 %: differences from ")
    assert line.endswith("whose variance is of encoders 83 %, labelled subsets 17 %")
    paper = small_config(STRICT | {"protocol": "paper"})
    (none,) = lines_of(paper, grid_of(paper), {}, tmp_path / "empty")
    assert "run two methods on three seeds first" in none
    one = small_config(STRICT | {"seeds": [41]})
    assert list(lines_of(one, grid_of(one), {}, tmp_path)) == []


@pytest.mark.parametrize("content", ["", "table,ratio\nlinear-recording,0.1\n", "no table"])
def test_a_damaged_pilot_is_one_line(content: str, small_config: SmallConfig, tmp_path: Path) -> None:
    (tmp_path / "design.csv").write_text(content)
    with pytest.raises(ConfigError, match=r"design[.]csv is damaged .*: write the report again, or name another --out"):
        pilot_of(small_config(STRICT), tmp_path)


def test_the_proposal_is_the_cheapest_grid_that_tells_so_much(small_config: SmallConfig, tmp_path: Path) -> None:
    config = small_config(STRICT)
    grid, out = grid_of(config), write_pilot(tmp_path)

    def proposed(points: float, pretraining: float) -> str:
        def seconds(task: object) -> float:
            return pretraining if task in grid.pretrainings else 1.0

        (line,) = proposal(points, config, grid, {}, out, seconds, jobs=1)
        return line

    dear, cheap = proposed(4, pretraining=1000.0), proposed(4, pretraining=0.0)
    assert dear.endswith("--seeds 41 42 43 44 45 46 47 --subsets 10")
    assert cheap.endswith("--subsets 1")
    assert len(dear.split()) < len(cheap.split())  # fewer seeds
    assert "no grid of up to 30 seeds and 20 labelled subsets tells 0.5 points apart" in proposed(0.5, 1.0)


def test_the_cost_of_a_grid_grows_with_seeds_and_that_of_probes_with_subsets(small_config: SmallConfig) -> None:
    grid = grid_of(small_config(STRICT))
    assert len(grid.cells) == 2 * 3 * 5
    pretrainings = len(grid.pretrainings)
    assert cost_of(grid, lambda task: 1.0, 2.0, subsets=5) == pytest.approx(2 * (pretrainings + 30))
    assert cost_of(grid, lambda task: 1.0, 1.0, subsets=10) == pytest.approx(pretrainings + 60)


def test_it_needs_a_dry_run_and_a_number_of_points(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--tell-apart", "2"]) == USAGE
    assert capsys.readouterr().err == "error: --tell-apart 2 proposes a grid and runs none: add --dry-run\n"
    assert main(["run", "--dry-run", "--tell-apart", "0"]) == USAGE
    assert "--tell-apart: 0 is out of range" in capsys.readouterr().err
