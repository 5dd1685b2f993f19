"""Tables of further scores, macro means, classes and subgroups, as texts and files. For reports.build."""
