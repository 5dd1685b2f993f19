"""docs/COMPARISON.md: its knobs, spaces and methods are the code's, and the numbers of its tables those of the CSVs."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from methods import METHODS
from methods.parts.knobs import Log, Space, spaces_of
from tests.docs.pages import EVIDENCE, text_of

TEXT = text_of("COMPARISON.md", "## Tuning") + text_of("evidence/TUNING.md")
TRIALS = pd.read_csv(EVIDENCE / "results" / "small-trials.csv")
PRESETS = pd.read_csv(EVIDENCE / "results" / "small-presets.csv")
TRAINED = [name for name, method in METHODS.items() if method.trains]


def words(space: Space) -> str:
    """'log-uniform, 0.03 to 0.5', '0, 0.1, 0.5'."""
    if isinstance(space, Log):
        return f"log-uniform, {space.low:g} to {space.high:g}"
    return ", ".join(f"{value:g}" for value in space.values)


def test_the_table_has_each_knob_with_its_space_and_its_methods() -> None:
    told: dict[str, tuple[str, list[str]]] = {}
    for knobs, space, methods in re.findall(r"^\| (`.*`) \| (.*) \| (.*) \|$", TEXT, re.MULTILINE):
        names = TRAINED if methods == "all" else methods.split(", ")
        told |= {knob: (space, names) for knob in re.findall(r"`([^`]+)`", knobs)}
    found: dict[str, tuple[str, list[str]]] = {}
    for name in TRAINED:
        for knob, space in spaces_of(METHODS[name].Config).items():
            found.setdefault(knob, (words(space), []))[1].append(name)
    assert told == found


def setting(chosen: pd.Series, own: pd.Series) -> str:
    """'lr 0.0029, momentum 0.9', where a chosen trial differs from the config's own setting."""
    knobs = list(TRIALS.columns[TRIALS.columns.get_loc("recipe.lr") : -1])  # but the error
    told = [
        "no masked spans" if (knob, chosen[knob]) == ("mask_spans", 0) else f"{knob.split('.')[-1]} {chosen[knob]:g}"
        for knob in knobs
        if not np.isnan(chosen[knob]) and chosen[knob] != own[knob]
    ]
    return ", ".join(told) or "its own"


def test_the_search_on_the_page_is_that_of_its_file() -> None:
    told = re.findall(r"^\| ([\w ]+) \| ([\d.]+) \| ([\d.]+) \| (.*) \|$", TEXT, re.MULTILINE)
    found = []
    for name, trials in TRIALS.groupby("method", sort=False):
        (own,), (chosen,) = ([line for _, line in trials[trials[which] == 1].iterrows()] for which in ("own", "chosen"))
        scores = f"{100 * own['mean']:.1f}", f"{100 * chosen['mean']:.1f}"
        found.append((METHODS[str(name)].title, *scores, setting(chosen, own)))
        assert chosen["mean"] == trials["mean"].max()
    assert told == found
    assert f"{len(TRIALS)} pretrainings and {3 * len(TRIALS)} probes" in TEXT


def test_the_lowest_learning_rate_is_last_as_the_page_says() -> None:
    lowest = TRIALS[TRIALS["recipe.lr"] == TRIALS["recipe.lr"].min()]
    assert set(lowest["recipe.lr"]) == {0.00018}
    places = TRIALS["mean"].groupby(TRIALS["method"]).rank()[lowest.index]
    assert set(TRIALS["method"][places.index[places > 2]]) == {"byol"}


def points(value: float, sign: str = "") -> str:
    """'+7.0' of 0.0703; no zero has a minus."""
    text = f"{100 * value:{sign}.1f}"
    return text.replace("-0.0", "0.0").replace("-", "−")


def difference(line: pd.Series) -> str:
    """'+7.0 (−0.3 to 14.3)', the difference bold where it is beyond chance."""
    if line["remark"] == "same settings":
        return "same settings"
    own = points(line["difference"], "+")
    own = f"**{own}**" if line["p_holm"] < 0.05 else own
    return f"{own} ({points(line['low'])} to {points(line['high'])})"


def test_the_presets_on_the_page_are_those_of_their_file() -> None:
    overall = PRESETS[PRESETS["metric"] == "overall"]
    told = re.findall(r"^\| \w+ \| \d+ % \| .* \|$", TEXT, re.MULTILINE)
    found = []
    for (ratio, name), lines in overall.groupby(["ratio", "of"], sort=False):
        paper, tuned = (lines[lines["preset"] == preset].iloc[0] for preset in ("paper", "tuned"))
        scores = " | ".join(points(value) for value in (paper["own"], paper["mean"], tuned["mean"]))
        differences = f"{difference(paper)} | {difference(tuned)}"
        found.append(f"| {METHODS[str(name)].title} | {100 * ratio:g} % | {scores} | {differences} |")
    assert told == found
    judged = overall["p_holm"].notna()
    assert f"One difference of {judged.sum()} is beyond chance" in TEXT
    assert (overall["p_holm"] < 0.05).sum() == 1
