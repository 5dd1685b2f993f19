"""A run, its tables, statistics and figures -> one HTML file that needs no network. Imported by reports.build.

page.py assembles the parts with the templates in reports/html/templates.
"""

from reports.html.losses import SkippedRecording, read_skipped
from reports.html.page import report_html
from reports.html.pictures import Picture, pictures_of, titles_in_names

__all__ = ["Picture", "SkippedRecording", "pictures_of", "read_skipped", "report_html", "titles_in_names"]
