"""Predictions of others get the numbers that the report has for the same predictions; what is wrong is one line."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score

from reports import load
from reports.inference import statistics_of
from reports.layouts import layouts
from reports.results import Run
from reports.second_opinion import compare_predictions, second_opinion
from run_benchmark import main
from tests.docs.pages import PREDICTIONS
from tests.reports.conftest import Scatter, simulated_predictions


def exported(results: Run, file: Path) -> Path:
    """Write the predictions of a run's cells per recording as such a CSV."""
    frames = []
    for cell, _ in results.finished:
        test = results.test_outputs(cell.key, "recording")
        probability, truth = test.probability, test.truth
        names = np.unique(results.predictions(cell.key).recording)  # also its patient's
        for number in range(truth.shape[1]):
            line = {"class": number, "label": truth[:, number], "score": probability[:, number], "patient": names}
            frames.append(
                pd.DataFrame(line | {"recording": names, "model": cell.variant, "seed": cell.seed, "paired": "yes"})
            )
    pd.concat(frames).sort_values("recording", ascending=False, kind="stable").to_csv(file, index=False)
    return file


@pytest.mark.parametrize("seeds", [1, 3])
def test_exported_predictions_get_the_statistics_of_their_run(
    seeds: int, write_predictions: Callable[..., Path], tmp_path: Path
) -> None:
    random = np.random.default_rng(5)
    simulated = simulated_predictions(random, methods=3, seeds=seeds, patients=40, scatter=Scatter(seed=0.2))
    names = ("random", "moco", "pmq")
    results = load(write_predictions({(names[m], "ptb-xl", 0.1, 41 + seed): p for (m, seed), p in simulated.items()}))
    (layout,) = layouts(results.plan, "finetune", ("auprc", "brier"))
    ours = statistics_of(results, layout, "recording")
    theirs = second_opinion(exported(results, tmp_path / "theirs.csv"), further=["auprc", "brier"])
    for one, other, index in (
        (ours.pairs, theirs.pairs(), ["metric", "first", "second"]),
        (ours.intervals, theirs.intervals(), ["metric", "variant"]),
    ):
        here = one[one["dataset"] == "ptb-xl"].set_index(index).drop(columns=["unit", "ratio", "dataset"])
        there = other.set_index(index).loc[here.index, here.columns]
        pd.testing.assert_frame_equal(there, here, rtol=1e-5, atol=1e-9)
    uneven = pd.read_csv(tmp_path / "theirs.csv").query("model != 'pmq' or seed != 41")
    uneven.to_csv(tmp_path / "uneven.csv", index=False)
    for name, is_uneven in (("theirs", False), ("uneven", seeds == 3)):
        text = repr(second_opinion(tmp_path / f"{name}.csv"))
        assert ("Not every model has every seed" in text) == is_uneven


def test_rows_of_a_store_stand_beside_predictions_without_seeds(
    write_predictions: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    simulated = simulated_predictions(
        np.random.default_rng(5), methods=3, seeds=3, patients=40, scatter=Scatter(), shares=(0.6, 0.4)
    )
    named = {(("random", "moco", "pmq")[m], "ptb-xl", seed): one for (m, seed), one in simulated.items()}
    cells = {(name, dataset, ratio, seed): one for (name, dataset, seed), one in named.items() for ratio in (0.1, 0.01)}
    root = write_predictions(cells)
    results = load(root)
    tenth = [cell for cell in results.plan.cells if cell.ratio == 0.1]
    results.predicted(tenth).query("model != 'MOCO'").to_csv(tmp_path / "rows.csv", index=False)
    expected = second_opinion(tmp_path / "rows.csv").pairs().set_index("metric")
    theirs = results.predicted(tenth).query("model == 'MOCO' and seed == 0").assign(model="theirs")
    theirs[["recording", "patient", "class", "label", "score", "model"]].to_csv(tmp_path / "theirs.csv", index=False)
    flags = ["--results", str(root), "--predictions", str(tmp_path / "theirs.csv"), "--out", str(tmp_path)]
    assert main(["report", *flags, "--with", "random", "PMQ"]) == 2
    assert "add ratio" in capsys.readouterr().err
    assert main(["report", *flags, "--with", "random", "PMQ", "10 %"]) == 0
    pairs = pd.read_csv(tmp_path / "second-opinion" / "pairwise.csv")
    ours = pairs[pairs["second"] == "PMQ"].set_index("metric")
    assert ours["difference"].to_dict() == pytest.approx(expected["difference"].to_dict(), rel=1e-5)
    assert {*zip(pairs["first"], pairs["second"], strict=True)} == {
        ("RANDOM", "PMQ"),
        ("RANDOM", "theirs"),
        ("PMQ", "theirs"),
    }
    assert (pairs["seeds"] == 3).all()


def test_columns_of_other_names_are_answered_with_those_to_rename(tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(PREDICTIONS.replace("recording,patient,label,score", "ecg_id,patient,labels,prob"))
    with pytest.raises(ValueError, match="rename ecg_id to recording; rename labels to label; rename prob to score"):
        second_opinion(file)


def test_the_example_of_the_page_has_its_tables(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("theirs.csv").write_text(PREDICTIONS)
    assert main(["report", "--predictions", "theirs.csv"]) == 0
    assert "Models: 2, seeds: 1, classes: 1, recordings: 4, patients: 3." in capsys.readouterr().out
    pairs = pd.read_csv("out/second-opinion/pairwise.csv").set_index("metric")["difference"]
    assert pairs.to_dict() == pytest.approx({"f1": -0.5, "auroc": -0.25, "overall": -0.25, "acc": -0.5})
    assert "| theirs " in Path("out/second-opinion/results.md").read_text()
    assert "\\begin{tabular}" in Path("out/second-opinion/results.tex").read_text()
    Path("theirs.csv").write_text(PREDICTIONS.replace("0.9", "9"))  # no probabilities
    pairs = second_opinion(Path("theirs.csv"), further=["auprc", "brier"]).pairs()
    assert set(pairs["metric"]) == {"auroc", "overall", "auprc"}


@pytest.mark.parametrize(
    ("old", "new", "problem"),
    [
        ("recording,", "record,", " has no single column recording; columns that are single: record, patient,"),
        (
            "recording,patient",
            "score,patient",
            " has no single column recording, score; columns that are single: patient",
        ),
        ("a,p1,1,0.9,theirs", "a,p1,1,0.9,", ", line 2: the column model is blank"),
        ("a,p1,1,0.9", "a,p1,2,0.9", ", line 2: label 2 is neither 0 nor 1"),
        ("a,p1,1,0.9", "a,p1,1,high", ", line 2: score 'high' is no number"),
        ("b,p2,0,0.2,theirs\n", "", ": model theirs has no score of recording b"),
        ("b,p2,0,0.2", "a,p1,1,0.2", ", line 3: a second score of recording a (class positive, model theirs"),
        ("a,p1,1,0.9", "a,1.65E+08,1,0.9", ", line 2: patient '1.65E+08' was shortened by a spreadsheet"),
        ("b,p2,0,0.3", "b,p3,0,0.3", ", line 7: recording b is of patient p3 here and of another above"),
        ("b,p2,0,0.3", "b,p2,1,0.3", ", line 7: recording b (class positive, model ours, seed 0) has label 1 here"),
    ],
)
def test_predictions_that_cannot_be_used_are_one_line_with_the_place(
    old: str, new: str, problem: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(PREDICTIONS.replace(old, new))
    assert main(["report", "--predictions", str(file), "--out", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert f"{file}{problem}" in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("frame", "problem"),
    [
        (pd.DataFrame(columns=["recording", "patient", "label", "score", "model"]), " has no line of predictions"),
        (
            pd.DataFrame(
                [["r1", "p1", 1, 0.9, 0.8, "ours"]],
                columns=["recording", "patient", "label", "score", "score", "model"],
            ),
            ": several columns are called score; keep one",
        ),
    ],
)
def test_a_frame_that_cannot_be_used_is_one_line(frame: pd.DataFrame, problem: str) -> None:
    with pytest.raises(ValueError, match=f"^predictions{problem}$"):
        compare_predictions(frame)


def test_classes_that_say_little_are_alike_for_all_models(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    lines = []
    for number in range(40):
        labels = {"AF": int(random.random() < 0.4), "VT": int(number == 7), "STE": 0, "ECG": 1, "SR": int(number != 7)}
        scores = {name: 0.4 * label + 0.5 * random.random() for name, label in labels.items()}
        for model in ("one", "two"):
            shown = scores | {"STE": 0.51 if number == 3 and model == "one" else 0.1}
            for name, label in labels.items():
                lines.append([f"r{number}", f"p{number}", name, label, shown[name], model])
    file = tmp_path / "theirs.csv"
    pd.DataFrame(lines, columns=["recording", "patient", "class", "label", "score", "model"]).to_csv(file, index=False)
    opinion = second_opinion(file)
    f1 = opinion.intervals().set_index(["metric", "variant"])["mean"]["f1"]
    assert f1["one"] == f1["two"]
    notes = [note for note in repr(opinion).splitlines() if re.search("(posi|nega)tive recording", note)]
    assert [re.search(r"(Class )?\w+:? .*?(posi|nega)tive", note)[0] for note in notes] == [
        "Class STE has no positive",
        "VT: all positive",
        "Class ECG has no negative",
        "SR: all negative",
    ]


def predictions(file: Path, patient: Callable[[int], str], recording: str = "r{}", model: str = "ours") -> Path:
    """Twelve recordings and two models; the second spells the recordings and itself as given."""
    lines = ["recording,patient,label,score,model"]
    for number in range(12):
        lines.append(f"r{number},{patient(number)},{number % 2},{0.3 + 0.04 * number:.2f},theirs")
        lines.append(f"{recording.format(number)},{patient(number)},{number % 2},0.{4 + number % 5},{model}")
    file.write_text("\n".join(lines), encoding="utf-8")
    return file


@pytest.mark.parametrize(
    ("patient", "people", "note"),
    [
        (lambda number: "nan" if number % 2 else f"p{number}", 12, "6 of 12 recordings name no patient"),
        (lambda number: "", 12, "12 of 12 recordings name no patient"),
        (lambda number: "unknown", 12, "12 of 12 recordings name no patient"),
        (
            lambda number: f"{number // 2:04}" if number % 2 else f"{number // 2}.0",
            6,
            "6 texts of the column patient are",
        ),
        (
            lambda number: f"Zoe\u0308 {number // 2}" if number % 2 else f"Zo\u00eb {number // 2}",
            6,
            "written in several",
        ),
        (lambda number: str(123456789012345000 + number // 2 * 1000), 6, "numbers of more than 15 digits"),
        (lambda number: f"p{number}", 12, ""),
    ],
)
def test_patients_of_predictions_are_judged_as_those_of_a_card_s_table(
    patient: Callable[[int], str], people: int, note: str, tmp_path: Path
) -> None:
    notes = repr(second_opinion(predictions(tmp_path / "theirs.csv", patient)))
    assert f"recordings: 12, patients: {people}." in notes
    assert note in notes
    assert note or "column patient" not in notes


def test_names_in_two_spellings_are_one(tmp_path: Path) -> None:
    file = predictions(tmp_path / "theirs.csv", "p{}".format, recording="b'r{}'", model="ou\u200brs")
    opinion = second_opinion(file)
    assert set(opinion.intervals()["variant"]) == {"theirs", "ours"}
    assert "12 texts of the column recording are written in several ways" in repr(opinion)
    content = file.read_text(encoding="utf-8").replace(",", ";").replace("0.", "0,")
    file.write_text(f"sep=;\n{content}", encoding="utf-16")
    pd.testing.assert_frame_equal(second_opinion(file).intervals(), opinion.intervals())


def test_models_that_differ_in_capitals_are_several_and_named(tmp_path: Path) -> None:
    opinion = second_opinion(predictions(tmp_path / "theirs.csv", "p{}".format, model="Theirs"))
    assert set(opinion.intervals()["variant"]) == {"theirs", "Theirs"}
    assert "'Theirs' and 'theirs'" in repr(opinion) or "'theirs' and 'Theirs'" in repr(opinion)


def test_labels_may_say_yes_and_no(tmp_path: Path) -> None:
    file = tmp_path / "theirs.csv"
    file.write_text(PREDICTIONS)
    expected = second_opinion(file).intervals()
    file.write_text(re.sub(r",([01]),(?=\d)", lambda label: f",{['No', 'yes'][int(label[1])]},", PREDICTIONS))
    assert "yes" in file.read_text()
    pd.testing.assert_frame_equal(second_opinion(file).intervals(), expected)


def lines_of(scores: dict[tuple[str, int], list[float]], **columns: str) -> pd.DataFrame:
    """Predictions of models and seeds on eight recordings, of as many patients, of which every second is positive."""
    names = [f"r{number}" for number in range(8)]
    frames = []
    for (model, seed), values in scores.items():
        line = {
            "recording": names,
            "patient": names,
            "label": [0, 1] * 4,
            "score": values,
            "model": model,
            "seed": seed,
        }
        frames.append(pd.DataFrame(line | columns))
    return pd.concat(frames)


def test_a_model_with_logits_or_decisions_takes_nothing_from_the_others(tmp_path: Path) -> None:
    random = np.random.default_rng(2)
    scores = {("a", 1): random.random(8), ("b", 1): 9 * random.normal(size=8), ("c", 1): [0.0, 1.0, 0, 1, 1, 1, 0, 0]}
    lines_of(scores).to_csv(tmp_path / "scores.csv", index=False)  # type: ignore[arg-type]
    opinion = second_opinion(tmp_path / "scores.csv")
    assert opinion.intervals().groupby("metric")["variant"].agg(list).to_dict() == {
        "acc": ["a", "c"], "auroc": ["a", "b", "c"], "f1": ["a", "c"], "overall": ["a", "b", "c"],
    }  # fmt: skip
    assert "Scores beyond 0 to 1 are no probabilities, so F1 and ACC are left out: b." in repr(opinion)
    assert "c: every score is 0 or 1, so its AUROC is that of decisions, not of probabilities." in repr(opinion)
    lines_of(scores | {("a", 2): 9 * random.normal(size=8)}).to_csv(tmp_path / "mixed.csv", index=False)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"mixed\.csv: model a has scores between 0 and 1 in some seeds"):
        second_opinion(tmp_path / "mixed.csv")


def test_seeds_are_paired_where_a_column_says_so(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    scores = {(model, seed): random.random(8) for model, seeds in (("a", 4), ("b", 3)) for seed in range(seeds)}
    for columns, paired in (
        ({}, False),
        ({"paired": "no"}, False),
        ({"paired": "yes"}, True),
        ({"paired": "True"}, True),
    ):
        lines_of(scores, **columns).to_csv(tmp_path / "scores.csv", index=False)  # type: ignore[arg-type]
        opinion = second_opinion(tmp_path / "scores.csv")
        pair = opinion.pairs().set_index("metric").loc["auroc"]
        assert ("are not paired" in repr(opinion)) != paired
        assert ("a difference is over the seeds that both have" in repr(opinion)) == paired
        by_model = []
        for model, seeds in (("a", 4), ("b", 3)):
            by_model.append([roc_auc_score([0, 1] * 4, scores[model, seed]) for seed in range(seeds)])
        expected = np.sqrt(np.var(by_model[0], ddof=1) / 4 + np.var(by_model[1], ddof=1) / 3)
        if paired:
            expected = np.std(np.subtract(by_model[0][:3], by_model[1]), ddof=1) / np.sqrt(3)
        else:
            assert pair["difference"] == pytest.approx(np.mean(by_model[0]) - np.mean(by_model[1]))
        assert pair["seeds_se"] == pytest.approx(expected)


@pytest.mark.draws
def test_a_frame_is_compared_as_its_file(tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {
            "recording": np.tile(np.arange(40), 2),
            "patient": np.tile(np.arange(40) // 2, 2),
            "label": np.tile([0, 1], 40),
            "score": np.random.default_rng(0).uniform(size=80),
            "model": np.repeat(["ours", "theirs"], 40),
        }
    )
    frame.to_csv(tmp_path / "scores.csv", index=False)
    compared = compare_predictions(frame)
    pd.testing.assert_frame_equal(compared.pairs(), second_opinion(tmp_path / "scores.csv").pairs())
    means = compared.scores.groupby(["variant", "metric"])["value"].mean()
    intervals = compared.intervals().query("metric != 'overall'")
    pd.testing.assert_series_equal(means, intervals.groupby(["variant", "metric"])["mean"].first(), check_names=False)
    assert compared.verdict()[0].startswith("AUROC, differences in points: ")
    assert compared.figure().get_title() == "All recordings"
    assert "ours" in compared.table().to_html()


def test_a_row_of_a_frame_that_cannot_be_used_is_named() -> None:
    frame = pd.DataFrame({"recording": [1, 2], "patient": [1, 2], "label": [0, 2], "score": [0.1, 0.2], "model": "a"})
    with pytest.raises(ValueError, match="predictions, row 1: label 2 is neither 0 nor 1"):
        compare_predictions(frame)
