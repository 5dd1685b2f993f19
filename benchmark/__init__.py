"""How the methods are compared. Rooms from top to bottom, each importing only those below it: verbs, run, training,
config, data, results, screen, machine.
"""
