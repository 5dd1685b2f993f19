"""What the sensitivity figure shows: a panel per knob with the finished trials of all methods that have it."""

from __future__ import annotations

from dataclasses import replace

from benchmark.results.tuned import Trial
from reports.figures.sensitivity import TrialPoint, knob_panels
from tests.reports.searches import MOCO, SEARCHES


def test_a_panel_has_the_finished_trials_of_every_method_with_its_knob() -> None:
    rate, momentum = knob_panels(SEARCHES)
    assert (rate.knob, rate.scale, rate.values) == ("recipe.lr", "log", (0.0001, 0.01))
    assert [point.method for point in rate.points] == ["moco", "moco", "clocs", "clocs", "clocs"]
    assert rate.points[1] == TrialPoint("moco", 0.004, 60.0, own=False, chosen=True)
    assert rate.points[2] == TrialPoint("clocs", 0.001, 30.0, own=True, chosen=True)
    assert (momentum.knob, momentum.scale) == ("momentum", "choice")
    assert momentum.values == (0.9, 0.99, 0.999), "the config's own value has a place too"


def test_a_search_without_a_finished_trial_has_no_panel() -> None:
    failed = replace(MOCO, trials=[Trial(MOCO.trials[0].knobs, {}, None, "x")])
    assert knob_panels([failed]) == []


def test_a_value_that_no_logarithm_has_makes_categories() -> None:
    zero = replace(MOCO, trials=[replace(MOCO.trials[0], knobs={"momentum": 0.9, "recipe.lr": 0})])
    _, rate = knob_panels([zero])
    assert (rate.scale, rate.values) == ("choice", (0, 0.0001, 0.01))
