"""Jobs in processes that no runner watches over: each claims its work itself and leaves how it ended in the store.

In: picklable jobs, made by the runner. Out: rows, encoders and failures in the store. Imported by run alone.
"""
