"""What a command line sets going: one file per verb, or a folder where its work has modules of its own.

The top room; only run_benchmark.py imports it. A verb's file, or its folder's `__init__`, holds the verb as data
(benchmark.config.verb) and imports what loads slowly inside its functions, so that the help of all is quick.
A new verb is its file and a line in `VERBS`.
"""

from __future__ import annotations

from benchmark.config.verb import Verb
from benchmark.verbs.check_method import CHECK_METHOD
from benchmark.verbs.data import CHECK, SHOW, SUMMARY
from benchmark.verbs.list import LIST
from benchmark.verbs.report import REPORT
from benchmark.verbs.run import RUN
from benchmark.verbs.speed import SPEED
from benchmark.verbs.verify_paper import VERIFY_PAPER

VERBS: dict[str, Verb] = {
    "run": RUN,
    "report": REPORT,
    "list": LIST,
    "data check": CHECK,
    "data summary": SUMMARY,
    "data show": SHOW,
    "speed": SPEED,
    "check-method": CHECK_METHOD,
    "verify-paper": VERIFY_PAPER,
}
"""In the order of the help. The first is meant where no verb is named, the first of a group where only its word is."""
