"""docs/OWN_DATA.md: its cards are cards, its keys are all there are, and its commands lead from a folder to a table."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from benchmark.cli.main import OK
from benchmark.config.load import load_card
from benchmark.data.datasets.card import Card, CardSignals, CardTable
from benchmark.data.datasets.card_labels import CardLabels
from run_benchmark import main
from tests.on_disk import write_own_folder

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "OWN_DATA.md").read_text(encoding="utf-8")
CARDS = re.findall(r"```yaml\n(.*?)```", TEXT, re.DOTALL)
SMALL = ("pretrain.epochs=1", "finetune.epochs=2", "encoder.hidden=4", "encoder.depth=1", "encoder.output=8")
"""What makes the page's run one of seconds."""
COMMANDS = re.findall(r"^python run_benchmark\.py (.*)$", TEXT, re.MULTILINE)


@pytest.mark.parametrize("card", CARDS)
def test_every_card_on_the_page_is_a_card(card: str, tmp_path: Path) -> None:
    (tmp_path / "card.yaml").write_text(card)
    assert load_card(str(tmp_path / "card.yaml")).name


def test_every_key_is_on_the_page() -> None:
    sections = {"signals": CardSignals, "table": CardTable, "labels": CardLabels}
    keys = [f"{name}.{key}" for name, kind in sections.items() for key in kind.model_fields]
    keys += [key for key in Card.model_fields if key not in sections]
    assert [key for key in keys if f"`{key}`" not in TEXT] == []


@pytest.mark.slow
def test_the_commands_lead_from_a_folder_to_a_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    write_own_folder(tmp_path / "my-ecgs", 200)
    monkeypatch.chdir(tmp_path)
    new_card, check, run = COMMANDS
    assert main(shlex.split(new_card)) == OK
    shown_text = capsys.readouterr().out
    assert "wrote my-ecgs/my-ecgs.yaml\n" in shown_text  # without an open question
    written, shown = load_card("my-ecgs/my-ecgs.yaml"), Path("shown.yaml")
    shown.write_text(CARDS[0])
    expected = load_card("shown.yaml")
    assert written.labels is not None
    assert expected.labels is not None
    assert set(written.labels.classes) == set(expected.labels.classes)
    same = {"labels": expected.labels}
    assert written.model_copy(update=same) == expected
    assert main(shlex.split(check)) == OK
    shown_text = capsys.readouterr().out
    assert "my-ecgs (my-ecgs): " in shown_text
    assert "recordings  200 listed" in shown_text
    assert main([*shlex.split(run), "--set", *SMALL]) == OK
    table = Path("out/results.md").read_text()
    assert "my-ecgs" in table
    assert re.search(r"\| PMQ .*\d\d\.\d", table)
    assert re.search(r"\| MoCo .*\d\d\.\d", table)
