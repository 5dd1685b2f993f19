"""Recordings: where they lie, what their labels mean, and how they become the arrays a network reads.

readers (disk -> Recording), prepared (Recording -> windows), tasks (windows -> splits and batches), audit (what
is wrong with them), simulate (cohorts written in the real on-disk forms).
"""
