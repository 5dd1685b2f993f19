"""The training curves of a grid's tasks: from what the store holds, and from what a running pretraining tells.

The process that runs the grid writes them to trackers (benchmark.trackers), never one that trains. So curves move no
number and no key, and what was stored without a tracker, or by another runner, can be written later.
"""
