"""Links of the README and the pages lead somewhere, and files under docs/evidence are shown by a page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.pages import DOCS, EVIDENCE

ROOT = DOCS.parent
PAGES = [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]


def links_of(page: Path) -> Iterator[tuple[Path, str]]:
    """File and anchor of every link of a page to a file of the repository."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if "://" not in target:
            file, _, anchor = target.partition("#")
            yield (page.parent / file if file else page), anchor


def anchors_of(page: Path) -> set[str]:
    """Anchors of a page's headings, as the site and GitHub make them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading) for heading in headings]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links_of(page):
        assert file.exists(), file
        assert not anchor or file.suffix != ".md" or anchor in anchors_of(file), (file, anchor)


def test_every_file_of_evidence_is_shown_by_a_page() -> None:
    linked = {file.resolve() for page in PAGES for file, _ in links_of(page)}
    files = {file.resolve() for file in EVIDENCE.rglob("*.*") if file.suffix in {".csv", ".png"}}
    assert files - linked == set()
