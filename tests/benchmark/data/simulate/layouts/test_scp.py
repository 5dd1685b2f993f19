"""Every statement of PTB-XL is simulated, and finer ones move neither a superclass nor another draw."""

from __future__ import annotations

import numpy as np
import pytest

from benchmark.data.readers.scp import SCP_STATEMENTS
from benchmark.data.simulate.layouts.scp import CODES, FURTHER, INSTEAD, scp_codes, superclasses

SUPERCLASS = {own.code: own.superclass for own in SCP_STATEMENTS}


def test_every_statement_of_the_release_can_be_drawn() -> None:
    own = {code for codes, _ in CODES.values() for code in codes}
    finer = {code for table in (INSTEAD, FURTHER) for shares in table.values() for code, _ in shares}
    assert own | finer == set(SUPERCLASS)


@pytest.mark.parametrize("name", CODES)
def test_finer_statements_are_of_the_same_superclass(name: str) -> None:
    first = SUPERCLASS[CODES[name][0][0]]
    assert {SUPERCLASS[code] for code, _ in INSTEAD.get(name, ())} <= {first}
    assert {SUPERCLASS[code] for code, _ in FURTHER.get(name, ())} <= {first, ""}
    assert sum(share for _, share in INSTEAD.get(name, ())) < 1


def test_superclasses_keep_their_order_and_the_recording_s_stream_its_place() -> None:
    diagnoses = ("TWI", "LVH", "RBBB", "SR")
    for seed in range(200):
        rng, plain = np.random.default_rng(seed), np.random.default_rng(seed)
        codes = scp_codes(diagnoses, rng)
        plain.choice([100.0, 80.0, 50.0, 35.0], size=4, p=(0.70, 0.15, 0.11, 0.04))
        assert superclasses(codes) == ("STTC", "HYP", "CD")
        assert rng.integers(1 << 40) == plain.integers(1 << 40)
        assert codes == scp_codes(diagnoses, np.random.default_rng(seed))


def test_finer_statements_are_as_frequent_as_listed() -> None:
    found = [scp_codes(("RBBB", "SR"), np.random.default_rng(seed)) for seed in range(2000)]
    assert np.mean(["IRBBB" in codes for codes in found]) == pytest.approx(0.40, abs=0.05)
    assert np.mean(["ABQRS" in codes for codes in found]) == pytest.approx(0.20, abs=0.05)
    assert all(("IRBBB" in codes) + ("CRBBB" in codes) + ("IVCD" in codes) == 1 for codes in found)
