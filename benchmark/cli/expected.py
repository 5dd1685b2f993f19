"""The difference that a run can detect by its number of test patients, printed before it, and what detects a smaller
one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from benchmark.cli.main import FOLDS
from benchmark.config.config import Config
from benchmark.data.audit import size_of_test
from benchmark.data.column import Column, column_of
from benchmark.data.prepare import Prepared
from benchmark.results.metrics import HEADLINES
from benchmark.results.names import counted
from benchmark.run.crossfit import crossfitted


def expectation(config: Config, views: Mapping[str, Prepared]) -> str:
    """Say how many patients columns test, the difference that this detects, and the cheapest remedy.

    '' where nobody is tested.
    """
    from reports.inference import POWER  # here, because it loads slowly

    columns = [column_of(view, config.column_spec(name)) for name, view in views.items()]
    tested = {column.data.title: size_of_test(column).patients for column in columns}
    if not any(tested.values()):
        return ""
    seeds = len(config.seeds)
    headline = HEADLINES[config.protocol].words
    counts = ", ".join(f"{title} {count}" for title, count in tested.items())
    text = (
        f"test patients: {counts}; a difference in {headline} of {detected(columns, seeds)} is detected "
        f"({seeds} seeds, power {100 * POWER:g} %)"
    )
    in_parts = [column_of(column.data, replace(column.spec, folds=FOLDS)) for column in columns]
    if not config.data.folds and any(column.is_cross_validated for column in in_parts):
        everybody = f"of {detected(in_parts, seeds)} where everybody is tested"
        return (
            f"{text}; {everybody}, with --protocol strict --set data.folds={FOLDS}: with encoders pretrained elsewhere "
            "(--pretrain-dataset, or weights as rows) without a further pretraining, with encoders of the same "
            f"recordings for {FOLDS} times as many"
        )
    text += f", of {detected(columns, 2 * seeds)} with twice the seeds"
    return f"{text}; each part has encoders of its own" if crossfitted(config, views) else text


def detected(columns: Sequence[Column], seeds: int) -> str:
    """Return 'about 4 points': the difference that columns and seeds are expected to detect."""
    from reports.inference import expected_difference  # here, because it loads slowly

    sizes = [size_of_test(column).effective for column in columns]
    points = round(100 * expected_difference([size for size in sizes if size], seeds))
    return f"about {counted(points, 'point')}" if points else "less than a point"
