"""The command line: verbs and their flags, and what is built of the flags' values.

In: argv. Out: a verb, its flags, a `Config` and where its data are. Imported by run_benchmark.py, verbs and run.
"""
