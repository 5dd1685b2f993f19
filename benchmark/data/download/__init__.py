"""Datasets from their public homes: a dataset's name and its mirrors in, a folder of verified files out.

One home at a time, few connections, each file resumed where it stopped and checked against the publisher's sum before
it gets its name. Imports the readers alone; imported by the verb `data download`.
"""
