"""Cards on the command line: their content is in the config, their folder among the places, their names everywhere."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmark.config.cards import load_card
from benchmark.config.command_line.values import config_of, place_of
from benchmark.config.command_line.verb import Verb, parse, refuse_unknown
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import load_config, validate
from benchmark.verbs.run import RUN
from tests.basic import BASIC

CARD: dict[str, Any] = {
    "name": "ours",
    "title": "Our hospital",
    "signals": {"files": "waves/{recording}.hea"},
    "table": {"file": "labels.csv", "recording": "id", "split": {"column": "fold", "train": [1], "test": [2]}},
    "labels": {"column": "rhythm", "classes": ["SR", "AF"], "first_counts": True},
}
VERBS: dict[str, Verb] = {"run": RUN}


@pytest.fixture
def card(tmp_path: Path) -> Path:
    return saved(tmp_path / "data" / "ours.yaml", CARD)


def saved(path: Path, content: Any) -> Path:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))  # JSON is YAML
    return path


def read(*words: str | Path) -> tuple[Config, dict[str, Path]]:
    verb, arguments = parse(VERBS, ["run", *map(str, words)])
    refuse_unknown(verb, arguments)
    return config_of(arguments), place_of(arguments).paths


def refusal(*words: str | Path) -> str:
    with pytest.raises(ConfigError) as caught:
        read(*words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_card_is_named_by_its_file_and_then_by_its_name(card: Path) -> None:
    config, paths = read("--datasets", card, "ptb-xl", "--pretrain-dataset", "ours", "--data", "ptb-xl=/x")
    assert (config.data.datasets, config.data.pretrain) == (["ours", "ptb-xl"], "ours")
    assert paths == {"ours": card.parent, "ptb-xl": Path("/x")}
    assert config.data.simulation is None
    assert config.data.known()[-1] == "ours"
    source = config.data.source("ours")
    assert (source.title, source.classes, source.first_label_counts) == ("Our hospital", ("SR", "AF"), True)
    assert config.data.source("ptb-xl").title == "PTB-XL"


def test_the_corpus_may_be_a_card_alone(card: Path) -> None:
    config, paths = read("--pretrain-dataset", card, "--datasets", "chapman", "--data-root", "/data")
    assert (config.data.datasets, config.data.pretrain, list(paths)) == (["chapman"], "ours", ["ours"])


def test_the_folder_given_by_name_comes_before_the_card_s(card: Path) -> None:
    assert read("--datasets", card, "--data", "ours=/elsewhere")[1] == {"ours": Path("/elsewhere")}


def test_the_config_holds_the_content_and_no_path(card: Path, tmp_path: Path) -> None:
    config, _ = read("--datasets", card, "--pretrain-dataset", card)
    stored = json.loads(json.dumps(config.model_dump(mode="json"), sort_keys=True))
    assert str(tmp_path) not in json.dumps(stored)
    again = validate(stored)
    assert again == config
    assert again.data.source("ours").classes == ("SR", "AF")
    data = {name: stored["data"][name] for name in ("cards", "pretrain")}
    file = saved(tmp_path / "mine.yaml", {"methods": ["pmq"], "data": data})
    assert read("--config", file, "--datasets", "ours")[0].data.source("ours").title == "Our hospital"


def test_without_cards_a_config_is_as_before() -> None:
    assert "cards" not in load_config("demo").model_dump()["data"]


def test_set_takes_a_card_as_the_flag_does(card: Path) -> None:
    config, _ = read("--pretrain-dataset", card, "--set", f"data.datasets=[{card}]")
    assert config.data.datasets == ["ours"]


def test_what_is_no_card_is_one_line(card: Path, tmp_path: Path) -> None:
    folder = tmp_path / "data"

    def of(content: Any) -> str:
        return refusal("--datasets", saved(folder / "wrong.yaml", content))

    assert "there is no such file; `data new-card FOLDER` writes a first one" in refusal("--datasets", "gone.yaml")
    assert "holds no keys" in of([1, 2])
    assert "answer the questions first, signals.rate, labels.classes.1" in of(
        CARD | {"signals": {"rate": "?"}, "labels": {"classes": ["A", "?"]}}
    )
    assert "unknown config key 'label' (did you mean 'labels'?)" in of(CARD | {"label": {}})
    assert "unknown config key 'signals.file' (did you mean 'signals.files'?)" in of(CARD | {"signals": {"file": "x"}})
    assert "signals.leads: unknown lead 'V7'" in of(CARD | {"signals": {"files": "{recording}.hea", "leads": ["V7"]}})
    assert "labels: they stand in a table" in of({name: own for name, own in CARD.items() if name != "table"})
    (folder / "wrong.yaml").write_text("a: [")
    assert "is not YAML" in refusal("--datasets", folder / "wrong.yaml")
    (folder / "wrong.yaml").write_bytes(b"name: \xff")
    assert "is not UTF-8 text" in refusal("--datasets", folder / "wrong.yaml")
    assert "cannot be read" in refusal("--datasets", saved(folder / "x.yaml", 1).parent / "x.yaml" / "y.yaml")


def test_names_and_cards_must_fit(card: Path, tmp_path: Path) -> None:
    other = saved(tmp_path / "other" / "ours.yaml", CARD | {"title": "Another"})
    assert "another card is named 'ours' too" in refusal("--datasets", card, other)
    assert refusal("--datasets", "ptbxl").startswith("unknown dataset 'ptbxl' (did you mean 'ptb-xl'?)")
    assert "cards" not in refusal("--datasets", "ptbxl")
    assert "unknown dataset 'our' (did you mean 'ours'?)" in refusal("--datasets", card, "our")
    assert "--data: unknown dataset 'our' (did you mean 'ours'?)" in refusal("--datasets", card, "--data", "our=/x")
    taken = saved(tmp_path / "taken.yaml", CARD | {"name": "ptb-xl"})
    assert "'ptb-xl' is a built-in dataset; give the card another name" in refusal("--datasets", taken)
    unlabelled = saved(tmp_path / "corpus.yaml", {"name": "corpus", "signals": {"files": "{recording}.edf"}})
    assert "'corpus' has no labels" in refusal("--datasets", unlabelled)
    assert load_card(str(unlabelled)).classes == ()
    with pytest.raises(ConfigError, match=r"'ours' is the dataset of a card; set data\.simulation=null"):
        load_config(BASIC, {"data.cards.ours": CARD, "data.datasets": ["ours"]})
    with pytest.raises(
        ConfigError, match=r"unknown config key 'data\.cards\.ours\.label' \(did you mean .*ours\.labels'"
    ):
        load_config(BASIC, {"data.cards.ours": CARD | {"label": {}}})
    with pytest.raises(ConfigError, match="the card 'theirs' is named 'ours'"):
        load_config(BASIC, {"data.cards.theirs": CARD})
