"""Results folders and capsules -> one `Run`, several merged where comparable, and the layouts of its tables.

Imported by all other rooms of reports and by benchmark.verbs.
"""
