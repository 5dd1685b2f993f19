"""What the README and the pages name exists: links, files, flags, config keys, extras."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmark.cli.commands import COMMANDS
from benchmark.config.config import Config
from benchmark.config.schema import Section
from benchmark.results.names import REQUIREMENTS
from tests.docs.pages import DOCS, EVIDENCE, text_of

ROOT = DOCS.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    ROOT / "DEVIATIONS.md",
    *DOCS.rglob("*.md"),
]
OF_OTHERS = {"--host", "--lifetime", "--rm", "--resolution", "--strict", "--python", "--help", "--version"}
"""Flags of other programs that the pages name."""


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


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_every_link_leads_somewhere(page: Path) -> None:
    for file, anchor in links_of(page):
        assert file.exists(), file
        assert not anchor or file.suffix != ".md" or anchor in anchors_of(file), (file, anchor)


def test_every_file_of_evidence_is_shown_by_a_page() -> None:
    linked = {file.resolve() for page in PAGES for file, _ in links_of(page)}
    files = {file.resolve() for file in EVIDENCE.rglob("*.*") if file.suffix in {".csv", ".png"}}
    assert files - linked == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_whatever_a_page_names_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    files = re.findall(r"`((?:benchmark|methods|reports|tests|docs)/[\w./-]+)`", text)
    assert [file for file in files if not (ROOT / file).exists()] == []
    flags = set(re.findall(r"`(--[a-z][a-z-]+)", text)) - OF_OTHERS
    assert flags <= {flag for one in COMMANDS.values() for flag in (*one.flags, *one.further)}
    sections = {
        name: field.annotation
        for name, field in Config.model_fields.items()
        if isinstance(field.annotation, type) and issubclass(field.annotation, Section)
    }
    for section, key in re.findall(r"`(\w+)\.(\w+)[`=:.]", text):
        if section in sections and key != "py":
            assert key in sections[section].model_fields, f"{section}.{key}"


def test_messages_name_pages_by_their_titles() -> None:
    titles = {page.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ") for page in PAGES}
    for folder in ("benchmark/cli", "benchmark/config"):
        for file in (ROOT / folder).rglob("*.py"):
            text = file.read_text(encoding="utf-8")
            assert set(re.findall(r"\bpage '([^']+)'", text)) <= titles, file
            assert "docs/" not in text, f"{file}: docs/ does not come with the wheel"


def test_the_packages_that_a_message_installs_are_those_of_the_extras() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert set(REQUIREMENTS.values()) <= {requirement for of_extra in extras.values() for requirement in of_extra}


def test_no_message_installs_the_project_by_its_name() -> None:
    """The name on the index is nobody's, or a stranger's."""
    for folder in ("benchmark", "methods", "reports"):
        for file in (ROOT / folder).rglob("*.py"):
            assert not re.search(r"pip install.*(\[|ecg-pretrain)", file.read_text(encoding="utf-8")), file


def test_every_extra_has_its_line() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    table = re.search(r"\| extra \|.*?\n\n", text_of("START.md", "## Install"), re.DOTALL)
    shown = re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`.*?) \|", table[0] if table else "", re.MULTILINE)))
    assert sorted(shown) == sorted(extras)
    for file in (*PAGES, ROOT / "Dockerfile"):
        for names in re.findall(r"pip install .*\[([\w,]+)\]", file.read_text(encoding="utf-8")):
            assert set(names.split(",")) <= set(extras), file
