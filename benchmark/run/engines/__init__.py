"""Engines: each takes a function and tasks, runs them and yields every task as it ends. Imported by run alone."""
