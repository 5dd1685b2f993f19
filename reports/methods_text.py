"""The methods paragraph of a run, methods.md, and the papers that it cites, references.bib.

Every sentence (templates/methods.md) is of the plan, the finished cells and the records of the pretrainings: what is
not known is not said. Citations are keys of references.bib in brackets, as pandoc reads them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from benchmark.results.metrics import METRICS
from benchmark.results.names import EVALUATION_FACTS, INSTALLED, METHOD, is_untrained
from benchmark.results.references import cited, references
from benchmark.results.store import labels_of
from reports.footers import commit_text
from reports.layouts import Layout, role_of
from reports.results import Record, Run
from reports.words import and_text, ratio_text, row_title, seeds_text, tested_text, unit_text

BUDGETS = {
    "epochs": "epochs over their batches",
    "windows": "windows that they saw",
    "passes": "passes of windows through the encoder, up to whole updates",
}
"""What was equal among the methods."""


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
        labels=labels_of(plan),
        encoders=encoders,
        untrained=untrained,
        trained=[_method_facts(results, row, records) for row, records in trained.items()],
        budget=BUDGETS[plan.config["pretrain"].get("budget", "epochs")],
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
        if commit := commit_text(facts["git"]):
            program += f", commit {commit}"
        library = facts["versions"]["torch"]
        device = facts["device"]["type"]
        yield f"{program}, PyTorch {library}, on {device} in {facts['precision']}"
