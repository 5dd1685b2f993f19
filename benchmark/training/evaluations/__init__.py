"""How an encoder is judged on a task: a file per evaluation, which defines `EVALUATION` (contract.py).

In: an encoder, a task, the config. Out: test probabilities, what goes into a cell's key, the expected cost. The file's
name is that of the evaluation in `benchmark.results.names`, with _ for -. Imported by run.
"""
