"""A sealed content is opened by its owner alone, and only as it was."""

from __future__ import annotations

from benchmark.results.files.seals import seal, unseal


def test_a_seal_is_opened_by_its_owner_and_as_it_was() -> None:
    sealed = seal("owner", b"body")
    assert unseal("owner", sealed) == b"body"
    assert unseal("another", sealed) is None
    assert [unseal("owner", sealed[:kept]) for kept in range(len(sealed))] == [None] * len(sealed)
    for position in range(len(sealed)):
        flipped = bytearray(sealed)
        flipped[position] ^= 1
        assert unseal("owner", bytes(flipped)) is None


def test_the_border_of_owner_and_body_is_sealed_too() -> None:
    assert seal("ab", b"c") != seal("a", b"bc")
    assert unseal("a", seal("ab", b"c")[:32] + b"bc") is None
