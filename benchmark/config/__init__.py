"""Words -> a verb, its flags, and one validated, frozen, hashable `Config`.

In: argv, YAML files (configs/), `--set`. Out: `Config` and its sections. For verbs, run and training.
"""
