"""The verbs of the command line: one file each, or a folder if the verb has several modules.

In: parsed flags. Out: an exit status. Imported by run_benchmark.py alone. A verb's file, or its folder's `__init__`,
defines the verb as data (benchmark.config.command_line.verb); slow imports are inside functions, so that the help is
quick. A new verb is its file and a line in `VERBS`.
"""

from __future__ import annotations

from benchmark.config.command_line.verb import Verb
from benchmark.verbs.answers import KNOWN_ANSWERS
from benchmark.verbs.check import CHECK_ENCODER, CHECK_METHOD
from benchmark.verbs.data import CHECK, DOWNLOAD, SHOW, SUMMARY
from benchmark.verbs.data.new_card import NEW_CARD
from benchmark.verbs.embed import EMBED
from benchmark.verbs.explain import EXPLAIN
from benchmark.verbs.export import EXPORT
from benchmark.verbs.list import LIST
from benchmark.verbs.report import REPORT
from benchmark.verbs.reproduce import REPRODUCE
from benchmark.verbs.run import RUN
from benchmark.verbs.speed import SPEED
from benchmark.verbs.status import STATUS
from benchmark.verbs.tune import TUNE
from benchmark.verbs.verify_paper import VERIFY_PAPER

VERBS: dict[str, Verb] = {
    "run": RUN,
    "status": STATUS,
    "report": REPORT,
    "explain": EXPLAIN,
    "reproduce": REPRODUCE,
    "tune": TUNE,
    "export": EXPORT,
    "embed": EMBED,
    "list": LIST,
    "data check": CHECK,
    "data summary": SUMMARY,
    "data show": SHOW,
    "data download": DOWNLOAD,
    "data new-card": NEW_CARD,
    "speed": SPEED,
    "check-method": CHECK_METHOD,
    "check-encoder": CHECK_ENCODER,
    "verify-paper": VERIFY_PAPER,
    "known-answers": KNOWN_ANSWERS,
}
"""In the order of the help. The first is the default; so is the first of a group (`data`) within it."""
