"""docs/evidence/SCALING.md: its numbers are those that the code calculates, and those that were measured."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from benchmark.data.heartbeats import WINDOW
from benchmark.run.estimate import PASSES_PER_STEP, multiplications
from benchmark.run.local import Task
from docs.evidence.scaling import page
from docs.evidence.scaling.check import SETTINGS, asleep_tasks
from docs.evidence.scaling.cost import H100, Update
from docs.evidence.scaling.grids import TENTH, counted_finetuning, grid_of, paper, updates_of
from docs.evidence.scaling.makespan import as_slurm
from docs.evidence.scaling.naps import nap, naps
from tests.docs.pages import EVIDENCE

TEXT = (EVIDENCE / "SCALING.md").read_text(encoding="utf-8")
FOUND = json.loads((EVIDENCE / "scaling" / "check.json").read_text())


def test_an_operation_takes_what_limits_it() -> None:
    half = 0.4 * H100.flops, 0.4 * H100.bandwidth
    assert Update(1, ((half[0], 0.0),), 0.0).seconds(H100) == pytest.approx(1)
    assert Update(1, ((half[0], 8 * half[1]),), 0.0).seconds(H100) == pytest.approx(4)  # bf16: half of the bytes
    assert Update(1, ((0.0, 0.0),) * 3, 0.0).seconds(H100) == pytest.approx(15e-6)


def test_fine_tuning_is_counted_as_three_passes_of_the_encoder() -> None:
    config, own = paper(), counted_finetuning()
    pass_flop = 2 * multiplications(config.encoder_class()(config.encoder_config()), WINDOW)
    assert own.flop / own.batch / PASSES_PER_STEP == pytest.approx(pass_flop, rel=0.1)


def test_the_grid_of_the_page_is_the_papers() -> None:
    config = paper()
    grid = grid_of(config)
    pmq = next(own for own in grid.pretrainings if own.variant.name == "pmq")
    assert (len(grid.cells), sum(own.method.trains for own in grid.pretrainings)) == (360, 7)
    assert updates_of(pmq, config, TENTH) == 100 * 5 * TENTH / 256
    assert "| Table 1 of the paper | 7 | 360 |" in TEXT


def test_what_was_measured_is_on_the_page_beside_what_was_predicted() -> None:
    fields = page.measured(FOUND)
    for name in ("naps", "grid"):
        assert str(fields[name]) in TEXT
        assert all(own["measured"] > 0 for own in FOUND[name]["lines"])
    assert [own["devices"] for own in FOUND["naps"]["lines"]] == [1, 2, 4, 8]


def test_the_section_on_what_was_measured_is_made_of_what_was_measured() -> None:
    heading = "## Predicted and measured\n"
    (_, template), (_, section) = (text.split(heading) for text in (page.TEXT.read_text(encoding="utf-8"), TEXT))
    assert template.format(**page.measured(FOUND)) == section


def test_no_line_but_those_of_tables_is_wider_than_the_code() -> None:
    assert [line for line in TEXT.splitlines() if len(line) > 120 and not line.startswith("|")] == []


@pytest.mark.slow
def test_the_page_is_what_the_code_writes() -> None:
    assert page.page(FOUND) == TEXT


@pytest.mark.slow
def test_the_predictions_of_the_naps_are_those_of_the_simulation() -> None:
    asleep = asleep_tasks()
    for line in FOUND["naps"]["lines"]:
        found = as_slurm(asleep, line["devices"], SETTINGS, job_seconds=line["job_seconds"])
        assert found.seconds == pytest.approx(line["predicted"], rel=0.01)


def test_a_nap_leaves_its_file(tmp_path: Path) -> None:
    order = naps(tmp_path, [Task("a", "a", None, seconds=0.01)])
    (task,) = order.tasks
    assert order.found(task) is None
    nap(task.work, print)
    assert order.found(task)


def test_no_field_of_the_text_is_left() -> None:
    assert re.findall(r"\{\w+\}", TEXT) == []
