"""The page of the known answers: what was planted, what must come out, what came out, and the time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from benchmark.data.simulate import SIMULATOR_VERSION
from benchmark.verbs.answers.answer import Answer, Finding

INTRODUCTION = f"""# Known answers

Cohorts with a planted truth, and whether the suite finds it. Written by

```
python run_benchmark.py known-answers
python run_benchmark.py known-answers --only size
```

The first command runs all answers but size, about an hour on one core.

Each answer is one or more runs through the suite's own pipeline: simulate, alter the cohort where the truth needs it,
prepare, audit, pretrain, evaluate, and the statistics of the reports. What must come out was written into
`benchmark/verbs/answers/entries/` before the runs. All ECGs are simulated (`SIMULATOR_VERSION` {SIMULATOR_VERSION}),
so nothing here ranks a method.

Unless an answer says otherwise: the dilated encoder with hidden 16, depth 6 and output 64; PTB-XL with several labels a
recording and 30 % of the labels; protocol strict with three seeds, each with a pretraining of its own; a linear probe;
macro AUROC per recording with its 95 % interval over seeds and test patients. Answers that rest on a difference between
encoders (persistence, reports, leak, power) have five seeds, and encoders of twelve epochs at 83 Hz and a higher rate.
Times are CPU time on one core, data included; on a machine that others use they are longer than on a quiet one.
"""
NOT_RUN = "not run"


@dataclass(frozen=True)
class Outcome:
    """An answer with what came out; no findings where it was not run."""

    answer: Answer
    findings: Sequence[Finding] = ()
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """'passed', 'failed' or 'not run'."""
        if not self.findings:
            return NOT_RUN
        return "passed" if all(finding.passed for finding in self.findings) else "failed"


def page(outcomes: Sequence[Outcome]) -> str:
    """The page in Markdown."""
    summary = ["| answer | verdict | findings as wanted | CPU minutes |", "| --- | --- | --- | --- |"]
    summary += [summary_line(outcome) for outcome in outcomes]
    sections = ["\n".join(section(outcome)) for outcome in outcomes]
    return "\n".join([INTRODUCTION, *summary, "", *sections])


def summary_line(outcome: Outcome) -> str:
    """A line of the summary."""
    name, findings = outcome.answer.name, outcome.findings
    if not findings:
        return f"| [{name}](#{name}) | {NOT_RUN} | | |"
    kept = f"{sum(finding.passed for finding in findings)} of {len(findings)}"
    return f"| [{name}](#{name}) | {outcome.verdict} | {kept} | {outcome.seconds / 60:.1f} |"


def section(outcome: Outcome) -> Iterator[str]:
    """The lines of an answer's section."""
    yield f"## {outcome.answer.name}\n"
    yield f"Planted: {outcome.answer.planted}\n"
    yield f"Must come out: {outcome.answer.expected}\n"
    if outcome.answer.changed:
        yield f"Changed since an earlier run: {outcome.answer.changed}\n"
    if outcome.findings:
        yield "| what | came out | wanted | |"
        yield "| --- | --- | --- | --- |"
        yield from (f"| {f.what} | {f.found} | {f.wanted} | {verdict_of(f)} |" for f in outcome.findings)
        if outcome.answer.conclusion:
            yield f"\nConclude: {outcome.answer.conclusion}"
    else:
        yield "Not run yet."
    yield ""


def verdict_of(finding: Finding) -> str:
    """'passed' or 'failed'."""
    return "passed" if finding.passed else "**failed**"
