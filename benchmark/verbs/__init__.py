"""One file or folder per verb: what a command line sets going. The top room; only run_benchmark.py imports it."""
