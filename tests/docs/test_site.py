"""The site: it builds without a warning, and every config key and hyperparameter on it has a meaning."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="needs the extra [docs]: pip install -c constraints.txt -e '.[docs]'")
from docs.site.pages import INTERFACES, config_page

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
def test_it_builds_without_a_warning(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    reference = tmp_path / "site" / "reference"
    assert "pretrain.budget" in (reference / "config.html").read_text(encoding="utf-8")
    assert "--dry-run" in (reference / "commands.html").read_text(encoding="utf-8")
    use = (reference / "use.html").read_text(encoding="utf-8")
    for name in ("load_encoder", "SavedEncoder.encode"):
        assert f'id="benchmark.embedding.{name}"' in use
    assert 'id="methods.encoders.pretrained.PretrainedEncoder"' in use


def test_every_key_has_a_meaning() -> None:
    rows = re.findall(r"^\| `(.+?)` \|(.*)\| (.*) \|$", config_page(), re.MULTILINE)
    assert {"data.labels", "finetune.lr", "methods.pmq.momentum", "methods.comet.patient_weight", "encoder.depth"} <= {
        key for key, _, _ in rows
    }
    assert [key for key, _, meaning in rows if not meaning.strip()] == []


def test_the_site_names_every_page() -> None:
    named = re.findall(r": ([\w/]+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} <= set(named)
    assert {f"{path.stem}.md" for path in (ROOT / "docs").glob("*.ipynb")} <= set(named)
    assert {f"reference/{title.lower()}.md" for title in INTERFACES} <= set(named)
