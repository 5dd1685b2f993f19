"""Drawings of the classes of a task, by the values of reports.figures."""
