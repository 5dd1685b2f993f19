"""Two runs -> their differences in settings and scores, as compare.md and compare.csv. Imported by command lines."""
