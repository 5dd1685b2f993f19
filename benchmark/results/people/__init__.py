"""Sex and age band of the recordings of a dataset, kept in the results store for scores of subgroups."""
