"""What a word or card leaves open is decided before the run; what cannot be decided is one line with the choices."""

from __future__ import annotations

import json
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from benchmark.config.cards import load_card, names_of
from benchmark.config.command_line.values import config_of, place_of
from benchmark.config.command_line.verb import Verb, parse, refuse_unknown
from benchmark.config.config import Config
from benchmark.config.errors import ConfigError
from benchmark.config.load import validate
from benchmark.data.readers.base import DatasetError
from benchmark.data.readers.cards.ecgbench import package
from benchmark.data.readers.cards.ecgbench.card import ECGBenchCard
from benchmark.verbs.run import RUN

VERBS: dict[str, Verb] = {"run": RUN}


def read(*words: str | Path) -> Config:
    verb, arguments = parse(VERBS, ["run", *map(str, words)])
    refuse_unknown(verb, arguments)
    return config_of(arguments)


def refusal(word: str, root: Path | None = None) -> str:
    with pytest.raises(ConfigError) as caught:
        load_card(word, None, root)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def written(path: Path, **keys: Any) -> str:
    path.write_text(json.dumps({"kind": "ecgbench", **keys}))
    return str(path)


def test_a_word_is_a_card_with_counted_classes_in_the_config(sph: Path) -> None:
    config = read(
        "--datasets", "ecgbench:sph", "ptb-xl", "--pretrain-dataset", "ecgbench:sph", "--data-root", sph.parent
    )
    assert (config.data.datasets, config.data.pretrain) == (["ecgbench-sph", "ptb-xl"], "ecgbench-sph")
    assert config.data.simulation is None
    card = config.data.cards["ecgbench-sph"]
    assert isinstance(card, ECGBenchCard)
    assert card.labels is not None
    assert (card.labels.field, card.labels.separator, card.classes) == ("aha_primary_codes", ";", ("1", "22", "60"))
    assert (card.title, card.split, card.labels.least_patients) == ("SPH", "theirs", 10)
    assert "licence CC BY 4.0; cite Liu, H." in card.how_to_get
    assert card.licence == "CC BY 4.0"
    stored = json.loads(json.dumps(config.model_dump(mode="json")))
    assert str(sph) not in json.dumps(stored)
    assert validate(stored) == config  # without the folder, and without the package


@pytest.mark.parametrize("dataset", ["SPH!", "", "../sph"])
def test_what_is_no_name_of_a_dataset_is_none_of_the_package(dataset: str) -> None:
    with pytest.raises(ValidationError, match=r"a dataset in the package ecgbench was expected, e\.g\. sph"):
        ECGBenchCard.model_validate({"kind": "ecgbench", "name": "sph", "dataset": dataset})


def test_a_card_without_a_name_is_refused_by_that() -> None:
    with pytest.raises(ValidationError, match=r"name\n +Field required"):
        ECGBenchCard.model_validate({"kind": "ecgbench", "dataset": "sph"})


def test_the_number_of_patients_decides_the_classes(sph: Path) -> None:
    fewer = written(sph / "fewer.yaml", dataset="sph", labels={"least_patients": 11})
    assert load_card(fewer, None, sph.parent).classes == ("1", "22")
    none = written(sph / "none.yaml", dataset="sph", labels={"least_patients": 21})
    assert "0 have at least 21 patients" in refusal(none, sph.parent)
    (sph / "one.yaml").write_text("kind: ecgbench\ndataset: sph\nlabels: {field: aha_primary_categories}\n")
    read_card = load_card(str(sph / "one.yaml"), {"ecgbench-sph": sph})
    assert read_card.classes == ("A", "C", "F")


def test_a_card_s_folder_is_its_dataset_s(sph: Path) -> None:
    word = written(sph / "mine.yaml", dataset="sph", name="mine")
    verb, arguments = parse(VERBS, ["run", "--datasets", word, "--pretrain-dataset", word])
    refuse_unknown(verb, arguments)
    assert config_of(arguments).data.datasets == ["mine"]
    assert place_of(arguments).paths == {"mine": sph}
    assert names_of([word, "ecgbench:sph:x", "chapman"]) == ["mine", "ecgbench-sph", "chapman"]


def test_classes_of_the_package_need_no_folder() -> None:
    assert load_card("ecgbench:challenge2021").classes[:3] == ("AF", "AFL", "BBB")
    assert load_card("ecgbench:cpsc_2018:dx").classes[0] == "426783006"
    assert load_card("ecgbench:code15:none").classes == ()
    assert load_card("ecgbench:ikem").classes == ()


def test_columns_of_yes_and_no_are_classes(tmp_path: Path) -> None:
    fields = ["lvef_lte_45_flag", "pasp_gte_45_flag"]
    card = load_card(written(tmp_path / "card.yaml", dataset="echonext", labels={"field": fields}))
    assert card.classes == tuple(fields)
    word = written(tmp_path / "card.yaml", dataset="echonext", labels={"field": fields, "classes": ["a", "b"]})
    assert "'a' is not in labels.field" in refusal(word)


@pytest.mark.parametrize(
    ("word", "parts"),
    [
        ("ecgbench:sphh", ["unknown dataset 'sphh' of ecgbench (did you mean 'sph'?)"]),
        ("ecgbench:", ["unknown dataset ''"]),
        ("ecgbench:mitdb", ["not the twelve leads: 2 (MLII, V1)", "docs/DATASETS.md"]),
        ("ecgbench:ludb", ["your choice: ecgbench:ludb:rhythms, ", "ecgbench:ludb:none"]),
        ("ecgbench:sph:stratify_code", ["made to balance folds", "ecgbench:sph:aha_primary_codes"]),
        ("ecgbench:sph", ["its classes are counted in its labels", "--data ecgbench-sph=DIR"]),
    ],
)
def test_what_cannot_be_decided_is_one_line(word: str, parts: Sequence[str]) -> None:
    said = refusal(word)
    assert said.startswith(f"card {word}: ")
    assert all(part in said for part in parts), said


def test_an_unknown_column_is_named_with_those_that_are_there(sph: Path) -> None:
    said = refusal("ecgbench:sph:rhythm", sph.parent)
    assert "no column 'rhythm'; there are ecg_id, patient_id, age, sex" in said


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"labels": {"classes": ["1", "2"], "others": 1}}, "unknown config key 'labels.others'"),
        ({"labels": {"classes": ["1", "1"]}}, "class '1' stands twice"),
        ({"labels": {"classes": ["1"]}}, "labels.classes"),
        ({"labels": {"classes": ["1", "2"]}, "split": "mine"}, "split: input should be 'theirs' or 'ours'"),
        ({"labels": None, "name": "Über"}, "name: a name has"),
        ({"labels": "aha"}, "labels: "),
    ],
)
def test_a_wrong_key_is_one_line(keys: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in refusal(written(tmp_path / "card.yaml", dataset="sph", **keys))


def test_a_wrong_key_in_a_config_s_card_is_named_by_its_place() -> None:
    stored = read("--datasets", "ecgbench:code15", "--pretrain-dataset", "ecgbench:code15").model_dump(mode="json")
    stored["data"]["cards"]["ecgbench-code15"]["labels"]["clases"] = []
    with pytest.raises(
        ConfigError, match=r"'data\.cards\.ecgbench-code15\.labels\.clases' \(did you mean .*labels\.classes"
    ):
        validate(stored)


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> str:
        raise PackageNotFoundError(name)

    monkeypatch.setattr(package, "version", missing)
    assert refusal("ecgbench:sph").endswith("datasets of ecgbench need the package: pip install '.[datasets]'")
    with pytest.raises(DatasetError, match="datasets"):
        package.package_version()


def test_restricted_data_say_so() -> None:
    assert "RESTRICTED: use, and passing on" in package.about(package.config_of("echonext"))
    assert "RESTRICTED" not in package.about(package.config_of("sph"))
