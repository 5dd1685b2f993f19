"""The comparison of the methods. Rooms from top to bottom, each importing only those below it: cli, run, embedding,
training, config, data, results, screen, machine.

The names for users are in `ecg_pretrain_bench`.
"""
