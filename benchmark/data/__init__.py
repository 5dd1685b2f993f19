"""ECG datasets: folders on disk in, splits and batches of tensors out. Imported by benchmark's upper rooms alone.

download (public homes -> disk), readers (disk -> Recording), prepared (Recording -> windows), tasks (windows -> splits
and batches), audit (problems of the data), simulate (cohorts written in the real on-disk forms).
"""
