"""A failure from an exception: its text, its line, and the traceback where there is one."""

from __future__ import annotations

from benchmark.results.failures import Failure


def test_an_exception_that_was_raised_has_a_traceback() -> None:
    try:
        raise ValueError("no keys\nnone at all")
    except ValueError as error:
        failure = Failure.of(error)
    assert failure.error == "ValueError: no keys\nnone at all"
    assert failure.line == "ValueError: no keys"
    assert failure.traceback.startswith("Traceback (most recent call last):")
    assert "test_an_exception_that_was_raised" in failure.traceback


def test_one_that_was_only_made_has_none() -> None:
    assert Failure.of(RuntimeError("killed")) == Failure("RuntimeError: killed")
    assert Failure("").line == "no error text"
