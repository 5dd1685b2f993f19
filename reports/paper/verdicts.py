"""The verdicts: every claim of the paper, judged supported, not supported or not testable, with the numbers.

The same rules judge the paper's printed cells and a store's. With simulated ECGs the numbers are shown, but a claim
stays untested, except on computing time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from benchmark.results.names import command
from reports.paper.claims import COST_RULE, Claim, Evidence, load_claims, title_of
from reports.paper.printed import PRETRAINING_SECONDS, printed_cells
from reports.paper.replication import Replication
from reports.paper.rules import RULES

SUPPORTED, REFUTED, UNTESTED = "supported", "not supported", "cannot be tested"
VERDICTS = (SUPPORTED, REFUTED, UNTESTED)
QUEUE_SIZE = "pmq:queue_size="
ABLATION = "pmq:w/o "


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim by one kind of evidence."""

    claim: Claim
    verdict: str
    """One of `VERDICTS`."""
    numbers: str
    """The numbers judged; '' for none."""
    reason: str
    """Why a claim cannot be tested, and the run that would; else ''."""
    remark: str = ""
    """Caveat on the paper's own evidence; '' for a store's."""

    @property
    def text(self) -> str:
        """Numbers and reason in one line."""
        return "; ".join(filter(None, [self.reason, self.numbers]))


def judge_paper() -> list[Judgement]:
    """Every claim against the cells that the paper prints."""
    evidence = Evidence(printed_cells(), PRETRAINING_SECONDS, printed=True)
    return [_judge_printed(claim, evidence) for claim in load_claims()]


def judge_store(replication: Replication) -> list[Judgement]:
    """Every claim against a store."""
    return [_judge_measured(claim, replication) for claim in load_claims()]


def counts(judgements: Sequence[Judgement]) -> dict[str, int]:
    """How many claims have each verdict."""
    return {verdict: sum(judgement.verdict == verdict for judgement in judgements) for verdict in VERDICTS}


def command_for(variants: Sequence[str]) -> str:
    """The command that measures these rows; finished cells are not repeated."""
    sizes = [variant.removeprefix(QUEUE_SIZE) for variant in variants if variant.startswith(QUEUE_SIZE)]
    ablations = " --ablations" if any(variant.startswith(ABLATION) for variant in variants) else ""
    queues = f" --queue-sizes {' '.join(sorted(sizes, key=int))}" if sizes else ""
    return f"{command()} --config paper --data-root DIR{ablations}{queues}"


def _judge_printed(claim: Claim, evidence: Evidence) -> Judgement:
    lacking = evidence.lacking(claim)
    if lacking:
        what = "pretraining time" if claim.rule == COST_RULE else "number"
        return Judgement(claim, UNTESTED, "", f"the paper prints no {what} of {_named(lacking)}", claim.remark)
    found = RULES[claim.rule](claim, evidence)
    return Judgement(claim, SUPPORTED if found.holds else REFUTED, found.numbers, "", claim.remark)


def _judge_measured(claim: Claim, replication: Replication) -> Judgement:
    rows = (claim.subject, *claim.rivals)
    cost = claim.rule == COST_RULE
    lacking = replication.evidence.lacking(claim)
    if lacking:
        what = "pretraining times, with the paper's encoder and on one machine," if cost else "all cells"
        return Judgement(claim, UNTESTED, "", f"needs {what} of {_named(lacking)}: {command_for(rows)}")
    found = RULES[claim.rule](claim, replication.evidence)
    if replication.simulated and not cost:
        return Judgement(claim, UNTESTED, found.numbers, "simulated data")
    if found.holds is None:
        return Judgement(claim, UNTESTED, found.numbers, "the intervals are inconclusive: use more seeds")
    return Judgement(claim, SUPPORTED if found.holds else REFUTED, found.numbers, "")


def _named(variants: Sequence[str]) -> str:
    return ", ".join(map(title_of, variants))
