"""Further scores from the stored predictions: of classes and of subgroups of patients, with their intervals.

For reports.tables and reports.figures; no score of the results tables comes from here.
"""
