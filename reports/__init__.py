"""Tables, statistics, figures and a page from stored results; `load` opens them for an analysis of one's own.

Never imports torch, methods or the runner.
"""

from reports.answer import Results, load

__all__ = ["Results", "load"]
