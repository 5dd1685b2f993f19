"""Dataset folders in; entries and recordings (mV, leads in one order) out. One file per dataset; the one owner of wfdb.

Imported by the other folders of benchmark.data and by benchmark's config, training, run and verbs.
"""
