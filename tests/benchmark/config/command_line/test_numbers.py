from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from benchmark.config.command_line import numbers


def test_bounds() -> None:
    assert (numbers.count("1"), numbers.count(str(numbers.MOST))) == (1, numbers.MOST)
    assert (numbers.seed("0"), numbers.seed(str(numbers.LARGEST_SEED))) == (0, numbers.LARGEST_SEED)
    assert numbers.positive("0.5") == 0.5
    for kind, text in ((numbers.count, "0"), (numbers.count, str(numbers.MOST + 1)), (numbers.positive, "0")):
        with pytest.raises(ArgumentTypeError, match=f"{text} is .*; use .* at most {numbers.MOST}"):
            kind(text)
    with pytest.raises(ArgumentTypeError, match=r"'1\.5' is not a seed; use a whole number, 0 or more"):
        numbers.seed("1.5")
