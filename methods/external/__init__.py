"""Classes that are not the suite's: of a user's .py file, with the content of it and of the local modules it imports.

In: a path. Out: the class, and what a key holds of its code. Imported by methods, methods.encoders, benchmark.
"""
