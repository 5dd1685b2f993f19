"""argv -> a verb, a config and a place to work in. One dialect: a flag means the same for every verb that takes it."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from benchmark.config.config import ALL_ABLATIONS, Config
from benchmark.config.errors import ConfigError, unknown
from benchmark.config.load import load_config, parse_value
from benchmark.data.readers.registry import DATASETS
from benchmark.machine.device import cores, pick_device

EXAMPLES = """examples:
  python run_benchmark.py                                            simulated cohorts, minutes on a laptop
  python run_benchmark.py --methods pmq moco --ratios 0.3 0.1 0.01   choose methods and label ratios
  python run_benchmark.py --config laptop --dry-run                  what it would do, in hours and disk
  python run_benchmark.py --config paper --data-root /data           the paper's grid on the real datasets
  python run_benchmark.py --ablations                                the ablation table: PMQ without each of its parts
  python run_benchmark.py --queue-sizes 256 1024 4096                the queue-size figure
  python run_benchmark.py --set methods.pmq.momentum=0.99            any knob of any method
  python run_benchmark.py report --unit recording                    the tables again, from the store alone
  python run_benchmark.py data check --data-root /data               leaks, copies, damaged files, before a run
  python run_benchmark.py report --compare runs other/results.zip    two runs, or what somebody sent, side by side
  python run_benchmark.py speed --config laptop                      how fast this machine is
  python run_benchmark.py check-method ./mine.py                     what a method of one's own has to hold to
  python run_benchmark.py --encoder resnet1d --evaluate linear       all methods around another encoder
  python run_benchmark.py verify-paper                               the paper's own numbers, checked
"""

DATA_ACTIONS = {
    "check": "prepare and audit every dataset, and say whether a run would refuse it (the default)",
    "summary": "what every dataset holds, without reading a signal",
    "show": "draw the recording named after it as a 12-lead sheet with the heartbeats found",
}
VERBS = {
    "run": "do what is missing of the grid, then print and write its tables (the default)",
    "report": "write the tables of the latest run again, from the results store alone",
    "list": "the methods, datasets, configs and ablations there are",
    "speed": "how fast this machine is against plain forms of the same, and the hours of the grid",
    "verify-paper": "check the PMQ paper's printed tables and claims, and lay the results store beside them",
    "check-method": "whether the method named after it, or defined in that file, keeps what a method promises",
    "check-encoder": "whether the encoder named after it, or defined in that file, keeps what an encoder promises",
    "data": ", ".join(f"{action} ({text})" for action, text in DATA_ACTIONS.items()),
}


@dataclass(frozen=True)
class Place:
    """Where a run works: folders, device and processes. Nothing in here can move a number but the device's type."""

    results: Path
    out: Path
    cache: Path
    simulated: Path
    data_root: Path | None
    paths: dict[str, Path]
    device: str
    workers: int
    jobs: int


@dataclass(frozen=True)
class Command:
    """What was asked for."""

    verb: str
    action: str
    """Of the verb `data`, else ''."""
    subject: str
    """The recording of `data show`, the method of `check-method` or the encoder of `check-encoder`, else ''."""
    config: Config
    asked: tuple[str, ...]
    """Datasets named by flags, the pretraining corpus first; empty where the config's stand."""
    place: Place
    dry_run: bool
    quick: bool
    allow_leak: bool
    unit: str | None
    sources: tuple[str, ...] = ("runs",)
    """Results that `report` puts together: folders, capsules, or runs of a folder (reports.runs.open)."""
    capsule: Path | None = None
    compare: tuple[str, ...] = ()
    """Two results that `report` holds against each other instead."""


class _Parser(argparse.ArgumentParser):
    """argparse with errors of one line, a near name where there is one, and exit status 2."""

    def error(self, message: str) -> NoReturn:
        raise ConfigError(message)


def build_parser() -> argparse.ArgumentParser:
    """All flags, in groups."""
    parser = _Parser(
        prog="run_benchmark.py",
        description="Compare contrastive pretraining methods for ECG: pretrain, fine-tune, tabulate.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    verbs = "; ".join(f"{verb}: {text}" for verb, text in VERBS.items())
    parser.add_argument("words", nargs="*", metavar="VERB", help=verbs)
    what = parser.add_argument_group("what is compared")
    what.add_argument("--config", default="demo", metavar="NAME|FILE", help="demo (default), laptop, paper or a file")
    what.add_argument("--methods", nargs="+", metavar="NAME", help="rows of the table; see `list`")
    what.add_argument("--encoder", metavar="NAME|FILE", help="what all methods pretrain; see `list`")
    what.add_argument("--datasets", nargs="+", metavar="NAME", help="columns of the table")
    what.add_argument("--pretrain-dataset", metavar="NAME", help="corpus to pretrain on")
    what.add_argument("--ratios", nargs="+", type=float, metavar="R", help="shares of the labels in (0, 1]")
    what.add_argument("--seeds", nargs="+", type=int, metavar="N", help="fine-tuning seeds")
    what.add_argument("--protocol", help="paper or strict: how subsets are drawn and scores counted")
    what.add_argument("--labels", help="single or multi")
    what.add_argument("--evaluate", nargs="+", metavar="HOW", help="finetune, linear or both")
    what.add_argument("--preset", help="unified or paper: one recipe for all, or each method's own")
    what.add_argument("--ablations", action="store_true", help="every ablation of the compared methods; see `list`")
    what.add_argument("--ablate", nargs="+", metavar="NAME", help="these ablations, e.g. 'w/o queue'")
    what.add_argument("--queue-sizes", nargs="+", type=int, metavar="M", help="PMQ with these, at the smallest ratio")
    what.add_argument("--set", nargs="+", action="extend", default=[], metavar="KEY=VALUE", help="any config key")
    where = parser.add_argument_group("where the data and results are")
    where.add_argument("--data-root", type=Path, metavar="DIR", help="folder that holds the datasets")
    where.add_argument("--data", nargs="+", action="extend", default=[], metavar="NAME=DIR", help="a dataset's folder")
    where.add_argument(
        "--results", nargs="+", default=["runs"], metavar="DIR", help="results store (runs); `report` takes several"
    )
    where.add_argument("--out", type=Path, default=Path("out"), metavar="DIR", help="tables and figures (out)")
    where.add_argument("--cache", type=Path, default=Path("cache"), metavar="DIR", help="prepared recordings (cache)")
    how = parser.add_argument_group("how it runs")
    how.add_argument("--device", default="auto", help="auto, cpu, cuda or cuda:N")
    how.add_argument("--precision", help="auto, float32 or bf16")
    how.add_argument("--compile", action="store_true", help="pretrain through torch.compile; needs a C++ compiler")
    how.add_argument("--workers", type=int, default=cores(), metavar="N", help="processes that prepare data")
    how.add_argument("--jobs-per-device", type=int, metavar="N", help="cells at a time (CPU: one a core; GPU: 1)")
    how.add_argument("--quick", action="store_true", help="`speed` at small sizes: a minute instead of many")
    how.add_argument("--dry-run", action="store_true", help="list the cells, hours and disk, and do nothing")
    how.add_argument(
        "--allow-leak", action="store_true", help="run on data that the audit refuses; every table will say so"
    )
    report = parser.add_argument_group("how it is reported")
    report.add_argument(
        "--unit", choices=["heartbeat", "recording", "both"], help="what is scored (default: as the protocol)"
    )
    report.add_argument("--capsule", type=Path, metavar="FILE", help="pack the results reported, without signals")
    report.add_argument("--compare", nargs=2, metavar="RUN", help="hold two results stores, capsules or runs together")
    return parser


def parse(argv: Sequence[str]) -> Command:
    """A command from argv. Raises ConfigError in one line before any work."""
    arguments = build_parser().parse_intermixed_args(argv)
    verb, action, subject = parse_words(arguments.words)
    refuse_of_report(verb, arguments)
    paths = parse_data(arguments.data)
    overrides = parse_overrides(arguments)
    if paths or arguments.data_root:
        overrides.setdefault("data.simulation", None)
    place = Place(
        results=Path(arguments.results[0]),
        out=arguments.out,
        cache=arguments.cache,
        simulated=Path("data") / "simulated",
        data_root=arguments.data_root,
        paths=paths,
        device=arguments.device,
        workers=at_least_one("--workers", arguments.workers),
        jobs=jobs_of(arguments.device, arguments.jobs_per_device),
    )
    return Command(
        verb=verb,
        action=action,
        subject=subject,
        config=load_config(arguments.config, overrides),
        asked=tuple(dict.fromkeys([*filter(None, [arguments.pretrain_dataset]), *(arguments.datasets or [])])),
        place=place,
        dry_run=arguments.dry_run,
        quick=arguments.quick,
        allow_leak=arguments.allow_leak,
        unit=arguments.unit,
        sources=tuple(arguments.results),
        capsule=arguments.capsule,
        compare=tuple(arguments.compare or ()),
    )


def parse_words(words: Sequence[str]) -> tuple[str, str, str]:
    """Verb, action and subject of a command, '' where it has none. Raises ConfigError."""
    verb, *rest = words or ["run"]
    if verb not in VERBS:
        raise ConfigError(unknown("verb", verb, VERBS))
    if verb == "check-method":
        return verb, "", only("check-method: which method? e.g. `check-method pmq` or `check-method mine.py`", rest)
    if verb == "check-encoder":
        return verb, "", only("check-encoder: which encoder? e.g. `check-encoder mine.py`; see `list`", rest)
    if verb != "data":
        refuse(rest)
        return verb, "", ""
    action, *rest = rest or ["check"]
    if action not in DATA_ACTIONS:
        raise ConfigError(unknown("action of `data`", action, DATA_ACTIONS))
    if action != "show":
        refuse(rest)
        return verb, action, ""
    return verb, action, only("data show: which recording? e.g. `data show A0001 --datasets cpsc2018`", rest)


def refuse_of_report(verb: str, arguments: argparse.Namespace) -> None:
    """Flags of `report` that another verb, or each other, cannot be with."""
    if verb != "report":
        if len(arguments.results) > 1:
            raise ConfigError(f"--results: `{verb}` takes one folder; `report` puts several together")
        if arguments.capsule or arguments.compare:
            raise ConfigError("--capsule and --compare belong to `report`")
    elif arguments.compare and (arguments.capsule or arguments.unit == "both" or len(arguments.results) > 1):
        raise ConfigError("--compare A B takes neither --results, --capsule nor --unit both")


def only(question: str, words: Sequence[str]) -> str:
    """The one word that a verb asks for."""
    if not words:
        raise ConfigError(question)
    refuse(words[1:])
    return words[0]


def refuse(words: Sequence[str]) -> None:
    """Words that no verb takes."""
    if words:
        raise ConfigError(f"unrecognized arguments: {' '.join(words)}")


def parse_overrides(arguments: argparse.Namespace) -> dict[str, Any]:
    """Dotted config keys of the flags that were given, `--set` last."""
    flags = {
        "compare": arguments.methods,
        "encoder.name": arguments.encoder,
        "data.datasets": arguments.datasets,
        "data.pretrain": arguments.pretrain_dataset,
        "data.labels": arguments.labels,
        "ratios": arguments.ratios,
        "seeds": arguments.seeds,
        "protocol": arguments.protocol,
        "evaluate": arguments.evaluate,
        "precision": arguments.precision,
        "compile": arguments.compile or None,
        "pretrain.preset": arguments.preset,
        "ablate": [*([ALL_ABLATIONS] if arguments.ablations else []), *(arguments.ablate or [])] or None,
        "sweeps.pmq.queue_size": arguments.queue_sizes,
    }
    overrides = {key: value for key, value in flags.items() if value is not None}
    for item in arguments.set:
        key, separator, value = item.partition("=")
        if not separator or not key:
            raise ConfigError(f"--set {item!r} is not KEY=VALUE, e.g. --set methods.pmq.momentum=0.99")
        overrides[key] = parse_value(value)
    return overrides


def parse_data(items: Sequence[str]) -> dict[str, Path]:
    """Folders of `--data NAME=DIR`."""
    paths = {}
    for item in items:
        name, separator, folder = item.partition("=")
        if not separator or not folder:
            raise ConfigError(f"--data {item!r} is not NAME=DIR, e.g. --data ptb-xl=/data/ptb-xl")
        if name not in DATASETS:
            raise ConfigError(f"--data: {unknown('dataset', name, DATASETS)}")
        paths[name] = Path(folder).expanduser()
    return paths


def jobs_of(device: str, asked: int | None) -> int:
    """Cells at a time: as asked, else one a core on the CPU, where each computes on one thread, and one on a GPU."""
    try:
        kind = pick_device(device).type
    except ValueError as error:
        raise ConfigError(str(error)) from None
    if asked is None:
        return cores() if kind == "cpu" else 1
    return at_least_one("--jobs-per-device", asked)


def at_least_one(flag: str, value: int) -> int:
    """A count that must be positive."""
    if value < 1:
        raise ConfigError(f"{flag} {value} is not a count; use 1 or more")
    return value
