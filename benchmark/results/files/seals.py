"""Seals: a digest over a content and the name of its owner, by which damaged and swapped files are noticed."""

from __future__ import annotations

import hashlib

SEAL_BYTES = 32


def seal(owner: str, body: bytes) -> bytes:
    """The body behind the SHA-256 of its owner's name and itself."""
    return hashlib.sha256(owner.encode() + b"\0" + body).digest() + body


def unseal(owner: str, content: bytes) -> bytes | None:
    """The body of a sealed content; None if it is damaged or of another owner."""
    body = content[SEAL_BYTES:]
    return body if seal(owner, body) == content else None
