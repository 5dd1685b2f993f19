"""Where each submission comes from: code, machine, data, seeds, pretrainings, budget and cost, as its rows and cards
say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from benchmark.results.keys import digest
from benchmark.results.names import METHOD, PRESET
from benchmark.results.rows import Row
from reports.leaderboard.places import GATES
from reports.leaderboard.submissions import Submission, one_line
from reports.runs.cards import machine_of
from reports.runs.compatible import CHOICE, flat, shown
from reports.runs.planned_tables import role_of
from reports.runs.scrub_paths import portable
from reports.tables.captions import SHOWN_DIGITS, used_text
from reports.tables.costs import HEADER, cost_lines
from reports.tables.text import TextTable

UNLIKE = 8
"""Settings of a submission that are named where they are not those of most."""
NOT_RECORDED = "not recorded"
COSTS = TextTable(
    "leaderboard-costs",
    "Pretraining cost",
    "As each submission's cards say; the mean where a row has several pretrainings. Seconds of different machines do "
    "not compare; encoder passes do. A dash: not recorded, or in a card without a digest of its own.",
    ("Submission", *HEADER),
    (),
)
Facts = list[tuple[str, str]]
"""(label, text)."""


def content_of(own: Submission) -> str:
    """Digest of a submission's rows: who has the same results finds the same digest."""
    return digest([own.run.plan.key, sorted((key, tested.content) for key, tested in own.tested.items())])


def facts_of(own: Submission, usual: dict[str, Any]) -> Facts:
    """What the page says of a submission; `usual`: of `usual_settings`."""
    run = own.run
    plan, rows = run.plan, list(run.rows.values())
    told = [row.provenance for row in rows]
    trained = [row for row in rows if row.pretrain_key and row.variant not in GATES]
    pretrainings = {row.pretrain_key for row in trained}
    devices = (machine_of(facts) for facts in told if facts.get("device"))
    facts = {
        "Results": f"config {plan.config.get('name') or 'without a name'}, plan {plan.key}, digest {content_of(own)}",
        "Rows": f"{len(rows)} of {len({cell.key for cell in plan.cells})} cells finished",
        "Code": joined(_commit(facts.get("git") or {}) for facts in told),
        "Machine": joined(devices),
        "Versions": joined(_versions(facts) for facts in told),
        "Seeds": joined(str(seed) for seed in sorted({row.seed for row in rows})),
        "Pretrainings": f"{len(pretrainings)}, of seeds {joined(_pretrain_seeds(trained))}" if pretrainings else "none",
        "Budget": budget_of(plan.config),
        "Test data": joined(_source(facts) for facts in plan.datasets.values()),
        "Pretrained on": f"{_source(plan.pretraining)}{used_text(plan)}",
        "Settings unlike most": joined(unlike(own, usual), "; ") if usual else "",
        "Warnings": joined(plan.warnings, "; "),
    }
    return [(label, one_line(str(portable(text)))) for label, text in facts.items() if text]


def joined(texts: Iterable[str], separator: str = ", ") -> str:
    """Different texts, each once."""
    return separator.join(dict.fromkeys(filter(None, texts)))


def _commit(git: dict[str, Any]) -> str:
    if not git.get("commit"):
        return NOT_RECORDED
    return f"commit {str(git['commit'])[:SHOWN_DIGITS]}{' with uncommitted changes' if git.get('dirty') else ''}"


def _versions(facts: dict[str, Any]) -> str:
    return ", ".join(f"{name} {version}" for name, version in (facts.get("versions") or {}).items())


def _pretrain_seeds(rows: Sequence[Row]) -> Iterator[str]:
    seeds = {row.pretrain_seed for row in rows if row.pretrain_seed is not None}
    yield from map(str, sorted(seeds))


def _source(facts: dict[str, Any]) -> str:
    kind = "simulated" if facts.get("simulated") else "real"
    fingerprint = f", fingerprint {facts['fingerprint']}" if facts.get("fingerprint") else ""
    return f"{facts.get('title') or facts.get('name', 'data')} ({kind}{fingerprint})"


def budget_of(config: dict[str, Any]) -> str:
    """'12 epochs, equal encoder passes, preset unified'; '' for a plan that does not say."""
    told = config.get("pretrain", {})
    parts = []
    if "epochs" in told:
        parts.append(f"{told['epochs']} epochs")
    if told.get("budget"):
        parts.append(f"equal {told['budget']}")
    if told.get("preset"):
        parts.append(f"preset {told['preset']}")
    return ", ".join(parts)


def usual_settings(submissions: Sequence[Submission]) -> dict[str, Any]:
    """Dotted config key -> the value that most submissions have, the first on a tie; {} for one submission."""
    if len(submissions) < 2:
        return {}
    settings = [flat(portable(own.run.plan.config)) for own in submissions]
    names = sorted({name for own in settings for name in own})
    usual = {}
    for name in names:
        most, _ = Counter(shown(own.get(name)) for own in settings).most_common(1)[0]
        usual[name] = most
    return usual


def unlike(own: Submission, usual: dict[str, Any]) -> list[str]:
    """'finetune.lr 0.01 (most: 0.001)': settings that are not those of most, without those that choose cells."""
    mine = flat(portable(own.run.plan.config))
    names = [name for name in usual if not any(name == c or name.startswith(f"{c}.") for c in CHOICE)]
    told = [
        f"{name} {shown(mine.get(name))} (most: {usual[name]})"
        for name in names
        if shown(mine.get(name)) != usual[name]
    ]
    return told[:UNLIKE] + ([f"and {len(told) - UNLIKE} more"] if len(told) > UNLIKE else [])


def costs_of(submissions: Sequence[Submission]) -> TextTable:
    """The cost of each pretrained row of the submissions."""
    lines = []
    for own in submissions:
        plan = own.run.plan
        rows = {name for name in plan.variants if role_of(plan, name)["role"] in (METHOD, PRESET)}
        cards = {name: found for name, found in own.run.cards.items() if name in rows}
        lines += [(own.name, *line) for line in cost_lines(cards, plan.variants)]
    return TextTable(COSTS.name, COSTS.title, COSTS.caption, COSTS.header, tuple(lines))
