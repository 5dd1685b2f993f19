"""The known answers: one file each, listed here."""

from __future__ import annotations

from benchmark.verbs.answers.answer import Answer
from benchmark.verbs.answers.entries.anatomy import ANATOMY
from benchmark.verbs.answers.entries.inflation import INFLATION
from benchmark.verbs.answers.entries.labels import LABELS
from benchmark.verbs.answers.entries.leak import LEAK
from benchmark.verbs.answers.entries.one_recording import ONE_RECORDING
from benchmark.verbs.answers.entries.persistence import PERSISTENCE
from benchmark.verbs.answers.entries.power import POWER
from benchmark.verbs.answers.entries.reports import REPORTS
from benchmark.verbs.answers.entries.rhythms import RHYTHMS
from benchmark.verbs.answers.entries.severity import SEVERITY
from benchmark.verbs.answers.entries.size import SIZE

ORDER = (SEVERITY, RHYTHMS, LABELS, ONE_RECORDING, ANATOMY, PERSISTENCE, REPORTS, LEAK, INFLATION, POWER, SIZE)
ANSWERS: dict[str, Answer] = {answer.name: answer for answer in ORDER}
"""In the order of the page."""
