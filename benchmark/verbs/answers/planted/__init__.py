"""Methods that only known answers use, each given to a run as a file: `--methods FILE.py`."""
