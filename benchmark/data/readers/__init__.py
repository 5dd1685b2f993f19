"""Datasets on disk -> entries and recordings in mV, leads in one order. One file per dataset; the one owner of wfdb."""
