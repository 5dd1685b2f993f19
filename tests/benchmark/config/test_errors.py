""""""

from __future__ import annotations

from argparse import ArgumentTypeError

import pytest

from benchmark.config import errors


def test_bounds() -> None:
    assert (errors.count("1"), errors.count(str(errors.MOST))) == (1, errors.MOST)
    assert (errors.seed("0"), errors.seed(str(errors.LARGEST_SEED))) == (0, errors.LARGEST_SEED)
    assert errors.positive("0.5") == 0.5
    for kind, text in ((errors.count, "0"), (errors.count, str(errors.MOST + 1)), (errors.positive, "0")):
        with pytest.raises(ArgumentTypeError, match=f"{text} is .*; use .* at most {errors.MOST}"):
            kind(text)
    with pytest.raises(ArgumentTypeError, match=r"'1\.5' is not a seed; use a whole number, 0 or more"):
        errors.seed("1.5")
