"""The verb `known-answers`: runs on cohorts with a planted truth, and the page of what the suite found.

Run an arm as a user would: simulate, plant, prepare, audit, run the grid, keep the store. Finished arms are not run.

WORK/runs                  the results store of all arms
WORK/arms/KEY.json         a finished arm: the key of its plan, its leaks, its CPU time
WORK/data/KEY              cohorts and prepared recordings of an arm, removed when it is finished
"""

from __future__ import annotations

import io
import json
import os
import shutil
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import torch

from benchmark import screen as terminal
from benchmark.cli.run import GridRequest, open_all, prepare_all, work_off
from benchmark.config.command_line import FAILED, OK
from benchmark.config.config import Config, load_config, validate
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.flags import Folders
from benchmark.data.datasets.base import DatasetError
from benchmark.data.prepare import PIPELINE_VERSION
from benchmark.data.simulate import SIMULATOR_VERSION
from benchmark.data.splits import SPLIT_VERSION
from benchmark.extras.answers import ANSWERS
from benchmark.extras.answers_planted import BASE, Answer, Arm, Finding, Ran
from benchmark.machine.device import Machine
from benchmark.results.files import write_atomic
from benchmark.results.names import WINDOWS_SHA256
from benchmark.results.schema import digest
from benchmark.results.store import Store
from benchmark.run.datasets import audit_run, locate, names_of, with_columns
from benchmark.run.grid import make_grid
from benchmark.run.jobs import missing
from benchmark.run.plan import make_plan
from benchmark.run.pretraining import probe_windows_of
from benchmark.screen import Console, duration, note, open_console
from benchmark.training.boosting import FEATURES_VERSION
from benchmark.training.finetune import FINETUNE_VERSION
from benchmark.training.health import sample_facts
from benchmark.training.pretrain import PRETRAIN_VERSION
from benchmark.training.probes import LINEAR_VERSION
from reports.runs import open_run

INTRODUCTION = f"""# Known answers

For a reader: the suite finds planted truths, at the size that was planted, and does not find what is not there. Four of
eleven answers did not come out as predicted; each says what that means for a table.

Cohorts with a planted truth, and whether the suite finds it. Written by

```
python run_benchmark.py known-answers
python run_benchmark.py known-answers --only size
```

The first command runs all answers but size, about an hour on one core.

Each answer is one or more runs through the suite's own pipeline: simulate, alter the cohort where the truth needs it,
prepare, audit, pretrain, evaluate, and the statistics of the reports. What must come out was written into
`benchmark/extras/answers.py` before the runs. All ECGs are simulated (`SIMULATOR_VERSION` {SIMULATOR_VERSION}),
so nothing here ranks a method.

Unless an answer says otherwise: the dilated encoder with hidden 16, depth 6 and output 64; PTB-XL with several labels a
recording and 30 % of the labels; protocol strict with three seeds, each with a pretraining of its own; a linear probe;
macro AUROC per recording with its 95 % interval over seeds and test patients. Answers that rest on a difference between
encoders (persistence, reports, leak, power) have five seeds, and encoders of twelve epochs at 83 Hz and a higher rate.
Times are CPU time on one core, data included; on a machine that others use they are longer than on a quiet one.
"""


@dataclass(frozen=True)
class Outcome:
    """An answer with what came out; no findings where it was not run."""

    answer: Answer
    findings: Sequence[Finding] = ()
    seconds: float = 0.0

    @property
    def verdict(self) -> str:
        """'passed' or 'failed'; the first also without findings."""
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
        return f"| [{name}](#{name}) | not run | | |"
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


VERSIONS = (
    *(SIMULATOR_VERSION, PIPELINE_VERSION, SPLIT_VERSION, PRETRAIN_VERSION),
    *(FINETUNE_VERSION, LINEAR_VERSION, FEATURES_VERSION),
)
MACHINE = Machine(torch.device("cpu"), "float32", jobs=1)


class ArmFailed(Exception):
    """An arm has cells that failed; the message names the first."""


def config_of(arm: Arm) -> Config:
    """The config of an arm, with simulated cohorts. Raises ConfigError."""
    return load_config("demo", {**BASE, **arm.overrides})


def key_of(arm: Arm) -> str:
    """Key of an arm: a hash of its config, its plants and the results versions; no path of a method's file enters."""
    config = config_of(arm)
    values = config.model_dump(mode="json") | {"methods": config.compared()}
    methods = [config.method_class(name).version for name in config.methods]
    plants = {name: plant.__name__ for name, plant in arm.plants.items()}
    return digest([values, plants, arm.allow_leak, VERSIONS, methods])


def finished(arm: Arm, work: Path) -> Ran | None:
    """A finished arm from the store, None if it is still to be run."""
    file = work / "arms" / f"{key_of(arm)}.json"
    if not file.is_file():
        return None
    kept = json.loads(file.read_bytes())
    return Ran(open_run(work / "runs", kept["plan"]), tuple(kept["leaks"]), kept["seconds"])


def run_arm(arm: Arm, work: Path) -> Ran:
    """Run what is missing of an arm on one core. Raises ArmFailed, DatasetError."""
    torch.set_num_threads(1)
    key, before = key_of(arm), cpu_seconds()
    data = work / "data" / key
    place = Folders(None, {}, data / "cache", workers=1, simulated=data / "simulated")
    config, paths = plant(arm, config_of(arm), place)
    asked = GridRequest(config, replace(place, paths=paths), MACHINE, work / "runs", data / "out")
    console = open_console(io.StringIO())
    prepared = with_columns(asked.config, prepare_all(asked, open_all(asked, console), console))
    found = audit_run(config, prepared)
    if found.leaks and not arm.allow_leak:
        raise DatasetError("; ".join(found.leaks))
    store = Store(asked.results)
    grid = make_grid(config, prepared, MACHINE)
    windows = sample_facts(probe_windows_of(config, prepared, MACHINE.device))[WINDOWS_SHA256]
    doubts = [*found.leaks, *found.unscored, *found.doubts]
    plan = make_plan(config, prepared, grid, doubts, health_windows=str(windows))
    store.save_plan(plan)
    todo = missing(grid, store)
    if todo.cells and work_off(todo, prepared, store, asked, console):
        failure = next(iter(store.failures([*(cell.key for cell in todo.cells)]).values()))
        raise ArmFailed(f"{failure.line}; the same command tries it again")
    ran = Ran(open_run(store.root, plan.key), tuple(found.leaks), cpu_seconds() - before)
    kept = {"plan": plan.key, "leaks": ran.leaks, "seconds": ran.seconds}
    write_atomic(work / "arms" / f"{key}.json", json.dumps(kept).encode())
    shutil.rmtree(data)
    return ran


def plant(arm: Arm, config: Config, place: Folders) -> tuple[Config, dict[str, Path]]:
    """The config that reads the altered cohorts, and their folders; both as they were for an arm without plants.

    An unaltered cohort beside an altered one is read from its folder too, since real and simulated data do not mix.
    """
    if not arm.plants:
        return config, {}
    paths = {}
    for name in names_of(config):
        cohort = locate(config, name, place).root
        paths[name] = cohort
        if name in arm.plants:
            paths[name] = place.simulated.parent / "planted" / name
            shutil.rmtree(paths[name], ignore_errors=True)
            arm.plants[name](cohort, paths[name])
    values = config.model_dump(mode="json")
    values["data"]["simulation"] = None  # read the datasets from these folders
    return validate(values), paths


def cpu_seconds() -> float:
    """CPU time of this process and its finished children."""
    spent = os.times()
    return spent.user + spent.system + spent.children_user + spent.children_system


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


def known_answers(arguments: Namespace, console: Console) -> int:
    """Run the answers, print their findings and write the page; FAILED if one is not as planted."""
    return ask(arguments.only or [], arguments.work, arguments.page, console)
