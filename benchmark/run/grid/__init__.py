"""What there is to do: the rows of a config, their pretrainings and cells, and the keys of their results.

In: a config, the data's fingerprints, the machine's mode. Out: a `Grid`. Imported by run and verbs.
"""
