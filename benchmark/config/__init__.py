"""Words -> one validated, frozen, hashable `Config`.

In: YAML files (configs/), `--set` and the flags. Out: `Config` and its sections. For verbs, run and training.
"""
