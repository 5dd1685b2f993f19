"""The trials of a search as tables: per method its settings with their validation scores, the best first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from benchmark.results.plain_text import csv_text
from benchmark.results.tuned import Trial, Tuning
from reports.tables.captions import ratio_text
from reports.tables.text import TextTable, text_markdown
from reports.tables.values import DASH

OWN, CHOSEN = "own setting", "chosen"


def search_caption(tunings: Sequence[Tuning]) -> str:
    """What a trial's score is, of how many trials and seeds, and what it is not; the searches are alike."""
    first = tunings[0]
    failed = sum(trial.mean is None for tuning in tunings for trial in tuning.trials)
    trials = sorted({len(tuning.trials) for tuning in tunings})
    return " ".join(
        [
            f"Macro-F1 in percent of a linear probe on the validation patients with {ratio_text(first.ratio)} of the "
            "labels, mean over the datasets.",
            f"{' or '.join(map(str, trials))} trials per method, one pretraining each (seed {first.pretrain_seed}; "
            f"labels {first.seed}, draws {first.search_seed}).",
            *([f"{failed} trials failed."] if failed else []),
            "The probe's strength and the setting are chosen on these patients: no test result.",
            *(["Simulated ECGs: no ranking of methods follows."] if any(own.simulated for own in tunings) else []),
        ]
    )


def trial_tables(tunings: Sequence[Tuning]) -> list[TextTable]:
    """A table per method; what the scores are stands above the first."""
    return [
        TextTable(
            name=f"trials-{tuning.method}",
            title=f"Trials: {tuning.title}",
            caption="" if number else search_caption(tunings),
            header=("Trial", *map(_short, tuning.spaces), *datasets_of(tuning), "mean", "note"),
            lines=tuple(_line(tuning, trial) for trial in ranking(tuning)),
        )
        for number, tuning in enumerate(tunings)
    ]


def ranking(tuning: Tuning) -> list[int]:
    """Numbers of the trials: the chosen one first, by falling score, equal ones in the order of the search, failed
    ones last."""
    return sorted(range(len(tuning.trials)), key=lambda number: -_score(tuning.trials[number]))


def datasets_of(tuning: Tuning) -> list[str]:
    """The datasets with a score of any trial."""
    return list(dict.fromkeys(name for trial in tuning.trials for name in trial.scores))


def _score(trial: Trial) -> float:
    return -1.0 if trial.mean is None else trial.mean


def _short(knob: str) -> str:
    return knob.removeprefix("recipe.")


def _line(tuning: Tuning, number: int) -> tuple[str, ...]:
    trial = tuning.trials[number]
    return (
        str(number),
        *(f"{trial.knobs[knob]:g}" for knob in tuning.spaces),
        *(_percent(trial.scores.get(name)) for name in datasets_of(tuning)),
        _percent(trial.mean),
        note_of(tuning, number),
    )


def note_of(tuning: Tuning, number: int) -> str:
    """'chosen, own setting', or why the trial failed."""
    trial = tuning.trials[number]
    marks = [*([CHOSEN] if number == tuning.best else []), *([OWN] if number == 0 else [])]
    return ", ".join([*marks, *([f"failed: {trial.error}"] if trial.mean is None else [])])


def _percent(score: float | None) -> str:
    return DASH if score is None else f"{100 * score:.1f}"


def trial_files(tunings: Sequence[Tuning]) -> dict[str, str]:
    """File name -> content: a section per method, and one line per trial with all knobs and datasets as columns."""
    markdown = "\n".join(map(text_markdown, trial_tables(tunings)))
    return {"trials.md": f"# Trials\n\n{markdown}", "trials.csv": _csv(tunings)}


def _csv(tunings: Sequence[Tuning]) -> str:
    knobs = list(dict.fromkeys(knob for tuning in tunings for knob in tuning.spaces))
    datasets = list(dict.fromkeys(name for tuning in tunings for name in datasets_of(tuning)))
    header = ("method", "trial", "own", "chosen", "mean", *datasets, *knobs, "error")

    def rows() -> Iterator[tuple[object, ...]]:
        for tuning in tunings:
            for number in ranking(tuning):
                trial = tuning.trials[number]
                place = (tuning.method, number, int(number == 0), int(number == tuning.best), trial.mean)
                found = [
                    values.get(name)
                    for values, names in ((trial.scores, datasets), (trial.knobs, knobs))
                    for name in names
                ]
                yield (*place, *found, trial.error)

    return csv_text(header, rows())
