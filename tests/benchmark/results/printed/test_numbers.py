"""The printed numbers: whole, with known places, against the values of LITERATURE.md where the project has them."""

from __future__ import annotations

from benchmark.data.tasks.columns import columns_of
from benchmark.results.metrics import METRICS
from benchmark.results.names import EVALUATIONS, TASKS
from benchmark.results.printed.numbers import numbers, sources


def test_every_number_has_a_source_and_a_place_that_a_table_may_have() -> None:
    columns = {column.name for column in columns_of(["ptb-xl"], [task for task in TASKS if task != "default"])}
    for own in numbers():
        assert own.source in sources()
        assert own.column in columns
        assert own.evaluation in EVALUATIONS
        assert own.metric in METRICS
        assert 0 < own.ratio <= 1
        assert 50 < own.percent < 100  # AUROC in percent
        assert own.std is None or 0 < own.std < 5
    assert {own.source for own in numbers()} == sources().keys()


def test_no_place_has_two_numbers_of_one_row() -> None:
    places = [own[:6] for own in numbers()]
    assert len(set(places)) == len(places)


def test_the_benchmark_of_ptb_xl_is_whole() -> None:
    own = {one.column: one.percent for one in numbers() if one.row == "xresnet1d101"}
    assert own["ptb-xl.superdiagnostic"] == 92.8
    assert own["ptb-xl.rhythm"] == 95.7
    assert len(own) == 6


def test_sources_say_what_differs() -> None:
    assert all(own.cite and own.protocol and own.differs for own in sources().values())
