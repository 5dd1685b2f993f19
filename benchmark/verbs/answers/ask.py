"""Implementation of the verb `known-answers`: run what is missing, print the findings, write the page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmark.config.command_line.verb import FAILED, OK
from benchmark.config.errors import ConfigError, unknown
from benchmark.data.readers.base import DatasetError
from benchmark.results.files.write import write_atomic
from benchmark.screen import console as terminal
from benchmark.screen.console import Console, note
from benchmark.screen.tally import duration
from benchmark.verbs.answers.answer import Answer, Ran
from benchmark.verbs.answers.entries import ANSWERS
from benchmark.verbs.answers.page import Outcome, page, verdict_of
from benchmark.verbs.answers.pipeline import ArmFailed, finished, run_arm


def ask(names: Sequence[str], work: Path, file: Path, console: Console) -> int:
    """Run the named answers, without a name those of `by_default`, and write the page of all; returns the exit status.

    Raises ConfigError for an unknown name.
    """
    for name in names:
        if name not in ANSWERS:
            raise ConfigError(unknown("known answer", name, ANSWERS))
    asked = [ANSWERS[name] for name in names] or [answer for answer in ANSWERS.values() if answer.by_default]
    broken = [answer.name for answer in asked if not run_answer(answer, work, console)]
    outcomes = [outcome_of(answer, work) for answer in ANSWERS.values()]
    write_atomic(file, page(outcomes).encode())
    note(console, f"wrote {file}")
    failed = [outcome.answer.name for outcome in outcomes if outcome.verdict == "failed"]
    if failed:
        terminal.error(f"not as planted: {', '.join(failed)}")
    return FAILED if failed or broken else OK


def run_answer(answer: Answer, work: Path, console: Console) -> bool:
    """Run an answer's missing arms and print its findings; False, with a line, if a run failed."""
    note(console, f"{answer.name}: {answer.expected}")
    for name, arm in answer.arms.items():
        if finished(arm, work):
            continue
        try:
            ran = run_arm(arm, work)
        except (ArmFailed, DatasetError) as error:
            terminal.error(f"{answer.name}, {name}: {error}")
            return False
        note(console, f"  ran {name} in {duration(ran.seconds)} of CPU time")
    for finding in outcome_of(answer, work).findings:
        note(console, f"  {verdict_of(finding)}: {finding.what}: {finding.found}; wanted: {finding.wanted}")
    return True


def outcome_of(answer: Answer, work: Path) -> Outcome:
    """What came out of an answer; without findings if an arm is still to be run."""
    ran: dict[str, Ran] = {}
    for name, arm in answer.arms.items():
        done = finished(arm, work)
        if done is None:
            return Outcome(answer)
        ran[name] = done
    return Outcome(answer, answer.check(ran), sum(arm.seconds for arm in ran.values()))
