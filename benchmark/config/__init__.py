"""Parse a command line and YAML files into a verb, its flags and one validated, frozen, hashable `Config`.

In: argv, YAML files (configs/), `--set`. Out: `Config` and its sections. Imported by run_benchmark.py, verbs, run and
training.
"""
