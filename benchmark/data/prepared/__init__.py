"""Recordings in; cached arrays of heartbeats or plain windows, and their pseudo-trials, out.

Imported by data.tasks, data.audit and by benchmark's config, training, run and verbs.
"""
