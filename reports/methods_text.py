"""The methods paragraph of a run, methods.md, and the papers that it cites, references.bib.

Every sentence (templates/methods.md) is of the plan, the finished cells and the records of the pretrainings: what is
not known is not said. Citations are keys of references.bib in brackets, as pandoc reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmark.results.metrics import METRICS
from benchmark.results.names import (
    ABLATION,
    COMBINED,
    CRITERIA,
    EVALUATION_FACTS,
    EVALUATION_TITLES,
    FEATURES,
    HEART_RATE,
    INSTALLED,
    LEADS,
    METHOD,
    QRS_AMPLITUDE,
    SUPERVISED,
    SWEEP,
    UNIT_OF_PROTOCOL,
    evaluation_of,
    is_untrained,
)
from benchmark.results.references import cited, references
from benchmark.results.store import Plan, labels_of
from reports.footers import commit_text, labelled
from reports.layouts import Layout, role_of
from reports.results import Record, Run
from reports.words import and_text, ratio_text, row_title, seeds_text, tested_text, unit_text

BUDGETS = {
    "epochs": "epochs over their batches",
    "windows": "windows that they saw",
    "passes": "passes of windows through the encoder, up to whole updates",
}
"""Budget -> words for the quantity that was equal for all methods."""
HEARTBEAT = 1.2
"""Seconds of a heartbeat's window."""
SCALES = {
    "recording": "z-scored per recording and lead",
    "dataset": "scaled by one mean and deviation of a dataset",
    "none": "in mV",
}
"""`data.standardise` in words."""
CHOSEN_AMONG = {
    "lr": "learning rate",
    "strengths": "inverse regularisation strength",
    "neighbours": "number of neighbours",
    "leaf_windows": "least windows of a leaf",
    "penalties": "penalty",
}
"""Key of an evaluation's section, whose values are candidates -> what they are."""
CHOSEN_UP_TO = {"epochs": "epoch", "iterations": "number of trees"}
"""Key of an evaluation's section, its most -> what is chosen up to it."""
BOOSTED = (COMBINED, FEATURES, HEART_RATE, QRS_AMPLITUDE)
CRITERION_WORDS = {"f1": "macro F1", "log_likelihood": "the mean log-likelihood"}
VALIDATED = {
    "whole": "all of the validation patients",
    "share": "the same share of the validation patients",
}
"""`validation_labels` in words."""
VALIDATED_BY_DEFAULT = {"paper": "whole", "strict": "share"}


def cite(names: Collection[str]) -> str:
    """Return ' [@he2020moco]': the keys of what is cited for some names; '' for nothing."""
    keys = [f"@{reference.key}" for reference in cited(names)]
    return f" [{'; '.join(keys)}]" if keys else ""


def bibliography(text: str) -> str:
    """Return the BibTeX entries whose keys a text cites."""
    return "\n\n".join(reference.entry for reference in references() if f"@{reference.key}" in text) + "\n"


def methods_text(results: Run, layouts: Sequence[Layout], unit: str) -> str:
    """Return the paragraph of a run. layouts: its main tables; unit: of their scores."""
    plan = results.plan
    protocol = plan.config["protocol"]
    trained: dict[str, list[Record]] = {}
    encoders: dict[str, int] = {}
    untrained: dict[str, int] = {}
    for row, records in results.pretrainings.items():
        encoders |= {one["encoder"]["name"]: one["encoder_parameters"] for one in records.values() if "encoder" in one}
        with_loss = [record for record in records.values() if record.get("loss")]
        if with_loss and role_of(plan, row)["role"] == METHOD:
            trained[row] = with_loss
        if is_untrained(row):
            untrained[row_title(plan, row)] = len(records)
    numbers = {str(len(records)) for records in trained.values()}
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"), undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True,
    )  # fmt: skip
    text = environment.get_template("methods.md").render(
        plan=plan,
        cite=cite,
        labelled=list(labelled(results, [cell for layout in layouts for cell in layout.cells])),
        is_strict=protocol == "strict",
        windows=_windows_text(plan.config["data"]),
        hyperparameters=_hyperparameters_text(plan, trained),
        chosen=_choices_text(plan, layouts),
        criterion=f"{CRITERION_WORDS[CRITERIA[protocol]]} per {unit_text(plan, UNIT_OF_PROTOCOL[protocol])}",
        validated=VALIDATED[plan.config["validation_labels"] or VALIDATED_BY_DEFAULT[protocol]],
        subsets=1 + max(cell.subset for layout in layouts for cell in layout.cells),
        labels=labels_of(plan),
        encoders=encoders,
        untrained=untrained,
        changes=list(_changes(plan)),
        reads_reports=any(role_of(plan, row).get("reads_reports") for row in trained),
        trained=[_method_facts(results, row, records) for row, records in trained.items()],
        budget=BUDGETS[plan.config["pretrain"]["budget"]],
        recipe=_common_recipe([record for records in trained.values() for record in records]),
        pretrainings=and_text(sorted(numbers, key=int) or [""]),
        evaluations=[_evaluation_facts(results, layout) for layout in layouts],
        metrics=and_text([METRICS[name].words for name in plan.headline.metrics]),
        unit=unit_text(plan, unit),
        tested=tested_text(results, plan.datasets),
        several=len({cell.seed for layout in layouts for cell in layout.cells}) > 1,
        software="; ".join(sorted(set(_software(results)))),
    )
    title, _, paragraph = text.partition("\n")
    return f"{title}\n\n{' '.join(paragraph.split())}\n"


def _windows_text(data: Mapping[str, Any]) -> str:
    """Name the windows with their length, rate, leads and scale."""
    how = data["segmentation"]
    leads = f"{len(data['leads'])} leads"
    if len(data["leads"]) < len(LEADS):
        leads += f" after pretraining on {len(LEADS)}"
    signals = f"at {data['rate']} Hz, of {leads}, {SCALES[data['standardise']]}"
    if how["kind"] == "recordings":
        stride = how["stride"] or how["seconds"] / 2
        return f"crops of {how['seconds']:g} s every {stride:g} s {signals}"
    text = f"single heartbeats of {HEARTBEAT:g} s {signals}"
    if data["standardise"] == "recording":
        text += " and again over each group of successive heartbeats"
    return text


def _hyperparameters_text(plan: Plan, rows: Collection[str]) -> str:
    """Name the hyperparameters that the config sets of methods that are rows."""
    texts = []
    for row, values in plan.config["hyperparameters"].items():
        named = [f"{name.replace('_', ' ')} {value}" for name, value in values.items() if name != "recipe"]
        if row in rows and named:
            texts.append(f"{row_title(plan, row)} ({', '.join(named)})")
    return and_text(texts or [""])


def _changes(plan: Plan) -> Iterator[str]:
    """Name the ablations of each method, and the values of each hyperparameter that is swept, a sentence each."""
    groups: dict[tuple[str, str], list[str]] = {}
    for row, role in plan.roles.items():
        if role["role"] in (ABLATION, SWEEP):
            value = row.partition(":")[2] if role["role"] == ABLATION else str(role["value"])
            groups.setdefault((role["of"], role["hyperparameter"]), []).append(value)
    for (method, hyperparameter), values in groups.items():
        title = row_title(plan, method) if method in plan.variants else method
        if hyperparameter:
            yield f"{title} was also run with {hyperparameter.replace('_', ' ')} {and_text(values)}."
        else:
            yield f"{title} was also run {and_text(values)}."


def _choices_text(plan: Plan, layouts: Sequence[Layout]) -> str:
    """Name what validation chose of each evaluation and baseline, with the candidates."""
    chosen: dict[str, str] = {}
    for layout in layouts:
        for row in layout.variants:
            evaluation = evaluation_of(row, layout.evaluation)
            title = EVALUATION_TITLES.get(evaluation, row_title(plan, row))
            section = plan.config.get("boosting" if evaluation in BOOSTED else evaluation, {})
            parts = []
            for key, what in CHOSEN_AMONG.items():
                if len(section.get(key, ())) > 1:
                    parts.append(f"the {what} (of {', '.join(map('{:g}'.format, section[key]))})")
            for key, what in CHOSEN_UP_TO.items():
                if key in section and evaluation != SUPERVISED:
                    parts.append(f"the {what} (up to {section[key]})")
            if parts:
                votes = ", by macro AUROC" if evaluation == "knn" and plan.config["protocol"] == "strict" else ""
                chosen[title] = f"for {title} {and_text(parts)}{votes}"
    return "; ".join(chosen.values())


def _method_facts(results: Run, row: str, records: Sequence[Record]) -> dict[str, str]:
    """Name a pretrained row, its method and its updates."""
    updates = [record["updates"] for record in records]
    few = f"{min(updates):,}"
    many = f"{max(updates):,}"
    text = few if few == many else f"{few} to {many}"
    return {"title": row_title(results.plan, row), "method": records[0].get("method", row), "updates": text}


def _common_recipe(records: Sequence[Record]) -> dict[str, Any] | None:
    """Return the recipe of all pretrainings; None where they differ or are not known."""
    contents = [record.get("key_content", {}) for record in records]
    recipes: list[dict[str, Any] | None] = [content.get("config", {}).get("recipe") for content in contents]
    if recipes and all(recipe == recipes[0] for recipe in recipes):
        return recipes[0]
    return None


def _evaluation_facts(results: Run, layout: Layout) -> dict[str, Any]:
    """Name an evaluation with the label shares of its pretrained rows, seeds, subsets and baselines."""
    beside = {row for row in layout.variants if row in layout.baselines or is_untrained(row)}  # some with all labels
    shares = dict.fromkeys(cell.ratio for cell in layout.cells if cell.variant not in beside) or layout.ratios
    return EVALUATION_FACTS[layout.evaluation]._asdict() | {
        "shares": and_text([ratio_text(ratio) for ratio in shares]),
        "seeds": seeds_text({cell.seed for cell in layout.cells}),
        "subsets": 1 + max(cell.subset for cell in layout.cells),
        "baselines": {row: row_title(results.plan, row) for row in layout.variants if row in layout.baselines},
    }


def _software(results: Run) -> Iterator[str]:
    """Yield commit, version of PyTorch, device and precision of the finished cells."""
    for row in results.rows.values():
        facts = row.provenance
        program = INSTALLED
        commit = commit_text(facts["git"])
        if commit:
            program += f", commit {commit}"
        library = facts["versions"]["torch"]
        device = facts["device"]["type"]
        yield f"{program}, PyTorch {library}, on {device} in {facts['precision']}"
