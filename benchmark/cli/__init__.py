"""The command line: a file per command, and `main` with the flags of all."""
