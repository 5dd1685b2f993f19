"""Titles of the page's figures: datasets and rows by their titles, not by their names in files."""

from __future__ import annotations

from pathlib import Path

import pytest

from reports.html.pictures import pictures_of

TITLES = {"ptb-xl": "PTB-XL", "pmq": "PMQ", "pmq-released": "PMQ (released)"}


@pytest.mark.parametrize(
    ("stem", "title"),
    [
        ("finetune-heartbeat-confusion-ptb-xl", "Fine-tuned, per heartbeat: confusion, PTB-XL"),
        ("linear-recording-pmq-queue-size", "Linear probe, per recording: PMQ, queue size"),
        ("finetune-heartbeat-pmq-released-momentum", "Fine-tuned, per heartbeat: PMQ (released), momentum"),
        ("finetune-heartbeat-label-efficiency", "Fine-tuned, per heartbeat: label efficiency"),
        ("linear-fix-heartbeat-differences", "Linear probe (FIX), per heartbeat: differences"),
        ("few-shot-recording-label-efficiency", "Few-shot linear probe, per recording: label efficiency"),
        ("training", "Training"),
    ],
)
def test_a_title_has_the_titles_of_what_is_shown(stem: str, title: str) -> None:
    files = [Path(f"{stem}.png"), Path(f"{stem}.pdf")]
    assert [picture.title for picture in pictures_of(files, TITLES)] == [title]
