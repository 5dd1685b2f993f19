"""What a run can detect by its number of test patients, said before it, and what would detect more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from benchmark.cli.main import FOLDS
from benchmark.config.config import Config
from benchmark.data.audit import size_of_test
from benchmark.data.column import column_of
from benchmark.data.prepare import Prepared
from benchmark.data.splits import TaskSpec
from benchmark.run.crossfit import crossfitted


def expectation(config: Config, views: Mapping[str, Prepared]) -> str:
    """Say how many patients columns test, the difference in Overall that this detects, and the cheapest remedy.

    '' where nobody is tested.
    """
    from reports.inference import POWER, expected_difference  # here, because it loads slowly

    specs = {name: config.column_spec(name) for name in views}

    def detected(specs: Mapping[str, TaskSpec], seeds: int) -> float:
        sizes = [size_of_test(column_of(view, specs[name])).effective for name, view in views.items()]
        return 100 * expected_difference([size for size in sizes if size], seeds)

    counts = {view.title: size_of_test(column_of(view, specs[name])).patients for name, view in views.items()}
    if not any(counts.values()):
        return ""
    seeds = len(config.seeds)
    tested = ", ".join(f"{title} {count}" for title, count in counts.items())
    text = (
        f"test patients: {tested}; a difference in Overall of about {detected(specs, seeds):.0f} points is detected "
        f"({seeds} seeds, power {100 * POWER:g} %)"
    )
    in_parts = {name: replace(spec, folds=FOLDS) for name, spec in specs.items()}
    without_split = [name for name, view in views.items() if column_of(view, in_parts[name]).is_cross_validated]
    if without_split and not config.data.folds:
        text += f"; of about {detected(in_parts, seeds):.0f} points where everybody is tested, with --protocol strict "
        return (
            f"{text}--set data.folds={FOLDS}: with encoders pretrained elsewhere (--pretrain-dataset, or weights as "
            f"rows) without a further pretraining, with encoders of the same recordings for {FOLDS} times as many"
        )
    text += f", of about {detected(specs, 2 * seeds):.0f} points with twice the seeds"
    return f"{text}; each part has encoders of its own" if crossfitted(config, views) else text
