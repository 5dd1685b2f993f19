"""Facts and settings of the machine: device, precision, memory, energy, seeds, workers, versions.

Imports no other room; any room of benchmark may import it.
"""
