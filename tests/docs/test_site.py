"""The site: it builds without a warning, and every config key and knob on it has a meaning."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs the extra [docs]: pip install -c constraints.txt -e '.[docs]'")
from benchmark.config.sections import Section
from docs.site.pages import INTERFACES, SECTIONS, commands_page, config_page, notebook_page, rebased

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    reference = tmp_path / "site" / "reference"
    assert "pretrain.budget" in (reference / "config.html").read_text(encoding="utf-8")
    use = (reference / "use.html").read_text(encoding="utf-8")
    of_encode = "benchmark.embedding"
    for name in (
        f"{of_encode}.load_encoder",
        f"{of_encode}.SavedEncoder.encode",
        "benchmark.embedding.EcgEmbedder",
    ):
        assert f'id="{name}"' in use
    assert 'id="methods.encoders.pretrained.PretrainedEncoder"' in use


def test_every_key_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(.+?)` \|(.*)\| (.*) \|$", config_page(), re.MULTILINE)
    assert {"data.labels", "finetune.lr", "methods.pmq.momentum", "methods.comet.patient_weight", "encoder.depth"} <= {
        key for key, _, _ in rows
    }
    assert [key for key, _, meaning in rows if not meaning.strip()] == []


def test_keys_of_several_methods_stand_under_the_names_of_all() -> None:
    _, _, own = config_page().partition("### `simclr`, `vicreg`, `barlow` and `simsiam`")
    assert "| `methods.NAME.time_mask` |" in own.partition("###")[0]


def test_every_section_of_a_config_is_on_the_page_of_keys() -> None:
    shown = {name.rpartition(".")[2] for name in SECTIONS.values()}
    assert {kind.__name__ for kind in Section.__subclasses__() if kind.__module__.startswith("benchmark.")} <= shown


@pytest.mark.parametrize("title", INTERFACES)
def test_every_interface_is_in_the_navigation(title: str) -> None:
    assert f"reference/{title.lower()}.md" in (ROOT / "mkdocs.yml").read_text(encoding="utf-8")


def test_every_verb_has_its_help() -> None:
    page = commands_page()
    for verb in ("run", "report", "data check"):
        assert f"\n## {verb}\n" in page
    assert "--dry-run" in page


def test_links_of_the_root_lead_to_their_pages() -> None:
    assert rebased("[a](docs/evidence/SPEED.md) [b](DEVIATIONS.md)") == "[a](evidence/SPEED.md) [b](deviations.md)"


def test_the_site_names_every_page() -> None:
    named = re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} <= set(named)
    assert {f"{path.stem}.md" for path in (ROOT / "docs").glob("*.ipynb")} <= set(named)


def test_a_notebook_becomes_a_page(tmp_path: Path) -> None:
    cells = [("markdown", "# Title\n\nIt shows."), ("code", "x = 1\nx"), ("markdown", "The end.")]
    content = {"cells": [{"cell_type": kind, "source": text.splitlines(True)} for kind, text in cells]}
    (tmp_path / "shown.ipynb").write_text(json.dumps(content))
    link = "To run it: the notebook [shown.ipynb](shown.ipynb)."
    page = f"# Title\n\n{link}\n\nIt shows.\n\n```python\nx = 1\nx\n```\n\nThe end.\n"
    assert notebook_page(tmp_path / "shown.ipynb") == page
