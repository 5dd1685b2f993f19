"""Numbers that other groups have printed, and where: rows in italics beside ours, never part of a statistic.

numbers.csv    source, row, column of the table, evaluation, label ratio, metric, percent, standard deviation
sources.csv    source, what to cite, how it was measured, what differs here
"""
