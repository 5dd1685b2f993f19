"""The report as one HTML file that needs no network: tables that sort, figures, statistics, health, losses, cells.

One idea, one file; page.py puts them together with the templates in reports/html/templates.
"""

from reports.html.losses import SkippedRecording, read_skipped
from reports.html.page import report_html
from reports.html.pictures import Picture, pictures_of

__all__ = ["Picture", "SkippedRecording", "pictures_of", "read_skipped", "report_html"]
